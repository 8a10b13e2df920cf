import AccessControl
import LocalAuthentication
import OstiaryClient
import OstiaryMessages
import Security
import Testing

@Suite(.timeLimit(.minutes(10))) struct LAContextTests {
    private let daemon = FakeDaemon()

    private func evaluation(
        _ context: LAContext, _ policy: LAPolicy = .deviceOwnerAuthentication, reason: String = "test"
    ) async -> (Bool, (any Error)?) {
        await withCheckedContinuation { continuation in
            context.evaluatePolicy(policy, localizedReason: reason) { continuation.resume(returning: ($0, $1)) }
        }
    }

    /// Begins an evaluation and returns when its prompt is up.
    private func beginEvaluation(_ context: LAContext) async -> (prompt: Prompt, replies: Replies) {
        let (prompt, replies) = (Prompt(), Replies())
        daemon.answerNext(.ask(prompt))
        context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "test") { replies.add($0, $1) }
        await prompt.appears()
        return (prompt, replies)
    }

    // MARK: settings

    @Test func `a new context has the factory settings`() {
        let context = LAContext(service: daemon)
        #expect(context.localizedFallbackTitle == nil)
        #expect(context.localizedCancelTitle == nil)
        #expect(context.localizedReason == "")
        #expect(!context.interactionNotAllowed)
        #expect(context.touchIDAuthenticationAllowableReuseDuration == 0)
        #expect(context.maxBiometryFailures == nil)
        #expect(context.evaluatedPolicyDomainState == nil)
        #expect(!context.isCredentialSet(.applicationPassword))
    }

    @Test func `the reuse duration is kept as it was set`() {
        let context = LAContext(service: daemon)
        context.touchIDAuthenticationAllowableReuseDuration = 10_000
        #expect(context.touchIDAuthenticationAllowableReuseDuration == 10_000)
    }

    @Test func `no more than the maximum is reused, and nothing by default`() async {
        for duration in [nil, 0, 12.5, 300, 10_000] {
            let context = LAContext(service: daemon)
            if let duration { context.touchIDAuthenticationAllowableReuseDuration = duration }
            _ = await evaluation(context)
        }
        #expect(daemon.reuse == [0, 0, 12.5, 300, 300])
    }

    // MARK: domain state

    private static func enrolled(_ digest: UInt8) -> WireEnvironment {
        .with {
            $0.biometry = .with { ($0.type, $0.isEnrolled, $0.stateHash) = (1, true, Data([digest])) }
            $0.companions = [.with { ($0.type, $0.stateHash) = (1, Data([digest, 1])) }]
            $0.stateHash = Data([digest, digest])
        }
    }

    @Test func `digests are those of now, without an earlier call`() {
        let context = LAContext(service: daemon)
        for digest: UInt8 in [1, 2] {
            daemon.setEnvironment(Self.enrolled(digest))
            #expect(context.domainState.biometry.stateHash == Data([digest]))
            #expect(context.domainState.stateHash == Data([digest, digest]))
            #expect(context.domainState.companion.stateHash == Data([digest, 1]))
            #expect(context.domainState.companion.stateHash(for: .watch) == Data([digest, 1]))
        }
        #expect(context.domainState.companion.availableCompanionTypes == [.watch])
        #expect(context.domainState.companion.stateHash(for: .mac) == nil)
    }

    @Test func `companions that cannot be digested have no digest`() {
        daemon.setEnvironment(.with { $0.companions = [.with { $0.type = 1 }] })
        let companion = LAContext(service: daemon).domainState.companion
        #expect(companion.availableCompanionTypes == [.watch])
        #expect(companion.stateHash == nil && companion.stateHash(for: .watch) == nil)
    }

    @Test func `the older digest is there after a policy that accepts biometry was found possible or satisfied`() async
    {
        daemon.setEnvironment(Self.enrolled(1))
        for policy in [LAPolicy.deviceOwnerAuthenticationWithBiometrics, .deviceOwnerAuthentication] {
            let context = LAContext(service: daemon)
            #expect(context.evaluatedPolicyDomainState == nil)
            context.canEvaluatePolicy(policy, error: nil)
            #expect(context.evaluatedPolicyDomainState == Data([1]))
            let evaluated = LAContext(service: daemon)
            _ = await evaluation(evaluated, policy)
            #expect(evaluated.evaluatedPolicyDomainState == Data([1]))
        }
    }

    @Test func `the older digest is not there after a refusal, another policy, or the end of the context`() {
        daemon.setEnvironment(Self.enrolled(1))
        let context = LAContext(service: daemon)
        context.canEvaluatePolicy(.deviceOwnerAuthenticationWithCompanion, error: nil)
        #expect(context.evaluatedPolicyDomainState == nil)
        daemon.refusePreflight(policy: 1, OstiaryError(.init(.biometryLockout), "wrong fingers"))
        context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: nil)
        #expect(context.evaluatedPolicyDomainState == nil)
        context.canEvaluatePolicy(.deviceOwnerAuthentication, error: nil)
        #expect(context.evaluatedPolicyDomainState != nil)
        context.invalidate()
        #expect(context.evaluatedPolicyDomainState == nil)
    }

    @Test func `without a daemon there are no digests`() {
        daemon.setEnvironment(nil)
        let state = LAContext(service: daemon).domainState
        #expect(state.stateHash == nil && state.biometry.stateHash == nil)
        #expect(state.companion.availableCompanionTypes.isEmpty)
    }

    @Test func `nothing is enrolled and nothing is paired`() {
        let state = LAContext(service: daemon).domainState
        #expect(state.stateHash == nil)
        #expect(state.biometry.stateHash == nil)
        #expect(state.companion.stateHash == nil)
        #expect(state.companion.stateHash(for: .watch) == nil)
        #expect(state.companion.availableCompanionTypes.isEmpty)
    }

    // MARK: preflight

    @Test func `a preflight that succeeds is true and clears the error`() {
        var error: NSError? = NSError(domain: "old", code: 1)
        #expect(LAContext(service: daemon).canEvaluatePolicy(.deviceOwnerAuthentication, error: &error))
        #expect(error == nil)
        #expect(daemon.questions.last == .preflightPolicy(2))
    }

    @Test func `a preflight works without a place for the error`() {
        daemon.refusePreflight(policy: 2, OstiaryError(.init(.passcodeNotSet), "none"))
        #expect(!LAContext(service: daemon).canEvaluatePolicy(.deviceOwnerAuthentication, error: nil))
        #expect(LAContext(service: daemon).canEvaluatePolicy(.deviceOwnerAuthenticationWithCompanion, error: nil))
    }

    @Test(arguments: [
        (WireFailureCode.passcodeNotSet, -5), (.biometryNotAvailable, -6), (.biometryNotEnrolled, -7),
        (.biometryLockout, -8), (.companionNotAvailable, -11), (.invalidParameter, -4), (.storeUnreadable, -4),
    ])
    func `a preflight that fails says why in Apple's domain`(failure: WireFailureCode, code: Int) {
        daemon.refusePreflight(policy: 2, OstiaryError(.init(failure), "because"))
        var error: NSError?
        #expect(!LAContext(service: daemon).canEvaluatePolicy(.deviceOwnerAuthentication, error: &error))
        #expect(error?.domain == LAErrorDomain)
        #expect(error?.code == code)
    }

    @Test func `an unnamed policy reaches the daemon with its number`() throws {
        let policy = try #require(LAPolicy(rawValue: 77))
        _ = LAContext(service: daemon).canEvaluatePolicy(policy, error: nil)
        #expect(daemon.questions.last == .preflightPolicy(77))
    }

    // MARK: evaluation

    @Test func `an evaluation that succeeds replies true and nil`() async {
        let (success, error) = await evaluation(LAContext(service: daemon))
        #expect(success)
        #expect(error == nil)
        #expect(daemon.questions == [.evaluate(policy: 2, isAllowed: true)])
    }

    @Test(arguments: [
        (WireFailureCode.userCancel, LAError.Code.userCancel), (.userFallback, .userFallback),
        (.systemCancel, .systemCancel), (.authenticationFailed, .authenticationFailed),
        (.lockedOut, .authenticationFailed),
        (.notInteractive, .notInteractive), (.notFound, .systemCancel),
    ])
    func `an evaluation that fails replies false and the error`(failure: WireFailureCode, code: LAError.Code) async {
        daemon.answerNext(.refuse(OstiaryError(.init(failure), "because")))
        let (success, error) = await evaluation(LAContext(service: daemon))
        #expect(!success)
        expectAuthenticationError(code, error)
    }

    @Test func `the async form returns true or throws`() async throws {
        daemon.answerNext(.grant)
        #expect(
            try await LAContext(service: daemon).evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "test"))
        daemon.answerNext(.refuse(OstiaryError(.init(.userCancel), "no")))
        let error = await thrownError {
            try await LAContext(service: daemon).evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "test")
        }
        expectAuthenticationError(.userCancel, error)
    }

    @Test func `an empty reason is an error and nobody is asked`() async {
        let (success, error) = await evaluation(LAContext(service: daemon), reason: "")
        #expect(!success)
        expectAuthenticationError(.authenticationFailed, cause: "reason.empty", error)
        #expect(daemon.questions.isEmpty)
    }

    @Test func `a reason of one space passes`() async {
        let (success, _) = await evaluation(LAContext(service: daemon), reason: " ")
        #expect(success)
    }

    @Test func `a context that is satisfied is evaluated again by the daemon without a prompt`() async {
        let context = LAContext(service: daemon)
        daemon.answerNext(.grant)
        daemon.answerNext(.refuse(OstiaryError(.init(.userCancel), "a prompt was shown")))
        #expect(await evaluation(context).0)
        #expect(await evaluation(context).0)
        #expect(daemon.questions.count == 2)
    }

    // MARK: without interaction

    @Test func `without interaction an evaluation that needs a prompt fails`() async {
        let context = LAContext(service: daemon)
        context.interactionNotAllowed = true
        let (_, error) = await evaluation(context)
        expectAuthenticationError(.notInteractive, error)
        #expect(daemon.questions == [.evaluate(policy: 2, isAllowed: false)])
    }

    @Test func `without interaction an availability error wins`() async {
        daemon.refusePreflight(policy: 1, OstiaryError(.init(.biometryNotEnrolled), "none"))
        let context = LAContext(service: daemon)
        context.interactionNotAllowed = true
        let (_, error) = await evaluation(context, .deviceOwnerAuthenticationWithBiometrics)
        expectAuthenticationError(.biometryNotEnrolled, error)
    }

    // MARK: the end

    @Test func `invalidating resets the settings`() {
        let context = LAContext(service: daemon)
        context.localizedFallbackTitle = "other"
        context.localizedCancelTitle = "stop"
        context.localizedReason = "reason"
        context.interactionNotAllowed = true
        context.touchIDAuthenticationAllowableReuseDuration = 5
        context.invalidate()
        #expect(context.localizedFallbackTitle == nil)
        #expect(context.localizedCancelTitle == nil)
        #expect(context.localizedReason == "")
        #expect(!context.interactionNotAllowed)
        #expect(context.touchIDAuthenticationAllowableReuseDuration == 0)
    }

    @Test(arguments: [LAPolicy.deviceOwnerAuthentication, .deviceOwnerAuthenticationWithBiometrics])
    func `after invalidating everything is refused and nobody is asked`(policy: LAPolicy) async {
        let context = LAContext(service: daemon)
        context.invalidate()
        context.invalidate()
        var error: NSError?
        #expect(!context.canEvaluatePolicy(policy, error: &error))
        #expect(error?.code == -10)
        let (success, refusal) = await evaluation(context, policy)
        #expect(!success)
        expectAuthenticationError(.invalidContext, refusal)
        #expect(!context.setCredential(Data([1]), type: .applicationPassword))
        #expect(!context.isCredentialSet(.applicationPassword))
        #expect(daemon.calls == [.invalidate, .invalidate])
    }

    @Test func `invalidating ends a running evaluation`() async {
        let context = LAContext(service: daemon)
        let replies = await beginEvaluation(context).replies
        context.invalidate()
        let (success, error) = await replies.first()
        #expect(!success)
        expectAuthenticationError(.appCancel, error)
    }

    @Test func `a grant that comes after invalidating does not count`() async {
        let context = LAContext(service: daemon)
        let (prompt, replies) = await beginEvaluation(context)
        prompt.accept()
        context.invalidate()
        let (success, error) = await replies.first()
        // Whichever came first, there is one reply, and the two parts of it agree.
        #expect(success == (error == nil))
        #expect(replies.count == 1)
    }

    @Test func `a context that is dropped while it asks lives until it has replied`() async throws {
        let (prompt, replies) = (Prompt(), Replies())
        daemon.answerNext(.ask(prompt))
        // As programs do that need the context for one question: this is its last mention.
        LAContext(service: daemon).evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "test") {
            replies.add($0, $1)
        }
        try #require(!daemon.calls.contains(.invalidate))
        await prompt.appears()
        await daemon.waitForNext(.invalidate) { prompt.accept() }
        let (success, error) = await replies.first()
        #expect(success)
        #expect(error == nil)
    }

    @Test func `a context that is dropped while nothing is asked is invalidated`() async {
        var context: LAContext? = LAContext(service: daemon)
        #expect(await evaluation(context!).0)
        await daemon.waitForNext(.invalidate) { context = nil }
        #expect(daemon.calls.count { $0 == .invalidate } == 1)
    }

    @Test func `cancelling the task ends the evaluation and leaves the context usable`() async {
        let prompt = Prompt()
        daemon.answerNext(.ask(prompt))
        let daemon = daemon
        let task = Task {
            let context = LAContext(service: daemon)
            let first = await thrownError {
                try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "test")
            }
            return (first, context.canEvaluatePolicy(.deviceOwnerAuthentication, error: nil))
        }
        await prompt.appears()
        task.cancel()
        let (error, isUsable) = await task.value
        expectAuthenticationError(.appCancel, error)
        #expect(isUsable)
    }

    // MARK: credentials

    @Test func `a credential is set, found and taken away`() {
        let context = LAContext(service: daemon)
        #expect(context.setCredential(Data([1, 2]), type: .applicationPassword))
        #expect(context.isCredentialSet(.applicationPassword))
        #expect(context.setCredential(nil, type: .applicationPassword))
        #expect(!context.isCredentialSet(.applicationPassword))
        #expect(daemon.questions == [.setCredential(type: 0, Data([1, 2])), .setCredential(type: 0, nil)])
    }

    @Test func `a credential that no request carries is not set`() {
        let context = LAContext(service: daemon)
        #expect(!context.setCredential(Data(count: WireLimits.tailByteCount + 1), type: .applicationPassword))
        #expect(daemon.questions.isEmpty)
    }

    @Test func `an empty credential is none`() {
        let context = LAContext(service: daemon)
        #expect(!context.setCredential(Data(), type: .applicationPassword))
        #expect(!context.isCredentialSet(.applicationPassword))
        #expect(daemon.questions.isEmpty)
    }

    @Test func `a credential that the daemon refuses is not set`() throws {
        let (context, unknown) = (LAContext(service: daemon), LACredentialType(rawValue: 7))
        #expect(!context.setCredential(Data([1]), type: try #require(unknown)))
        #expect(!context.isCredentialSet(try #require(unknown)))
    }

    @Test func `the PIN of a smart card is set, found and taken away, and the daemon never gets it`() {
        let context = LAContext(service: daemon)
        #expect(!context.isCredentialSet(.smartCardPIN))
        #expect(!context.setCredential(Data(), type: .smartCardPIN))
        #expect(!context.isCredentialSet(.smartCardPIN))
        #expect(context.setCredential(Data([1]), type: .smartCardPIN))
        #expect(context.isCredentialSet(.smartCardPIN))
        #expect(!context.isCredentialSet(.applicationPassword))
        #expect(!LAContext(service: daemon).isCredentialSet(.smartCardPIN))
        #expect(context.setCredential(nil, type: .smartCardPIN))
        #expect(!context.isCredentialSet(.smartCardPIN))
        #expect(daemon.questions.isEmpty)
    }

    @Test func `an invalidated context has no PIN of a smart card and takes none`() {
        let context = LAContext(service: daemon)
        #expect(context.setCredential(Data([1]), type: .smartCardPIN))
        context.invalidate()
        #expect(!context.isCredentialSet(.smartCardPIN))
        #expect(!context.setCredential(Data([1]), type: .smartCardPIN))
    }
}

