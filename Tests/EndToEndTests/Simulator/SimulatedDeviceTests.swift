import DaemonTestSupport
import Foundation
import LocalAuthentication
import LocalAuthenticationTesting
import Security
import SimulatorMessages
import Testing

/// An app's own calls against a simulated device: what the script proves is granted, and everything else is refused with Apple's
/// code.
@Suite("The simulator, end to end", .serialized, .timeLimit(.minutes(10)))
struct SimulatedDeviceTests {
    private static let reason = "open the notes"

    /// Runs a test with a device that has a passcode and the right index finger.
    private func withFinger(_ body: @Sendable (SimulatedDevice) async throws -> Void) async throws {
        try await SimulatedDevice.run { device async throws in
            try await device.setPasscode()
            try await device.enrollFinger(.rightIndex)
            try await body(device)
        }
    }

    private func evaluate(
        _ policy: LAPolicy = .deviceOwnerAuthenticationWithBiometrics, in context: LAContext = LAContext()
    ) async throws -> Bool {
        try await context.evaluatePolicy(policy, localizedReason: Self.reason)
    }

    /// The code and the cause that an evaluation is refused with; nil when it succeeds.
    private func refusal(
        _ policy: LAPolicy = .deviceOwnerAuthenticationWithBiometrics, in context: LAContext = LAContext()
    ) async throws -> Refusal? {
        do {
            _ = try await evaluate(policy, in: context)
            return nil
        } catch let error as LAError {
            return Refusal(code: error.code, cause: error.cause)
        }
    }

    private struct Refusal: Equatable {
        let code: LAError.Code
        let cause: String?
    }

    // MARK: fingers

    @Test func `the right finger unlocks, and the question says why`() async throws {
        try await withFinger { device async throws in
            device.person.touches(.rightIndex)
            #expect(try await evaluate())
            #expect(device.questions.map(\.reason) == [Self.reason])
            #expect(device.questions.map(\.kind) == [.touch])
            #expect(device.questions.map(\.end) == [.recognized])
            let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            #expect(device.questions.first?.program == program)
        }
    }

    @Test func `a wrong finger is a miss, and the right one after it unlocks at the same question`() async throws {
        try await withFinger { device async throws in
            device.person.touchesUnknownFinger().touches(.leftThumb).touches(.rightIndex)
            #expect(try await evaluate())
            #expect(device.questions.count == 1)
            let told = device.questions.first?.readerTexts ?? []
            #expect(told == ["Not recognised. 2 tries left.", "Not recognised. 1 try left."])
        }
    }

