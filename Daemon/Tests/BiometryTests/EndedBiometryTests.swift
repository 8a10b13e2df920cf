import EnrolledTemplates
import Owners
import Simulation
import Synchronization
import Testing

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport

/// Biometry of an account that has ended.
@Suite("Biometry that was stopped", .timeLimit(.minutes(10)))
struct EndedBiometryTests {
    /// Counts the followers of the set.
    private final class Templates: EnrolledSetSource {
        private let count = Mutex(0)
        var followerCount: Int { count.withLock { $0 } }

        func enrolledSet() -> EnrolledSet { .none }

        func followEnrolledSet(_ tell: @escaping @Sendable (EnrolledSet) -> Void) -> any EnrolledSetFollower {
            count.withLock { $0 += 1 }
            return Follower()
        }

        private final class Follower: EnrolledSetFollower {
            func stop() {}
        }
    }

    @Test(arguments: [false, true])
    func `begins to follow nothing`(isStopped: Bool) throws {
        let templates = Templates()
        let fixture = try BrokerFixture(
            fingers: FingerSources(BiometrySources(reader: SimulatedReader(), templates: templates)))
        let biometry = try #require(fixture.account.biometry)
        _ = biometry.state()
        if isStopped { biometry.stop() }
        biometry.follow()
        #expect(templates.followerCount == (isStopped ? 0 : 1))
    }
}
