import AssociationFiles
import ExactNames
import Authenticators
import Broker
import FingerprintReader
import Foundation
import Glibc
import HelperProcesses
package import Logging
import Opening
import OwnerKeys
import Owners
import Passcodes
package import ProcessFacts
import Prompting
import Sessions
import Settings
package import SimulatorMessages

/// A daemon on a store of its own, with a person, a reader and a clock that a test moves.
///
/// The store is always a new one, in a temporary folder that nobody can name: an existing store is out of reach.
package final class Simulator {
    /// The folder of everything; ``end()`` removes it.
    package let folder: String
    private let clock = ManualClock()
    private let reader = SimulatedReader()
    private let script = PersonScript()
    private let securityKey = SimulatedSecurityKey()
    private let user: SystemUser
    private let facts: any CallerFacts
    private let log: Logger
    private var broker: Broker
    private var server: Server

    /// Makes the folder and the store, and begins to listen.
    ///
    /// - Parameter facts: what the machine says about callers.
    package init(facts: any CallerFacts, log: Logger) throws {
        let user = try SystemUser.current()
        let folder =
            FileManager.default.temporaryDirectory.path + "/ostiary-sim-"
            + String(UInt32.random(in: 0 ... .max), radix: 36)
        // It must not exist: an existing folder is somebody's.
        for path in [folder, SimulatorFolders.runtime(in: folder)] {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        }
        do {
            let parts = SimulatedParts(clock: clock, reader: reader, script: script, securityKey: securityKey)
            broker = try parts.openBroker(in: folder, user, facts, log)
            server = try Self.serve(broker, in: folder)
        } catch {
            try? FileManager.default.removeItem(atPath: folder)
            throw error
        }
        (self.folder, self.user, self.facts, self.log) = (folder, user, facts, log)
    }

    private static func serve(_ broker: Broker, in folder: String) throws -> Server {
        let server = try Server(
            listeningAt: SimulatorFolders.runtime(in: folder) + "/ostiaryd.socket", broker: broker)
        let accepting = Thread { server.run() }
        accepting.name = "ostiary-accept"
        accepting.start()
        return server
    }

    /// Ends the daemon's part and removes the folder.
    package func end() {
        stop()
        do { try FileManager.default.removeItem(atPath: folder) } catch {
            log.error("the folder was not removed", metadata: ["path": "\(folder)", "cause": "\(error)"])
        }
    }

    private func stop() {
        server.stop()
        broker.close()
        _ = unsafe unlink(SimulatorFolders.runtime(in: folder) + "/ostiaryd.socket")
    }

    // MARK: orders of the test

    package func answer(_ request: SimulatorRequest) -> SimulatorAnswer {
        do {
            switch request {
            case .script(let actions, let reason): script.add(actions, reason: reason)
            case .forgetScript(let reason): script.forget(reason: reason)
            case .enroll(let finger): try enroll(finger)
            case .delete(let finger): try delete(finger)
            case .connectReader(let isConnected):
                reader.connect(isConnected)
                look()
            case .associate(let domain, let applications): try associate(domain, applications)
            case .advance(let duration): try advance(by: duration)
            case .restart: try restart()
            case .report: return .report(script.report)
            }
            return .done
        } catch let refused as SimulatorRefusal { return .refused(refused.words) } catch { return .refused("\(error)") }
    }

    private func enroll(_ finger: SimulatedFinger) throws {
        guard case .unusable = reader.readerState() else {
            look()
            reader.enroll(try Self.finger(finger))
            return look()
        }
        throw SimulatorRefusal("No reader is connected, so no finger can be enrolled.")
    }

    private func delete(_ finger: SimulatedFinger) throws {
        look()
        guard reader.delete(try Self.finger(finger)) else {
            throw SimulatorRefusal("The finger \(finger.rawValue) is not enrolled.")
        }
        look()
    }

    private static func finger(_ finger: SimulatedFinger) throws -> Finger {
        guard let known = Finger(rawValue: finger.rawValue) else {
            throw SimulatorRefusal("\(finger.rawValue) is no finger of fprintd's.")
        }
        return known
    }

    /// Has a domain name the programs that may use its credentials.
    private func associate(_ domain: String, _ applications: [String]) throws {
        guard RelyingPartyIdentifier(domain) != nil else { throw SimulatorRefusal("\(domain) is no domain.") }
        let associations = SimulatorFolders.associations(in: folder)
        try FileManager.default.createDirectory(
            atPath: associations, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let file = try JSONEncoder().encode(["webcredentials": ["apps": applications]])
        try file.write(to: URL(fileURLWithPath: "\(associations)/\(domain).json"))
    }

    /// Has the daemon notice a change, as the helper for templates or the next caller would. Before a change of the fingers, it
    /// waits until the set of the last passcode entry is stored, so that the entry does not stand for the changed set.
    private func look() { _ = broker.accounts[0].biometryState() }

    /// The longest way that the clock goes at once: no limit of a grant is longer.
    private static let longestAdvance: Duration = .seconds(10 * 365 * 24 * 3600)

    private func advance(by duration: Duration) throws {
        guard duration >= .zero, duration <= Self.longestAdvance else {
            throw SimulatorRefusal("The clock goes forward by ten years at most, and never back.")
        }
        clock.advance(by: duration)
    }

    private func restart() throws {
        stop()
        broker = try SimulatedParts(clock: clock, reader: reader, script: script, securityKey: securityKey)
            .openBroker(in: folder, user, facts, log)
        server = try Self.serve(broker, in: folder)
    }
}

/// Why the simulator did not do what a test said.
private struct SimulatorRefusal: Error {
    let words: String
    init(_ words: String) { self.words = words }
}

/// The parts that stand in for the machine and the person.
private struct SimulatedParts {
    let clock: ManualClock
    let reader: SimulatedReader
    let script: PersonScript
    let securityKey: SimulatedSecurityKey

    func openBroker(
        in folder: String, _ user: SystemUser, _ facts: any CallerFacts, _ log: Logger
    ) throws -> Broker {
        let prompts = PromptConfiguration()
        let fingers = FingerSources(BiometrySources(reader: reader, templates: reader))
        let account = LateAccount()
        let person = SimulatedPerson(
            script, reader: reader, securityKey: securityKey, clock: clock,
            timeLimit: .seconds(prompts.timeLimitSeconds),
            readerChanged: { account.look() })
        let (start, began) = (ContinuousClock.now, clock.now().time)
        let queue = PromptQueue(
            person, now: { [clock] in start.advanced(by: clock.now().time - began) }, terminalDevice: { _ in nil })
        let broker = try Broker.open(
            BrokerConfiguration(
                runsAs: user, stateDirectory: SimulatorFolders.state(in: folder),
                helpers: .beside(program: "/nowhere/ostiaryd"), facts: facts,
                sessionRecords: LogindSessions(systemBus: SessionBuses.standard(of: user.id).system, facts: facts),
                prompts: prompts, version: "simulator", applicationsDirectory: folder + "/apps.d", fingers: fingers,
                associationsDirectory: SimulatorFolders.associations(in: folder), associationsUserID: user.id),
            log: log, stretching: .quick, prompter: queue, clock: clock,
            authenticators: CredentialAuthenticators(securityKeys: securityKey))
        account.set(broker.accounts[0])
        return broker
    }
}
