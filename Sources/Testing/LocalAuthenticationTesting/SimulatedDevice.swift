import AccessControl
import Foundation
import OstiaryClient
import OstiaryMessages
public import SimulatorMessages
import Synchronization

/// A device for tests: a daemon with a store of its own, a fingerprint reader and a person who does what the test says.
///
/// ```swift
/// @Test func unlockNeedsTheFinger() async throws {
///     let device = try await SimulatedDevice()
///     try await device.setPasscode()
///     try await device.enrollFinger(.rightIndex)
///     device.person.touches(.rightIndex)
///     #expect(try await LAContext().evaluatePolicy(
///         .deviceOwnerAuthenticationWithBiometrics, localizedReason: "open the notes"))
///     #expect(device.questions.map(\.reason) == ["open the notes"])
///     try await device.end()
/// }
/// ```
///
/// From its start on, all calls of this process to LocalAuthentication, Security and CryptoKit go to the device, through the real
/// client, the real daemon's code and a real socket. A process has one device at a time; the next one waits until the one before
/// has ended, so tests in parallel take turns. After the end the calls fail; they never reach the user's own daemon again.
///
/// Nobody sleeps: the device's clock stands still, but for ``advance(by:)`` and a person who waits.
///
/// This product belongs into test targets only.
public final class SimulatedDevice: Sendable {
    /// A passcode that Ostiary accepts.
    public static let passcode = "correct horse 9"

    /// Answers the daemon's questions as the test says.
    public let person: SimulatedPerson

    private let simulator: SimulatorProcess
    private let client: OstiaryClient
    private let passcode = Mutex<String?>(nil)

    /// Starts a device: no passcode, no finger, the reader plugged in.
    ///
    /// - Parameter path: the program `ostiary-simulator`. Without it, the variable `OSTIARY_SIMULATOR` names it, or it lies beside
    ///   the tests' program.
    /// - Throws: ``SimulationError``.
    public init(simulator path: String? = nil) async throws {
        let program = try SimulatorProgram.find(path)
        let turn = try await DeviceTurn.take()
        let simulator = try await OstiaryClient.shared.perform { _ in try SimulatorProcess(program, turn) }
        let location = DaemonLocation(
            runtimeDirectory: SimulatorFolders.runtime(in: simulator.folder),
            stateDirectory: SimulatorFolders.state(in: simulator.folder))
        OstiaryClient.redirectShared(to: location)
        self.simulator = simulator
        client = OstiaryClient(location: location)
        person = SimulatedPerson(simulator: simulator)
    }

    /// Runs `body` with a new device, and ends it (``end()``).
    ///
    /// - Parameter path: as for ``init(simulator:)``.
    public static func run<Result: Sendable>(
        simulator path: String? = nil, _ body: @Sendable (SimulatedDevice) async throws -> Result
    ) async throws -> Result {
        let device = try await SimulatedDevice(simulator: path)
        let result: Result
        do { result = try await body(device) } catch {
            device.simulator.end()
            throw error
        }
        try await device.end()
        return result
    }

    deinit { simulator.end() }

    /// Ends the device and removes its store.
    ///
    /// - Throws: ``SimulationError/unscripted(_:)`` when questions came that no script answered, and
    ///   ``SimulationError/unused(_:)`` when actions are left that nobody asked for.
    public func end() async throws {
        let simulator = simulator
        let report = try await client.perform { _ in
            let report = try simulator.report()
            simulator.end()
            return report
        }
        let unscripted = report.questions.filter { $0.end == .unscripted }
        guard unscripted.isEmpty else { throw SimulationError.unscripted(unscripted) }
        guard report.remaining.isEmpty else { throw SimulationError.unused(report.remaining) }
    }

    // MARK: questions

    /// The questions that the person was asked since the start, the oldest first, at most 200. Those of this class's own calls, such as
    /// ``setPasscode(_:)``, are not among them. Empty after the end.
    public var questions: [SimulatedQuestion] { (try? simulator.report().questions) ?? [] }

    // MARK: the passcode

    /// Sets the first passcode, as the owner does in the settings. The store is unlocked then.
    ///
    /// - Throws: the daemon's refusal, for example of a passcode that is too short. Ostiary wants eight characters, not digits alone.
    public func setPasscode(_ passcode: String = SimulatedDevice.passcode) async throws {
        try await asOwner([.enters(passcode), .enters(passcode), .enters(passcode)]) { client, interaction in
            try client.passcode(.set, interaction: interaction)
        }
        self.passcode.withLock { $0 = passcode }
        try await enterPasscode()
    }

    public func changePasscode(to new: String) async throws {
        let old = try requirePasscode()
        try await asOwner([.enters(old), .enters(new), .enters(new), .enters(new)]) { client, interaction in
            try client.passcode(.change, interaction: interaction)
        }
        passcode.withLock { $0 = new }
    }

    /// Removes the passcode, and with it everything that is bound to it.
    public func removePasscode() async throws {
        let old = try requirePasscode()
        try await asOwner([.enters(old), .confirms]) { client, interaction in
            try client.passcode(.remove, interaction: interaction)
        }
        passcode.withLock { $0 = nil }
    }

