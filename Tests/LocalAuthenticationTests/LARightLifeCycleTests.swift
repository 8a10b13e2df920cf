import AccessControl
import LocalAuthentication
import OstiaryClient
import OstiaryMessages
import Testing

@Suite(.timeLimit(.minutes(10))) struct LARightLifeCycleTests {
    private let daemon = FakeDaemon()

    private func right() -> LARight { LARight(requirement: .default, service: daemon) }

    private func refusal(_ failure: WireFailureCode) -> FakeDaemon.Answer {
        .refuse(OstiaryError(.init(failure), "because"))
    }

    @Test func `a new right is unknown and has the tag 0`() {
        let right = right()
        #expect(right.state == .unknown)
        #expect(right.tag == 0)
        #expect(daemon.calls.isEmpty)
    }

    @Test func `a right is authorizing while the person is asked and authorized afterwards`() async throws {
        let prompt = Prompt()
        daemon.answerNext(.ask(prompt))
        let right = right()
        let outcome = Outcome()
        right.authorize(localizedReason: "test", completion: outcome.receive)
        #expect(right.state == .authorizing)
        await prompt.appears()
        prompt.accept()
        #expect(await outcome.error() == nil)
        #expect(right.state == .authorized)
    }

    @Test(arguments: [
        (WireFailureCode.userCancel, LAError.Code.userCancel), (.authenticationFailed, .authenticationFailed),
        (.notInteractive, .notInteractive), (.passcodeNotSet, .passcodeNotSet),
        (.biometryNotAvailable, .biometryNotAvailable),
    ])
    func `a refused right is not authorized and says why`(failure: WireFailureCode, code: LAError.Code) async {
        daemon.answerNext(refusal(failure))
        let right = right()
        expectAuthenticationError(code, await thrownError { try await right.authorize(localizedReason: "test") })
        #expect(right.state == .notAuthorized)
    }

    @Test func `a refused right can be authorized afterwards`() async throws {
        daemon.answerNext(refusal(.userCancel))
        let right = right()
        _ = await thrownError { try await right.authorize(localizedReason: "test") }
        try await right.authorize(localizedReason: "test")
        #expect(right.state == .authorized)
    }

    @Test func `an empty reason is an error, nobody is asked and nothing changes`() async {
        let right = right()
        let error = await thrownError { try await right.authorize(localizedReason: "") }
        expectAuthenticationError(.authenticationFailed, cause: "reason.empty", error)
        #expect(right.state == .unknown)
        #expect(daemon.calls.isEmpty)
    }

    // MARK: checking

    @Test func `checking asks no person and leaves the state`() async throws {
        let right = right()
        try await right.checkCanAuthorize()
        daemon.refusePreflight(OstiaryError(.init(.biometryNotEnrolled), "none"))
        expectAuthenticationError(.biometryNotEnrolled, await thrownError { try await right.checkCanAuthorize() })
        #expect(right.state == .unknown)
        #expect(daemon.questions == [.preflight, .preflight])
    }

    // MARK: again and at once

    @Test func `an authorized right is confirmed by the daemon without a prompt or a change`() async throws {
        let right = right()
        try await right.authorize(localizedReason: "first")
        daemon.answerNext(refusal(.userCancel))
        let seen = Locked<[LARight.State]>([])
        let observation = right.observe(\.state, options: [.new]) { _, change in
            seen.update { $0.append(contentsOf: [change.newValue].compactMap(\.self)) }
        }
        try await right.authorize(localizedReason: "second")
        observation.invalidate()
        #expect(seen.value.isEmpty)
        #expect(daemon.calls.last == .authorize(reason: "-", isAllowed: false))
    }

    @Test func `a grant that the daemon has taken back is asked for again`() async throws {
        let saved = try await LARightStore(service: daemon).saveRight(right(), identifier: "r", secret: Data([1]))
        try await saved.authorize(localizedReason: "first")
        daemon.takeGrantsBack()
        let seen = Locked<[LARight.State]>([])
        let observation = saved.observe(\.state, options: [.new]) { _, change in
            seen.update { $0.append(contentsOf: [change.newValue].compactMap(\.self)) }
        }
        try await saved.authorize(localizedReason: "second")
        observation.invalidate()
        #expect(seen.value == [.notAuthorized, .authorizing, .authorized])
        #expect(daemon.calls.contains(.authorize(reason: "second", isAllowed: true)))
        #expect(try await saved.secret.rawData == Data([1]))
    }

    @Test func `a second call waits for the first and gets its result`() async {
        let prompt = Prompt()
        daemon.answerNext(.ask(prompt))
        let right = right()
        let (first, second) = (Outcome(), Outcome())
        right.authorize(localizedReason: "first", completion: first.receive)
        await prompt.appears()
        right.authorize(localizedReason: "second", completion: second.receive)
        prompt.refuse(.userCancel)
        expectAuthenticationError(.userCancel, await first.error())
        expectAuthenticationError(.userCancel, await second.error())
        #expect(daemon.calls.filter { $0 == .authorize(reason: "second", isAllowed: true) }.isEmpty)
    }

    @Test func `many prompts at once hold nobody up`() async throws {
        // More than the shared threads of a process can ever be (255), so on those the last ones would never appear.
        let prompts = (0..<300).map { _ in Prompt() }
        let rights = prompts.map { _ in right() }
        let outcomes = prompts.map { _ in Outcome() }
        for prompt in prompts { daemon.answerNext(.ask(prompt)) }
        for (right, outcome) in zip(rights, outcomes) {
            right.authorize(localizedReason: "test", completion: outcome.receive)
        }
        for prompt in prompts { await prompt.appears() }
        for prompt in prompts { prompt.accept() }
        for outcome in outcomes { #expect(await outcome.error() == nil) }
    }

    // MARK: deauthorizing

    @Test func `deauthorizing takes the grant back on the daemon before it returns`() async throws {
        let right = right()
        try await right.authorize(localizedReason: "test")
        await right.deauthorize()
        #expect(right.state == .notAuthorized)
        #expect(daemon.calls.contains(.deauthorize))
    }

    @Test func `deauthorizing changes the state at once`() async throws {
        let right = right()
        try await right.authorize(localizedReason: "test")
        await withCheckedContinuation { continuation in
            right.deauthorize { continuation.resume() }
            #expect(right.state == .notAuthorized)
        }
    }

    @Test func `deauthorizing an unknown right makes it not authorized`() async {
        let right = right()
        await right.deauthorize()
        #expect(right.state == .notAuthorized)
    }

    @Test func `deauthorizing ends the authorization under way for all who wait`() async {
        let prompt = Prompt()
        daemon.answerNext(.ask(prompt))
        let right = right()
        let (first, second) = (Outcome(), Outcome())
        right.authorize(localizedReason: "first", completion: first.receive)
        right.authorize(localizedReason: "second", completion: second.receive)
        await prompt.appears()
        await right.deauthorize()
        expectAuthenticationError(.appCancel, await first.error())
        expectAuthenticationError(.appCancel, await second.error())
        #expect(right.state == .notAuthorized)
    }

    @Test func `a grant that comes after deauthorizing is wiped and changes nothing`() async throws {
        let prompt = Prompt(ignoresCancellation: true)
        daemon.answerNext(.ask(prompt))
        let right = right()
        let outcome = Outcome()
        right.authorize(localizedReason: "test", completion: outcome.receive)
        await prompt.appears()
        await right.deauthorize()
        expectAuthenticationError(.appCancel, await outcome.error())
        await daemon.waitForNext(.invalidate) { prompt.accept() }
        #expect(right.state == .notAuthorized)
    }

    @Test(arguments: [true, false])
    func `an older attempt that ends late does not end the new one`(isGranted: Bool) async throws {
        let (stale, fresh) = (Prompt(ignoresCancellation: true), Prompt())
        daemon.answerNext(.ask(stale))
        daemon.answerNext(.ask(fresh))
        let right = right()
        let outcome = Outcome()
        right.authorize(localizedReason: "old") { _ in }
        await stale.appears()
        await right.deauthorize()
        right.authorize(localizedReason: "new", completion: outcome.receive)
        await fresh.appears()
        await daemon.waitForNext(.invalidate) {
            if isGranted { stale.accept() } else { stale.refuse(.authenticationFailed) }
        }
        #expect(right.state == .authorizing)
        fresh.accept()
        #expect(await outcome.error() == nil)
        #expect(right.state == .authorized)
    }

    // MARK: cancelling

    @Test func `cancelling the only task that waits ends the authorization`() async {
        let prompt = Prompt()
        daemon.answerNext(.ask(prompt))
        let daemon = daemon
        let task = Task {
            let right = LARight(requirement: .default, service: daemon)
            let error = await thrownError { try await right.authorize(localizedReason: "test") }
            return (error, right.state)
        }
        await prompt.appears()
        task.cancel()
        let (error, state) = await task.value
        expectAuthenticationError(.appCancel, error)
        #expect(state == .notAuthorized)
    }

    @Test func `cancelling one of two leaves the other waiting`() async {
        let prompt = Prompt()
        daemon.answerNext(.ask(prompt))
        let shared = UncheckedRight(right: right())
        let first = Outcome()
        shared.right.authorize(localizedReason: "first", completion: first.receive)
        await prompt.appears()
        let second = Task { await thrownError { try await shared.right.authorize(localizedReason: "second") } }
        second.cancel()
        expectAuthenticationError(.appCancel, await second.value)
        #expect(shared.right.state == .authorizing)
        prompt.accept()
        #expect(await first.error() == nil)
        #expect(shared.right.state == .authorized)
    }

    @Test func `a task that was cancelled before it asks gets no authorization`() async {
        let daemon = daemon
        let error = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await thrownError {
                try await LARight(requirement: .default, service: daemon).authorize(localizedReason: "test")
            }
        }.value
        expectAuthenticationError(.appCancel, error)
    }

    // MARK: the end of the instance

    @Test func `releasing the right wipes its grant`() async throws {
        var right: LARight? = right()
        try await right?.authorize(localizedReason: "test")
        // The thread that answered may be the last to let go of it.
        await daemon.waitForNext(.invalidate) { right = nil }
        #expect(daemon.calls.last == .invalidate)
    }

    @Test func `a right that is dropped lives until all who wait were answered, and its grant no longer`() async throws
    {
        let prompt = Prompt()
        daemon.answerNext(.ask(prompt))
        let (first, second) = (Outcome(), Outcome())
        weak var dropped: LARight?
        do {
            let right = right()
            dropped = right
            right.authorize(localizedReason: "first", completion: first.receive)
            right.authorize(localizedReason: "second", completion: second.receive)
        }
        try #require(dropped?.state == .authorizing)
        await prompt.appears()
        await daemon.waitForNext(.invalidate) { prompt.accept() }
        #expect(await first.error() == nil)
        #expect(await second.error() == nil)
    }

    // MARK: requirements

    @Test func `requirements are mapped to rules`() async throws {
        let store = LARightStore(service: daemon)
        let rules: [(LAAuthenticationRequirement, String)] = [
            (.default, "passcode or biometry"), (LAAuthenticationRequirement(), "passcode or biometry"),
            (.biometry, "biometry"), (.biometryCurrentSet, "biometry-current-set"),
            (.biometry(fallback: .devicePasscode), "passcode or biometry"),
            (.biometry(fallback: .default), "passcode or biometry"),
        ]
        for (index, (requirement, rule)) in rules.enumerated() {
            try await store.saveRight(LARight(requirement: requirement, service: daemon), identifier: "\(index)")
            let expected = AccessControl(
                availability: .whenUnlocked, using: try Requirement(try Rule(parsing: rule)))
            #expect(daemon.calls.last == .create(identifier: "\(index)", expected, secret: nil))
        }
    }
}

/// Collects the result of a completion form and lets a test wait for it.
final class Outcome: Sendable {
    private let stream: AsyncStream<(any Error)?>
    private let continuation: AsyncStream<(any Error)?>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    @Sendable func receive(_ error: (any Error)?) { continuation.yield(error) }

    func error() async -> (any Error)? {
        for await error in stream { return error }
        return nil
    }
}

/// Lets tasks share a right, which the class permits and its type, like Apple's, does not say.
struct UncheckedRight: @unchecked Sendable {
    // SAFETY: (@unchecked) what the tests call on it is behind locks.
    let right: LARight
}
