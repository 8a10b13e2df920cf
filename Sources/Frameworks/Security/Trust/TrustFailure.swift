import CertificateChains
import CertificateReading
import Foundation

/// Why a certificate is not trusted, as Apple's calls report it.
struct TrustFailure: Sendable {
    let status: OSStatus
    let reason: String
    let result: SecTrustResultType

    /// - Parameter chain: as far as it was found.
    init(_ failure: ChainFailure, _ chain: [SecCertificate], _ policy: SecPolicy) {
        let name = chain.indices.contains(failure.depth) ? chain[failure.depth].fields.subjectSummary : ""
        (status, result) = Self.outcome(failure.reason)
        reason = "“\(name)” \(Self.words(failure.reason, policy))"
    }

    /// The question could not be answered.
    init(_ error: any Error) {
        let error =
            error as? StatusError ?? StatusError(errSecInternalComponent, "The certificate cannot be evaluated.")
        (status, reason, result) = (error.status, error.reason, .otherError)
    }

    var error: CFError { NSError.status(status, reason) }

    private static func outcome(_ reason: ChainFailure.Reason) -> (OSStatus, SecTrustResultType) {
        switch reason {
        case .expired: (errSecCertificateExpired, .recoverableTrustFailure)
        case .notYetValid: (errSecCertificateNotValidYet, .recoverableTrustFailure)
        case .hostMismatch: (errSecHostNameMismatch, .recoverableTrustFailure)
        case .missingIssuer: (errSecCreateChainFailed, .recoverableTrustFailure)
        case .untrustedAnchor: (errSecNotTrusted, .recoverableTrustFailure)
        case .pathLength: (errSecPathLengthConstraintExceeded, .fatalTrustFailure)
        case .notAuthority: (errSecNoBasicConstraintsCA, .fatalTrustFailure)
        case .purpose: (errSecInvalidExtendedKeyUsage, .fatalTrustFailure)
        case .nameConstraints: (errSecCertificateNameNotAllowed, .fatalTrustFailure)
        case .criticalExtension: (errSecUnknownCriticalExtensionFlag, .fatalTrustFailure)
        case .signature: (errSecInvalidSignature, .fatalTrustFailure)
        case .weakDigest: (errSecInvalidDigestAlgorithm, .fatalTrustFailure)
        case .weakKey: (errSecUnsupportedKeySize, .fatalTrustFailure)
        case .lifetime: (errSecCertificateValidityPeriodTooLong, .fatalTrustFailure)
        case .policies: (errSecInvalidPolicyIdentifiers, .fatalTrustFailure)
        case .malformed: (errSecDecode, .fatalTrustFailure)
        case .outOfMemory: (errSecAllocate, .otherError)
        }
    }

    private static func words(_ reason: ChainFailure.Reason, _ policy: SecPolicy) -> String {
        switch reason {
        case .expired: return "certificate has expired."
        case .notYetValid: return "certificate is not valid yet."
        case .hostMismatch:
            guard case .server(let host?) = policy.policy else { return "certificate is not for this host." }
            return "certificate is not for “\(host)”."
        case .missingIssuer:
            return "certificate was issued by nobody who is known here: a certificate of its issuer is missing."
        case .untrustedAnchor: return "certificate is not trusted."
        case .pathLength: return "certificate permits fewer authorities below it."
        case .notAuthority: return "certificate is not one of an authority, but issued another one."
        case .purpose: return "certificate is for another purpose."
        case .nameConstraints: return "certificate has a name that an authority above it does not permit."
        case .criticalExtension: return "certificate has a critical extension that is not known here."
        case .signature: return "certificate has a wrong signature."
        case .weakDigest: return "certificate is signed with a weak digest."
        case .weakKey: return "certificate has a weak key."
        case .lifetime: return "certificate is valid for too long."
        case .policies: return "certificate does not have the policies that an authority above it asks for."
        case .malformed: return "certificate cannot be read."
        case .outOfMemory: return "certificate was not evaluated: memory is used up."
        }
    }
}