    /// Enters the passcode outside of the program under test, as at the lock screen: unlocks, and ends a lockout of biometry.
    public func enterPasscode() async throws {
        let passcode = try requirePasscode()
        try await asOwner([.enters(passcode)]) { client, interaction in
            try AuthorizationContext(client: client).authorize(
                .requirement(Requirement(anyOf: [.passcode])), interaction: interaction)
        }
    }

    /// Locks, as the lock screen does: ends all grants and questions.
    public func lock() async throws {
        let client = client
        try await client.perform { _ in try client.lock() }
    }

    private func requirePasscode() throws(SimulationError) -> String {
        guard let passcode = passcode.withLock({ $0 }) else { throw .passcodeNotSet }
        return passcode
    }

    // MARK: fingers

    /// Enrols a finger. An enrolled finger is replaced by another one under the same name, which objects for the current set
    /// notice.
    ///
    /// - Parameter isPasscodeEntered: whether the owner enters the passcode afterwards, as settings ask for it. Otherwise biometry
    ///   rests until the passcode is entered. Without a passcode it has no effect.
    public func enrollFinger(_ finger: SimulatedFinger, enteringPasscode isPasscodeEntered: Bool = true) async throws {
        try await tell(.enroll(finger))
        try await enterPasscode(if: isPasscodeEntered)
    }

    /// Deletes an enrolled finger.
    ///
    /// - Parameter isPasscodeEntered: as for ``enrollFinger(_:enteringPasscode:)``.
    public func deleteFinger(_ finger: SimulatedFinger, enteringPasscode isPasscodeEntered: Bool = true) async throws {
        try await tell(.delete(finger))
        try await enterPasscode(if: isPasscodeEntered)
    }

    private func enterPasscode(if isWanted: Bool) async throws {
        if isWanted, passcode.withLock({ $0 != nil }) { try await enterPasscode() }
    }

    public func unplugReader() async throws { try await tell(.connectReader(false)) }

    public func plugInReader() async throws { try await tell(.connectReader(true)) }

    /// Tries wrong fingers until biometry is locked out. It ends with ``enterPasscode()``.
    ///
    /// - Throws: the daemon's refusal when no finger can be tried, for example because none is enrolled.
    public func lockOutBiometry() async throws {
        let touches = Array(repeating: PersonAction.touches(nil), count: 3)
        // Three misses end an evaluation, and five in a row lock out.
        for _ in 1...2 {
            do {
                try await asOwner(touches) { client, interaction in
                    // LAPolicy.deviceOwnerAuthenticationWithBiometrics
                    try AuthorizationContext(client: client).evaluate(policy: 1, interaction: interaction)
                }
            } catch let error as OstiaryError where error.isFailure(.authenticationFailed) {
                continue
            } catch let error as OstiaryError where error.isFailure(.biometryLockout) { return }
        }
        throw SimulationError.refused("Five wrong fingers did not lock out biometry.")
    }

    // MARK: programs and domains

    /// Registers a program, as `ostiary app register` does. The owner agrees.
    ///
    /// - Parameters:
    ///   - path: the program; this process's when nil.
    ///   - id: its application id, for example `com.example.app`.
    ///   - webCredentials: the domains whose credentials it may make and use, if these confirm it.
    public func registerProgram(_ path: String? = nil, id: String, webCredentials: [String]) async throws {
        let path = try path ?? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let answer = passcode.withLock { $0 }.map(PersonAction.enters) ?? .confirms
        try await asOwner([answer]) { client, interaction in
            try client.registerApplication(
                path: path, applicationID: id, accessGroups: [], webCredentials: webCredentials,
                interaction: interaction)
        }
    }

    /// Has a domain confirm programs, as its file `apple-app-site-association` does.
    public func associate(_ domain: String, with applications: [String]) async throws {
        try await tell(.associate(domain: domain, applications: applications))
    }

    // MARK: time

    /// Moves the device's clock: grants end, and delays after wrong passcodes pass. Returns when the daemon has done what was due.
    public func advance(by duration: Duration) async throws { try await tell(.advance(duration)) }

    /// Ends the daemon and starts it again on the same store, as at a new login: grants are gone, and biometry rests until the
    /// passcode is entered.
    public func restart() async throws { try await tell(.restart) }

    // MARK: the owner

    /// Does something that asks the person, who answers it by `actions`; the rest of the script stays.
    private func asOwner<Result: Sendable>(
        _ actions: [PersonAction], _ work: @escaping @Sendable (OstiaryClient, Interaction) throws -> Result
    ) async throws {
        var interaction = Interaction(reason: "simulated owner \(UUID().uuidString)")
        interaction.offersTerminal = false
        let (client, reason, offered) = (self.client, interaction.reason, interaction)
        try await tell(.script(actions, reason: reason))
        defer { try? simulator.tell(.forgetScript(reason: reason)) }
        _ = try await client.perform { _ in try work(client, offered) }
    }

    private func tell(_ request: SimulatorRequest) async throws {
        let simulator = simulator
        try await client.perform { _ in try simulator.tell(request) }
    }
}
