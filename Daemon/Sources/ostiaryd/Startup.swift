import Broker
import Foundation
import Glibc
import Logging
import Opening
import SecretMemory
import Sessions
import Settings
import Threading

/// The steps that a daemon of one user and that of the machine have in common.
enum Startup {
    /// What the rest of the daemon relies on: descriptors, randomness, threads.
    static func prepareProcess() throws {
        raiseDescriptorLimit()
        guard SystemRandom.isAvailable else {
            throw StartError(
                "The kernel refuses randomness (getrandom), which every key needs. A sandbox may forbid the call; permit it and "
                    + "start again.")
        }
        do throws(ThreadShortage) { try Threads.prepare() } catch { throw threadShortage }
    }

    /// Programs may leave more descriptors here than the 1,024 that a process has as a rule (``SessionLimits``). If the system
    /// does not raise the limit, the daemon refuses sooner.
    private static func raiseDescriptorLimit() {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return }
        let wanted = min(limit.rlim_max, rlim_t(SessionLimits.descriptorCountOfMany))
        guard limit.rlim_cur < wanted else { return }
        limit.rlim_cur = wanted
        _ = unsafe setrlimit(resource, &limit)
    }

    private static let threadShortage = StartError(
        "The system gives no thread. End other programs, or raise the limit of processes (RLIMIT_NPROC, TasksMax), and start again."
    )

    static func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) throws {
        do throws(ThreadShortage) { try Threads.start(name, body) } catch { throw threadShortage }
    }

    /// The daemon's other programs lie beside this one; no variable of the environment can name another one.
    static func ownProgram() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }

    /// The settings in a file; nil where there is none.
    ///
    /// - Parameters:
    ///   - userID: to whom the file may belong besides root.
    ///   - usual: counts where the file is silent.
    static func configuration(
        at path: String, trusting userID: UInt32, over usual: PromptConfiguration
    ) throws -> PromptConfiguration? {
        do { return try ConfigurationFile.load(path, userID: userID, over: usual) } catch {
            throw StartError("The configuration \(path) cannot be used: \(error). Correct it and start again.")
        }
    }

    static func openBroker(
        _ configuration: BrokerConfiguration, _ options: Ostiaryd, _ log: Logger
    ) throws -> Broker {
        do {
            return try Broker.open(
                configuration, log: log, replacingDamagedLog: options.replaceDamagedLog,
                acceptingOlderStore: options.acceptOlderStore)
        } catch let error as BrokerOpeningError { throw StartError(error.description) }
    }
}
