@_implementationOnly import CCryptoBoringSSL

/// Why a chain is not trusted.
package struct ChainFailure: Error, Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        case expired
        case notYetValid
        /// The certificate is not for the host that was asked for.
        case hostMismatch
        /// The issuer of the last certificate is neither among the certificates nor among the anchors. An authority whose
        /// key must not sign certificates counts as no issuer.
        case missingIssuer
        /// The chain ends at a certificate that signed itself and is no anchor.
        case untrustedAnchor
        /// More authorities below an authority than it permits.
        case pathLength
        /// A certificate above the first one that is no authority.
        case notAuthority
        /// The certificate is not for servers, or not for clients.
        case purpose
        /// A name that an authority above must not certify, or one that cannot be compared with its limits.
        case nameConstraints
        /// An extension that must be understood and is not.
        case criticalExtension
        case signature
        /// A signature with SHA-1 or an older digest.
        case weakDigest
        case weakKey
        /// Valid for longer than servers' certificates may be.
        case lifetime
        case policies
        /// An extension or a time that cannot be read.
        case malformed
        case outOfMemory
    }

    package let reason: Reason
    /// Which certificate of the chain: 0 for the one that was to be verified.
    package let depth: Int

    init(_ reason: Reason, at depth: Int) {
        self.reason = reason
        self.depth = depth
    }
}

extension ChainFailure.Reason {
    /// - Parameter error: one of BoringSSL's `X509_V_ERR_…`.
    init(_ error: CInt) {
        self =
            switch error {
            case X509_V_ERR_CERT_HAS_EXPIRED: .expired
            case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid
            case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: .hostMismatch
            case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
                X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_CHAIN_TOO_LONG:
                .missingIssuer
            case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
                X509_V_ERR_CERT_UNTRUSTED, X509_V_ERR_CERT_REJECTED:
                .untrustedAnchor
            case X509_V_ERR_PATH_LENGTH_EXCEEDED: .pathLength
            case X509_V_ERR_INVALID_CA: .notAuthority
            case X509_V_ERR_INVALID_PURPOSE: .purpose
            case X509_V_ERR_PERMITTED_VIOLATION, X509_V_ERR_EXCLUDED_VIOLATION, X509_V_ERR_SUBTREE_MINMAX,
                X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE, X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX,
                X509_V_ERR_UNSUPPORTED_NAME_SYNTAX, X509_V_ERR_NAME_CONSTRAINTS_WITHOUT_SANS:
                .nameConstraints
            case X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION: .criticalExtension
            case X509_V_ERR_CERT_SIGNATURE_FAILURE, X509_V_ERR_UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY: .signature
            case X509_V_ERR_INVALID_POLICY_EXTENSION, X509_V_ERR_NO_EXPLICIT_POLICY: .policies
            case X509_V_ERR_OUT_OF_MEM: .outOfMemory
            default: .malformed
            }
    }
}