    @Test func `three wrong fingers are refused, and five in a row lock out until the passcode`() async throws {
        try await withFinger { device async throws in
            device.person.touchesUnknownFinger(times: 3)
            #expect(
                try await refusal() == Refusal(code: .authenticationFailed, cause: "biometry.not-recognised"))
            device.person.touches(.leftThumb, times: 2)
            #expect(try await refusal() == Refusal(code: .biometryLockout, cause: "biometry.lockout"))
            #expect(try await refusal() == Refusal(code: .biometryLockout, cause: "biometry.lockout"))
            #expect(device.questions.count == 2)
            try await device.enterPasscode()
            device.person.touches(.rightIndex)
            #expect(try await evaluate())
        }
    }

    @Test func `a lockout is made at once`() async throws {
        try await withFinger { device async throws in
            try await device.lockOutBiometry()
            var error: NSError?
            #expect(!LAContext().canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error))
            #expect(error.map { LAError(_nsError: $0).code } == .biometryLockout)
            #expect(device.questions.isEmpty)
        }
        try await SimulatedDevice.run { device async throws in
            try await device.setPasscode()
            await #expect(throws: (any Error).self) { try await device.lockOutBiometry() }
        }
    }

    @Test func `the reader can be unplugged before and in the middle of a question`() async throws {
        try await withFinger { device async throws in
            device.person.unplugsReader()
            #expect(
                try await refusal() == Refusal(code: .biometryDisconnected, cause: "biometry.disconnected"))
            #expect(try await refusal() == Refusal(code: .biometryNotAvailable, cause: "biometry.no-sensor"))
            try await device.plugInReader()
            device.person.touches(.rightIndex)
            #expect(try await evaluate())
            // What else the question offers goes on.
            device.person.unplugsReader().enters(SimulatedDevice.passcode)
            #expect(try await evaluate(.deviceOwnerAuthentication))
            #expect(device.questions.last?.readerTexts == ["The fingerprint reader was unplugged."])
        }
    }

    @Test func `nothing is enrolled at first, and no passcode is set`() async throws {
        try await SimulatedDevice.run { device async throws in
            #expect(try await refusal()?.code == .passcodeNotSet)
            #expect(try await refusal(.deviceOwnerAuthentication)?.code == .passcodeNotSet)
            await #expect(throws: SimulationError.passcodeNotSet) { try await device.enterPasscode() }
            try await device.setPasscode()
            #expect(try await refusal()?.code == .biometryNotEnrolled)
            await #expect(throws: SimulationError.refused("The finger left-thumb is not enrolled.")) {
                try await device.deleteFinger(.leftThumb)
            }
            try await device.unplugReader()
            await #expect(throws: SimulationError.refused("No reader is connected, so no finger can be enrolled.")) {
                try await device.enrollFinger(.leftThumb)
            }
            #expect(device.questions.isEmpty)
        }
    }

    // MARK: typing, cancelling, waiting

    @Test func `a wrong passcode is asked for again, and the right one unlocks`() async throws {
        try await withFinger { device async throws in
            device.person.enters("not this one").enters(SimulatedDevice.passcode)
            #expect(try await evaluate(.deviceOwnerAuthentication))
            #expect(device.questions.map(\.kind) == [.passcode, .passcode])
            #expect(device.questions.map(\.offersFinger) == [true, true])
            #expect(device.questions.map(\.notice) == [nil, "Wrong passcode."])
        }
    }

    @Test func `a passcode that Ostiary refuses is refused here, too`() async throws {
        try await SimulatedDevice.run { device async throws in
            let error = await #expect(throws: (any Error).self) { try await device.setPasscode("1234") }
            #expect("\(error!)".contains("at least 8 characters"))
            try await device.setPasscode()
            try await device.changePasscode(to: "another battery 8")
            device.person.enters(SimulatedDevice.passcode).enters("another battery 8")
            #expect(try await evaluate(.deviceOwnerAuthentication))
            try await device.removePasscode()
            #expect(try await refusal(.deviceOwnerAuthentication)?.code == .passcodeNotSet)
        }
    }

    @Test func `the person cancels, chooses the fallback, or lets the time pass`() async throws {
        try await withFinger { device async throws in
            device.person.cancels()
            #expect(try await refusal() == Refusal(code: .userCancel, cause: "prompt.cancelled"))
            let context = LAContext()
            context.localizedFallbackTitle = "Use the account"
            context.localizedCancelTitle = "Not now"
            device.person.choosesFallback()
            #expect(try await refusal(in: context) == Refusal(code: .userFallback, cause: "prompt.fallback"))
            #expect(device.questions.last?.fallbackTitle == "Use the account")
            #expect(device.questions.last?.cancelTitle == "Not now")
            device.person.waits(.seconds(60)).waits()
            #expect(try await refusal() == Refusal(code: .systemCancel, cause: "prompt.timed-out"))
            device.person.waits(.seconds(60)).touches(.rightIndex)
            #expect(try await evaluate())
            #expect(device.questions.map(\.end) == [.cancelled, .fallback, .timedOut, .recognized])
        }
    }

    @Test func `a delay after wrong passcodes passes when the clock moves`() async throws {
        try await withFinger { device async throws in
            try await device.unplugReader()
            // The fifth one brings a wait of a minute.
            for count in [3, 2] {
                for _ in 1...count { device.person.enters("wrong horse 1") }
                #expect(try await refusal(.deviceOwnerAuthentication)?.code == .authenticationFailed)
            }
            for seconds in [0, 59] {
                try await device.advance(by: .seconds(seconds))
                let locked = try await refusal(.deviceOwnerAuthentication)
                #expect(locked == Refusal(code: .authenticationFailed, cause: "passcode.locked-out"))
            }
            #expect(device.questions.count == 5)
            try await device.advance(by: .seconds(1))
            device.person.enters(SimulatedDevice.passcode)
            #expect(try await evaluate(.deviceOwnerAuthentication))
        }
    }

    // MARK: grants

    @Test func `a grant ends on the simulated clock, and its right tells so`() async throws {
        try await withFinger { device async throws in
            let right = LARight(requirement: .biometry, grantLimits: try LAGrantLimits(hardSeconds: 60))
            device.person.touches(.rightIndex)
            try await right.authorize(localizedReason: Self.reason)
            try await device.advance(by: .seconds(59))
            #expect(right.state == .authorized)
            try await device.advance(by: .seconds(1))
            try await eventually("the right is not authorized") { right.state == .notAuthorized }
        }
    }

    @Test func `a recent finger counts for as long as the program allows`() async throws {
        try await withFinger { device async throws in
            device.person.touches(.rightIndex)
            #expect(try await evaluate())
            let second = LAContext()
            second.touchIDAuthenticationAllowableReuseDuration = 60
            try await device.advance(by: .seconds(60))
            #expect(try await evaluate(in: second))
            #expect(device.questions.count == 1)
            try await device.advance(by: .seconds(1))
            let third = LAContext()
            third.touchIDAuthenticationAllowableReuseDuration = 60
            device.person.cancels()
            #expect(try await refusal(in: third)?.code == .userCancel)
        }
    }

    @Test func `a saved right signs after the finger, and not after a lock or a restart`() async throws {
        try await withFinger { device async throws in
            let right = LARight(requirement: .biometry(fallback: .devicePasscode))
            let saved = try await LARightStore.shared.saveRight(right, identifier: "2fa")
            let digest = Data(repeating: 7, count: 32)
            let sign = { try await saved.key.sign(digest, algorithm: .ecdsaSignatureDigestX962SHA256) }
            await #expect(throws: (any Error).self) { try await sign() }
            device.person.touches(.rightIndex)
            try await saved.authorize(localizedReason: Self.reason)
            #expect(try await !sign().isEmpty)
            try await device.lock()
            await #expect(throws: (any Error).self) { try await sign() }
            try await device.restart()
            // After a restart a finger counts only when the passcode was entered.
            #expect(try await refusal() == Refusal(code: .biometryLockout, cause: "biometry.rests"))
            device.person.enters(SimulatedDevice.passcode)
            let again = try await LARightStore.shared.right(forIdentifier: "2fa")
            try await again.authorize(localizedReason: Self.reason)
            #expect(device.questions.last?.offersFinger == false)
            device.person.touches(.rightIndex)
            #expect(try await evaluate())
        }
    }

    // MARK: the keychain

    private static var item: [CFString: Any] { [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "notes"] }

    private func read() -> (status: OSStatus, data: Data?) {
        var result: CFTypeRef?
        let query = Self.item.merging([kSecReturnData: true, kSecUseOperationPrompt: Self.reason]) { $1 }
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        return (status, result as? Data)
    }

    @Test(arguments: [false, true])
    func `an identity with a locked certificate is deleted after one question`(isProtected: Bool) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await SimulatedDevice.run { device async throws in
            try await device.setPasscode()
            let maker = try CertificateMaker(in: folder)
            let parameters: [CFString: Any] = [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256]
            let key = try #require(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
            let identity = try #require(SecIdentityCreate(nil, maker.certificate("me", for: key), key))
            var added: [CFString: Any] = [kSecValueRef: identity]
            if isProtected {
                added[kSecAttrAccessControl] = try #require(
                    SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .devicePasscode, nil))
            } else {
                added[kSecAttrAccessible] = kSecAttrAccessibleWhenUnlocked
            }
            #expect(SecItemAdd(added as CFDictionary, nil) == errSecSuccess)
            try await device.lock()

            let any: [CFString: Any] = [kSecClass: kSecClassIdentity]
            let silent = any.merging([kSecUseAuthenticationUI: kSecUseAuthenticationUIFail]) { $1 }
            #expect(SecItemDelete(silent as CFDictionary) == errSecInteractionNotAllowed)
            #expect(device.questions.isEmpty)
            device.person.enters(SimulatedDevice.passcode)
            #expect(SecItemDelete(any as CFDictionary) == errSecSuccess)
            #expect(device.questions.map(\.reason) == ["delete an identity of your keychain"])
            for itemClass in [kSecClassIdentity, kSecClassCertificate, kSecClassKey] {
                let query: [CFString: Any] = [kSecClass: itemClass]
                #expect(SecItemCopyMatching(query as CFDictionary, nil) == errSecItemNotFound)
            }
        }
    }

    @Test func `an item for the current fingers refuses another set, and opens when the old one is back`() async throws
    {
        try await withFinger { device async throws in
            let access = SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, .biometryCurrentSet, nil)!
            let item = Self.item.merging([kSecAttrAccessControl: access, kSecValueData: Data("secret".utf8)]) { $1 }
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            device.person.touches(.rightIndex)
            #expect(read().data == Data("secret".utf8))
            try await device.enrollFinger(.leftThumb)
            #expect(read().status != errSecSuccess)
            try await device.deleteFinger(.leftThumb)
            device.person.touches(.rightIndex)
            #expect(read().data == Data("secret".utf8))
            // Another finger under the same name is another set.
            try await device.enrollFinger(.rightIndex)
            #expect(read().status != errSecSuccess)
            #expect(device.questions.count == 2)
        }
    }

    @Test func `a changed set rests until the passcode, unless the owner enters it`() async throws {
        try await withFinger { device async throws in
            try await device.enrollFinger(.leftThumb, enteringPasscode: false)
            #expect(try await refusal() == Refusal(code: .biometryLockout, cause: "biometry.rests"))
            try await device.enterPasscode()
            device.person.touches(.leftThumb)
            #expect(try await evaluate())
        }
    }
}

/// Waits until something is so that another thread brings about, at most 30 seconds.
func eventually(_ what: String, _ holds: () -> Bool) async throws {
    let deadline = ContinuousClock.now.advanced(by: .seconds(30))
    while !holds() {
        guard ContinuousClock.now < deadline else { throw TestSupportError("It never happened that \(what).") }
        try await Task.sleep(for: .milliseconds(2))
    }
}
