import CertificateChains
import CertificateReading
public import Foundation
import Synchronization

/// A question whether to trust a certificate, and its answer (Apple's `SecTrust`): certificates, policies, anchors and a date.
///
/// The answer is found when somebody asks for it, and kept until something is set. Nothing is fetched from the network, and
/// nobody is asked whether a certificate was revoked.
public final class SecTrust: NSObject, Sendable {
    struct Question: Sendable {
        /// The certificate that is asked about, and then those that may stand above it.
        let certificates: [SecCertificate]
        var policies: [SecPolicy]
        /// Nil for none that the program named.
        var anchors: [SecCertificate]?
        /// Whether the system's anchors are left out; nil when the program did not say.
        var leavesOutSystem: Bool?
        var date: Date?
        var isNetworkAllowed = true
        /// Where the system's anchors are.
        var systemAnchors = SystemAnchors.place
    }

    struct Answer: Sendable {
        let chain: [SecCertificate]
        /// Nil for a certificate that is trusted.
        let failure: TrustFailure?
        let date: Date
    }

    private struct State {
        var question: Question
        var answer: Answer?
    }

    private let state: Mutex<State>

    init(_ question: Question) {
        state = Mutex(State(question: question))
        super.init()
    }

    var question: Question { state.withLock { $0.question } }

    /// Changes the question; the answer to the former one is forgotten.
    func change(_ change: (inout Question) -> Void) {
        state.withLock { state in
            change(&state.question)
            state.answer = nil
        }
    }

    /// The answer that is kept, if there is one.
    var knownAnswer: Answer? { state.withLock { $0.answer } }

    /// The answer, found now if it is not known.
    func answer() -> Answer {
        if let answer = knownAnswer { return answer }
        let question = question
        let answer = question.answer()
        // Another thread may have changed the question meanwhile, which is then another one.
        state.withLock { state in
            if state.question.isSame(as: question) { state.answer = answer }
        }
        return answer
    }

    /// `<SecTrustRef: door.example>`.
    public override var description: String {
        "<SecTrustRef: \(question.certificates.first?.fields.subjectSummary ?? "")>"
    }
}

extension SecTrust.Question {
    fileprivate func isSame(as other: Self) -> Bool {
        policies == other.policies && anchors == other.anchors && leavesOutSystem == other.leavesOutSystem
            && date == other.date && systemAnchors == other.systemAnchors
    }

    /// As on Apple's systems, anchors of the program replace those of the system unless it says otherwise.
    private var usesSystem: Bool { !(leavesOutSystem ?? (anchors != nil)) }

    /// Every policy must be satisfied; the first one that is not tells why.
    fileprivate func answer() -> SecTrust.Answer {
        let moment = date ?? Date()
        var chain = Array(certificates.prefix(1))
        do {
            let system = try usesSystem ? SystemAnchors.load(from: systemAnchors) : nil
            for policy in policies {
                var verification = ChainVerification(
                    certificates: certificates.map(\.bytes), policy: policy.policy, date: moment)
                verification.anchors = anchors?.map(\.bytes) ?? []
                verification.systemAnchors = system
                let verdict = verification.verdict()
                let found = try verdict.chain.map { bytes in try SecCertificate(bytes) }
                if !found.isEmpty { chain = found }
                if let failure = verdict.failure {
                    return SecTrust.Answer(chain: chain, failure: TrustFailure(failure, chain, policy), date: moment)
                }
            }
            return SecTrust.Answer(chain: chain, failure: nil, date: moment)
        } catch {
            return SecTrust.Answer(chain: chain, failure: TrustFailure(error), date: moment)
        }
    }
}

/// Whether somebody may be trusted, as a number (Apple's `SecTrustResultType`).
public enum SecTrustResultType: UInt32, Sendable {
    /// Nothing was evaluated yet.
    case invalid = 0
    /// Trusted because a person said so; never here.
    case proceed = 1
    /// Not trusted because a person said so; never here.
    case deny = 3
    /// Trusted.
    case unspecified = 4
    /// Not trusted, for a reason that may pass or that a person could judge: a date, a host, an issuer.
    case recoverableTrustFailure = 5
    /// Not trusted.
    case fatalTrustFailure = 6
    /// The question could not be answered.
    case otherError = 7
}