/// What is known of the sensor belongs to the process. This suite alone has daemons without one, and runs in order.
@Suite(.serialized) struct BiometryTypeTests {
    /// With a sensor of this type, or none; without a type it does not answer.
    private func daemon(_ sensor: LABiometryType?) -> FakeDaemon {
        let daemon = FakeDaemon()
        daemon.setEnvironment(
            sensor.map { sensor in
                .with {
                    if sensor != .none { $0.biometry = .with { $0.type = Int32(sensor.rawValue) } }
                }
            })
        return daemon
    }

    @Test func `without a sensor the type is none`() {
        let context = LAContext(service: daemon(LABiometryType.none))
        #expect(context.domainState.biometry.biometryType == .none)
        #expect(context.biometryType == .none)
    }

    @Test(arguments: [LABiometryType.touchID, .faceID, .opticID])
    func `a preflight of any policy and result tells every context of the sensor`(sensor: LABiometryType) {
        _ = LAContext(service: daemon(LABiometryType.none)).domainState
        let daemon = daemon(sensor)
        daemon.refusePreflight(policy: 2, OstiaryError(.init(.passcodeNotSet), "none"))
        #expect(!LAContext(service: daemon).canEvaluatePolicy(.deviceOwnerAuthentication, error: nil))
        #expect(LAContext(service: self.daemon(nil)).biometryType == sensor)
    }

