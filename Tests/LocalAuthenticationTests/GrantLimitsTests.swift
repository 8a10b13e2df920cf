import AccessControl
import Foundation
import LocalAuthentication
import OstiaryClient
import Testing

@Suite("Limits of a right")
struct LAGrantLimitsTests {
    private let daemon = FakeDaemon()

    @Test func `are fixed when it is made, and are saved with it`() async throws {
        let limits = try LAGrantLimits(idleSeconds: 30, uses: 2)
        let right = LARight(requirement: .biometry, grantLimits: limits, service: daemon)
        #expect(right.grantLimits == limits)
        #expect((limits.idleSeconds, limits.hardSeconds, limits.uses) == (30, nil, 2))
        let saved = try await LARightStore(service: daemon).saveRight(right, identifier: "r")
        let found = try await LARightStore(service: daemon).right(forIdentifier: "r")
        #expect(saved.grantLimits == limits && found.grantLimits == limits)
        guard case .create(_, let accessControl, _)? = daemon.calls.first else {
            Issue.record("nothing was created")
            return
        }
        #expect(accessControl.limits == (try GrantLimits(idleSeconds: 30, uses: 2)))
    }

    @Test func `the end of a grant changes the state and is posted, though nothing was used`() async throws {
        let right = LARight(requirement: .default, service: daemon)
        try await right.authorize(localizedReason: "test")
        let posted = Locked(0)
        let observer = NotificationCenter.default.addObserver(
            forName: LARight.didBecomeUnauthorizedNotification, object: right, queue: nil
        ) { _ in posted.update { $0 += 1 } }
        defer { NotificationCenter.default.removeObserver(observer) }
        daemon.endGrants()
        #expect(right.state == .notAuthorized && posted.value == 1)
        try await right.authorize(localizedReason: "test")
        #expect(right.state == .authorized)
    }

    @Test func `are none where nobody gave any`() async throws {
        #expect(LARight(requirement: .biometry, service: daemon).grantLimits == nil)
        #expect(LARight().grantLimits == nil)
        let right = LARight(requirement: .default, service: daemon)
        #expect(try await LARightStore(service: daemon).saveRight(right, identifier: "r").grantLimits == nil)
    }

    @Test(
        arguments: [(nil, nil, nil), (0, nil, nil), (-1, nil, nil), (.max, nil, nil), (nil, nil, 0), (9, 9, nil)]
            as [(Int?, Int?, Int?)])
    func `that limit nothing are refused`(idle: Int?, hard: Int?, uses: Int?) async {
        let error = await thrownError { _ = try LAGrantLimits(idleSeconds: idle, hardSeconds: hard, uses: uses) }
        expectStatus(errSecParam, error)
    }
}
