import LocalAuthenticationEmbeddedUI
import OstiaryClient
import OstiaryMessages
import Testing

@Suite(.timeLimit(.minutes(10))) struct PresentationTests {
    private let daemon = FakeDaemon()

    private func right() -> LARight { LARight(requirement: .default, service: daemon) }

    @Test func `a right is asked for at the place that the app chose`() async throws {
        try await right().authorize(localizedReason: "test", in: .desktop)
        try await right().authorize(localizedReason: "test", in: .standard)
        try await right().authorize(localizedReason: "test")
        #expect(daemon.terminals == [false, true, true])
    }

    @Test func `the form with a completion tells what came of it`() async {
        let right = right()
        daemon.answerNext(.refuse(OstiaryError(.init(.notInteractive), "no display")))
        let error = await withCheckedContinuation { continuation in
            right.authorize(localizedReason: "test", in: .desktop) { continuation.resume(returning: $0) }
        }
        expectAuthenticationError(.notInteractive, error)
        #expect(right.state == .notAuthorized)
    }

    @Test func `an empty reason is refused there too`() async {
        expectAuthenticationError(
            .authenticationFailed, cause: "reason.empty",
            await thrownError { try await right().authorize(localizedReason: "", in: .desktop) })
        #expect(daemon.terminals.isEmpty)
    }
}
