import DaemonTestSupport
import Foundation
import LocalAuthentication
import LocalAuthenticationTesting
import Security
import SimulatorMessages
import Testing

/// Scripts that do not fit, and several devices in one process.
@Suite("The simulator's scripts and devices, end to end", .serialized, .timeLimit(.minutes(10)))
struct SimulatedScriptTests {
    private func code(
        _ policy: LAPolicy = .deviceOwnerAuthenticationWithBiometrics, _ reason: String = "open the notes"
    ) async -> LAError.Code? {
        do {
            _ = try await LAContext().evaluatePolicy(policy, localizedReason: reason)
            return nil
        } catch { return (error as? LAError)?.code }
    }

    private func device() async throws -> SimulatedDevice {
        let device = try await SimulatedDevice()
        try await device.setPasscode()
        try await device.enrollFinger(.rightIndex)
        return device
    }

    // MARK: scripts

    @Test func `a question that no script answers fails at once, and is named at the end`() async throws {
        let device = try await device()
        #expect(await code(.deviceOwnerAuthentication, "read the diary") == .notInteractive)
        #expect(device.questions.map(\.end) == [.unscripted])
        let error = await #expect(throws: SimulationError.self) { try await device.end() }
        guard case .unscripted(let questions) = error else { throw TestSupportError("It threw \(error!).") }
        #expect(questions.map(\.reason) == ["read the diary"] && questions.first?.offersFinger == true)
        #expect("\(error!)".contains("passcode, or a finger, to “read the diary”"))
    }