    @Test func `a daemon that does not answer changes nothing`() {
        _ = LAContext(service: daemon(.touchID)).domainState
        let context = LAContext(service: daemon(nil))
        #expect(context.domainState.biometry.biometryType == .none)
        #expect(context.biometryType == .touchID)
    }
}

/// Collects replies and lets a test wait for the first.
final class Replies: Sendable {
    private let stream: AsyncStream<(Bool, (any Error)?)>
    private let continuation: AsyncStream<(Bool, (any Error)?)>.Continuation
    private let received = Locked(0)

    init() { (stream, continuation) = AsyncStream.makeStream() }

    var count: Int { received.value }

    func add(_ success: Bool, _ error: (any Error)?) {
        received.update { $0 += 1 }
        continuation.yield((success, error))
    }

    func first() async -> (Bool, (any Error)?) {
        for await reply in stream { return reply }
        return (false, nil)
    }
}

/// Access controls, and what the keychain takes from a context.
@Suite(.timeLimit(.minutes(10))) struct LAContextAccessControlTests {
    private let daemon = FakeDaemon()

    private var accessControl: SecAccessControl {
        SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, [.devicePasscode, .privateKeyUsage], nil)!
    }

    @Test(arguments: [
        (LAAccessControlOperation.createItem, AccessControl.Operation.create), (.useItem, .read), (.createKey, .create),
        (.useKeySign, .sign), (.useKeyDecrypt, .decrypt), (.useKeyKeyExchange, .keyExchange),
    ])
    func `an access control is evaluated for each operation`(
        operation: LAAccessControlOperation, asked: AccessControl.Operation
    ) async throws {
        let context = LAContext(service: daemon)
        #expect(try await context.evaluateAccessControl(accessControl, operation: operation, localizedReason: "test"))
        #expect(daemon.questions.last == .evaluateAccess(try accessControl.canonical(), asked, isAllowed: true))
    }

    @Test func `an access control is refused as a policy is`() async {
        let context = LAContext(service: FakeDaemon(answers: [.refuse(OstiaryError(.init(.userCancel), "no"))]))
        expectAuthenticationError(
            .userCancel,
            await thrownError {
                try await context.evaluateAccessControl(accessControl, operation: .useKeySign, localizedReason: "test")
            })
        expectAuthenticationError(
            .authenticationFailed, cause: "reason.empty",
            await thrownError {
                try await context.evaluateAccessControl(accessControl, operation: .useKeySign, localizedReason: "")
            })
        context.invalidate()
        expectAuthenticationError(
            .invalidContext,
            await thrownError {
                try await context.evaluateAccessControl(accessControl, operation: .useKeySign, localizedReason: "test")
            })
    }

    @Test func `a context that is dropped while it asks for an access control lives until it has replied`() async throws
    {
        let (prompt, replies) = (Prompt(), Replies())
        daemon.answerNext(.ask(prompt))
        LAContext(service: daemon).evaluateAccessControl(
            accessControl, operation: .useKeySign, localizedReason: "test"
        ) { replies.add($0, $1) }
        try #require(!daemon.calls.contains(.invalidate))
        await prompt.appears()
        await daemon.waitForNext(.invalidate) { prompt.accept() }
        #expect(await replies.first().0)
    }

    @Test func `an unknown operation is no operation`() async throws {
        let context = LAContext(service: daemon)
        let unknown = try #require(LAAccessControlOperation(rawValue: 99))
        expectAuthenticationError(
            .systemCancel,
            await thrownError {
                try await context.evaluateAccessControl(accessControl, operation: unknown, localizedReason: "test")
            })
        #expect(daemon.questions.isEmpty)
    }

    @Test func `the keychain uses a context with its settings of now, and no invalidated one`() throws {
        let context = LAContext(service: daemon)
        context.localizedReason = "open the vault"
        context.interactionNotAllowed = true
        let authentication = try context.authentication()
        #expect(authentication.interaction.reason == "open the vault")
        #expect(!authentication.interaction.isAllowed)
        #expect(authentication.context === (try context.authentication().context))
        context.invalidate()
        #expect(throws: OstiaryError(.init(.unknownContext), "")) { try context.authentication() }
    }
}
