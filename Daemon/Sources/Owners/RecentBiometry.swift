import AccessControl
package import Authenticators
package import Foundation
import Synchronization

/// When biometry was last proved for a user, by whichever program, so that a policy whose program allows it asks nobody again
/// for a short time. It stands for no key, and opens nothing.
package final class RecentBiometry: Sendable {
    /// Apple's `LATouchIDAuthenticationMaximumAllowableReuseDuration`.
    package static let longestReuse = Duration.seconds(300)

    /// A proof as logs and messages have it.
    package struct Proved {
        package let factorName: String
        package let strength: String
    }

    private struct Moment {
        let time: Duration
        let proved: Proved
        let enrolledSet: Data?
    }

    private let last = Mutex<Moment?>(nil)

    /// Notes the evaluation if biometry was proved for it; what was held from before is no new proof.
    ///
    /// - Parameter enrolledSet: that of now.
    package func note(_ evaluation: Evaluation, at time: Duration, enrolledSet: Data?) {
        let proof = evaluation.proofs.first { FactorSet($0.factor).satisfies(.biometry) }
        guard let proof else { return }
        let proved = Proved(
            factorName: proof.sensor == nil ? Factor.biometry.name : proof.factorName,
            strength: proof.strength.rawValue)
        last.withLock { $0 = Moment(time: time, proved: proved, enrolledSet: enrolledSet) }
    }

    /// A proof that is at most `seconds` old and of the same enrolled set; nil when there is none.
    package func proof(within seconds: Double, at now: Duration, enrolledSet: Data?) -> Proved? {
        // Not for a number that is none.
        guard seconds > 0 else { return nil }
        let longest = seconds < Self.longestReuse / .seconds(1) ? Duration.seconds(seconds) : Self.longestReuse
        return last.withLock { last in
            guard let last, now - last.time <= longest, last.enrolledSet == enrolledSet else { return nil }
            return last.proved
        }
    }

    /// Nothing counts any more that was proved before.
    package func forget() { last.withLock { $0 = nil } }
}