    @Test(arguments: [
        PersonAction.enters("something"), .confirms, .choosesFallback, .waits(.seconds(1)), .touches(nil),
    ])
    func `an action that does not fit, or that ends nothing, is as good as none`(action: PersonAction) async throws {
        let device = try await device()
        switch action {
        case .enters(let text): device.person.enters(text)
        case .confirms: device.person.confirms()
        case .choosesFallback: device.person.choosesFallback()
        case .waits(let duration): device.person.waits(duration)
        default: device.person.touchesUnknownFinger()
        }
        let context = LAContext()
        // Without a title there is no fallback to choose.
        context.localizedFallbackTitle = ""
        let error = await #expect(throws: LAError.self) {
            try await context.evaluatePolicy(
                .deviceOwnerAuthenticationWithBiometrics, localizedReason: "open the notes")
        }
        #expect(error?.code == .notInteractive)
        await #expect(throws: SimulationError.self) { try await device.end() }
    }

    @Test func `a touch proves nothing where no finger is asked for`() async throws {
        let device = try await device()
        try await device.unplugReader()
        device.person.touches(.rightIndex)
        #expect(await code(.deviceOwnerAuthentication) == .notInteractive)
        #expect(device.questions.map(\.end) == [.unscripted])
        await #expect(throws: SimulationError.self) { try await device.end() }
    }

    @Test func `what nobody asked for is named at the end`() async throws {
        let device = try await device()
        device.person.touches(.rightIndex).cancels()
        #expect(await code() == nil)
        await #expect(throws: SimulationError.unused([.cancels])) { try await device.end() }
    }

    @Test func `the error of the body is the error of the run`() async throws {
        await #expect(throws: CancellationError.self) {
            try await SimulatedDevice.run { device async throws in
                device.person.cancels()
                throw CancellationError()
            }
        }
    }

    // MARK: devices

    @Test func `the next device knows nothing of the one before, and after its end nobody answers`() async throws {
        let item: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "notes"]
        for _ in 1...3 {
            let device = try await SimulatedDevice()
            #expect(SecItemCopyMatching(item as CFDictionary, nil) == errSecItemNotFound)
            let added = item.merging([kSecValueData: Data("secret".utf8)]) { $1 }
            #expect(SecItemAdd(added as CFDictionary, nil) == errSecSuccess)
            #expect(SecItemCopyMatching(item as CFDictionary, nil) == errSecSuccess)
            try await device.end()
            #expect(SecItemCopyMatching(item as CFDictionary, nil) == errSecNotAvailable)
            await #expect(throws: SimulationError.ended) { try await device.unplugReader() }
            #expect(device.questions.isEmpty)
        }
    }

    @Test func `devices of parallel tests take turns`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...4 {
                group.addTask {
                    try await SimulatedDevice.run { device async throws in
                        try await device.setPasscode()
                        device.person.enters(SimulatedDevice.passcode)
                        _ = try await LAContext().evaluatePolicy(
                            .deviceOwnerAuthentication, localizedReason: "test \(number)")
                        #expect(device.questions.map(\.reason) == ["test \(number)"])
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `a simulator that is not there, or is another program, is named with what to do`() async throws {
        let missing = await #expect(throws: SimulationError.simulatorNotFound(["/nowhere/ostiary-simulator"])) {
            try await SimulatedDevice(simulator: "/nowhere/ostiary-simulator")
        }
        #expect("\(missing!)".contains("script/swift-in Daemon build --product ostiary-simulator"))
        for program in ["/bin/true", BuiltProgram.named("ostiaryd").path] {
            let error = await #expect(throws: SimulationError.self) { try await SimulatedDevice(simulator: program) }
            guard case .notStarted = error else { Issue.record("\(String(describing: error))"); continue }
        }
        // The turn was given back each time.
        try await SimulatedDevice.run { _ in }
    }

    // MARK: the environment

    @Test func `an observer hears of fingers, reader, lockout and passcode, on one device after the other`()
        async throws
    {
        let observer = ToldObserver()
        defer { LAEnvironment.currentUser.removeObserver(observer) }
        for number in 1...2 {
            try await SimulatedDevice.run { device async throws in
                // Once more does nothing: the same watch follows to the next device.
                LAEnvironment.currentUser.addObserver(observer)
                // With its passcode the next device would be as the former one at its end, and nobody is told of what is the same.
                if number > 1 { try await observer.hear { $0.userPassword?.isSet == false } }
                try await observer.expect({ $0.userPassword?.isSet == true }, after: { try await device.setPasscode() })
                try await observer.expect(
                    { $0.biometry?.isEnrolled == true }, after: { try await device.enrollFinger(.rightIndex) })
                try await observer.expect({ $0.biometry == nil }, after: { try await device.unplugReader() })
                try await observer.expect(
                    { $0.biometry?.isUsable == true }, after: { try await device.plugInReader() })
                try await observer.expect(
                    { $0.biometry?.isLockedOut == true }, after: { try await device.lockOutBiometry() })
                try await observer.expect(
                    { $0.biometry?.isUsable == true }, after: { try await device.enterPasscode() })
                try await observer.expect(
                    { $0.biometry?.isEnrolled == false }, after: { try await device.deleteFinger(.rightIndex) })
            }
        }
    }
}

/// Keeps the state that it was told of last.
private final class ToldObserver: NSObject, LAEnvironment.Observer, @unchecked Sendable {
    // SAFETY: (@unchecked) the lock guards the state.
    private let lock = NSLock()
    private var told: LAEnvironment.State?

    func environment(_ environment: LAEnvironment, stateDidChangeFromOldState oldState: LAEnvironment.State) {
        let state = environment.state
        lock.withLock { told = state }
    }

    /// Makes a change, and waits until a telling finds the expected state. The next change must not begin before: two that follow
    /// each other at once may be told of as one.
    func expect(
        _ isExpected: (LAEnvironment.State) -> Bool, after change: () async throws -> Void
    ) async throws {
        lock.withLock { told = nil }
        try await change()
        try await hear(isExpected)
    }

    /// Waits until a telling finds the expected state.
    func hear(_ isExpected: (LAEnvironment.State) -> Bool) async throws {
        try await eventually("the observer is told of the state") {
            lock.withLock { told }.map(isExpected) ?? false
        }
    }
}
