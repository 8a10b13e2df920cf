import Crypto
import LocalAuthentication
import OstiaryClient
import OstiaryMessages
import Testing

// Programs written for Apple's systems: what has to compile, and what has to happen when it runs.

private class CompletionMock: LAContext {
    private(set) var evaluations = 0
    override func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool { true }
    override var biometryType: LABiometryType { .faceID }
    override func evaluatePolicy(
        _ policy: LAPolicy, localizedReason: String, reply: @escaping (Bool, (any Error)?) -> Void
    ) {
        evaluations += 1
        if localizedReason.isEmpty { reply(false, LAError(.userFallback)) } else { reply(true, nil) }
    }
}

private class AsyncMock: LAContext {
    override func evaluatePolicy(_ policy: LAPolicy, localizedReason: String) async throws -> Bool { false }
}

private class RightMock: LARight {
    private(set) var authorizations = 0
    override init() { super.init() }
    override var state: State { .authorized }
    override func authorize(localizedReason: String, completion: @escaping @Sendable ((any Error)?) -> Void) {
        authorizations += 1
        completion(nil)
    }
}

private protocol PolicyEvaluating {
    func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool
    func evaluatePolicy(_ policy: LAPolicy, localizedReason: String) async throws -> Bool
    var biometryType: LABiometryType { get }
}

private protocol ReplyEvaluating {
    func evaluatePolicy(
        _ policy: LAPolicy, localizedReason: String, reply: @escaping @Sendable (Bool, (any Error)?) -> Void)
    func invalidate()
}

extension LAContext: PolicyEvaluating, ReplyEvaluating {}

private protocol Authorizing {
    func authorize(localizedReason: String) async throws
    func checkCanAuthorize() async throws
    func deauthorize() async
}

extension LARight: Authorizing {}

/// A wrapper as apps that were Objective-C have it: these names are there with LocalAuthentication alone.
private struct Failure {
    let code: NSInteger
    let bundle = kCFBundleIdentifierKey as String
    init(_ error: LAError) { code = error.errorCode }
}

/// A view model as apps have it: on the main actor, with a right, a context and no annotations.
@MainActor
private final class Account {
    enum Section: Equatable { case publicArea, profile, failed }

    private let daemon: FakeDaemon
    private(set) var section = Section.publicArea
    private var login: LARight
    private var observation: NSKeyValueObservation?

    init(daemon: FakeDaemon) {
        self.daemon = daemon
        login = LARight(requirement: .biometry(fallback: .devicePasscode), service: daemon)
    }

    func logIn() async {
        do { try await login.checkCanAuthorize() } catch { return section = .publicArea }
        observation = login.observe(\.state, options: [.initial, .new]) { _, change in _ = change.newValue }
        do {
            try await login.authorize(localizedReason: "open your profile")
            section = .profile
        } catch { section = .failed }
    }

    func logOut() async {
        await login.deauthorize()
        section = .publicArea
    }

    func makeSecondFactor(in store: LARightStore) async throws -> Data {
        let right = LARight(requirement: .biometryCurrentSet, service: daemon)
        let saved = try await store.saveRight(right, identifier: "second-factor")
        return try await saved.key.publicKey.bytes
    }

    func answer(_ challenge: Data, in store: LARightStore) async throws -> Data {
        let right = try await store.right(forIdentifier: "second-factor")
        try await right.authorize(localizedReason: "prove that it is you")
        guard right.key.canSign(using: .ecdsaSignatureMessageX962SHA256) else { throw LAError(.invalidContext) }
        return try await right.key.sign(challenge, algorithm: .ecdsaSignatureMessageX962SHA256)
    }

    func confirm(with context: LAContext) async throws {
        try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "confirm")
    }
}

@Suite struct SourceCompatibilityTests {
    @Test func `overriding the completion form of a context changes the async form`() async throws {
        let mock = CompletionMock()
        #expect(try await mock.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "x"))
        #expect(mock.evaluations == 1)
        expectAuthenticationError(
            .userFallback,
            await thrownError { try await mock.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "") })
    }

    @Test func `overriding the async form of a context works`() async throws {
        let mock: LAContext = AsyncMock()
        #expect(try await mock.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "x") == false)
    }

    @Test func `a context meets an app's own protocols by an empty conformance`() async throws {
        let mock = CompletionMock()
        let evaluating: any PolicyEvaluating = mock
        #expect(evaluating.canEvaluatePolicy(.deviceOwnerAuthentication, error: nil))
        #expect(evaluating.biometryType == .faceID)
        #expect(try await evaluating.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "x"))
        let replying: any ReplyEvaluating = mock
        replying.invalidate()
        replying.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "x") { _, _ in }
        #expect(mock.evaluations == 2)
    }

    @Test func `overriding the completion form of a right changes the async form`() async throws {
        let mock = RightMock()
        let authorizing: any Authorizing = mock
        try await authorizing.authorize(localizedReason: "x")
        try await mock.authorize(localizedReason: "x")
        #expect(mock.authorizations == 2)
        #expect((mock as LARight).state == .authorized)
    }

    @Test func `a login right on the main actor goes its way`() async {
        let daemon = FakeDaemon()
        let account = await Account(daemon: daemon)
        await account.logIn()
        #expect(await account.section == .profile)
        await account.logOut()
        #expect(await account.section == .publicArea)
        daemon.refusePreflight(OstiaryError(.init(.passcodeNotSet), "none"))
        await account.logIn()
        #expect(await account.section == .publicArea)
    }

    @Test func `a second factor is enrolled and answers a challenge`() async throws {
        let daemon = FakeDaemon()
        let store = LARightStore(service: daemon)
        let account = await Account(daemon: daemon)
        let publicKey = try await account.makeSecondFactor(in: store)
        let challenge = Data("nonce".utf8)
        let signature = try await account.answer(challenge, in: store)
        let verifier = try P256.Signing.PublicKey(x963Representation: publicKey)
        #expect(verifier.isValidSignature(try .init(derRepresentation: signature), for: challenge))
        try await account.confirm(with: LAContext(service: daemon))
    }

    @Test func `handlers of the older style compile`() {
        let context = LAContext(service: FakeDaemon())
        var error: NSError?
        guard context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error) else {
            Issue.record("\(String(describing: error))")
            return
        }
        context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "x") { success, error in
            guard !success, let error = error as? LAError else { return }
            switch error.code {
            case .userCancel, .appCancel, .systemCancel: break
            case .biometryNotAvailable, .biometryNotEnrolled, .biometryLockout: break
            case LAError.userFallback: break
            default: break
            }
            switch error {
            case LAError.authenticationFailed: break
            default: break
            }
        }
        context.canEvaluatePolicy(.deviceOwnerAuthentication, error: nil)
    }
}
