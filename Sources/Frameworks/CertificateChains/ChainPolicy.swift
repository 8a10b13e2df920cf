@_implementationOnly import CCryptoBoringSSL
import Foundation

/// What a chain is verified for.
package enum ChainPolicy: Equatable, Sendable {
    /// The rules of X.509 alone (RFC 5280, section 6).
    case basic
    /// A TLS server, and the host that it must be for; nil for any.
    case server(host: String?)
    case client
}

extension ChainPolicy {
    /// The numbers of BoringSSL; nil where no purpose is asked for.
    var purpose: CInt? {
        switch self {
        case .basic: nil
        case .server: X509_PURPOSE_SSL_SERVER
        case .client: X509_PURPOSE_SSL_CLIENT
        }
    }

    /// The bits that an RSA key has at least.
    private var rsaBitCount: CInt {
        switch self {
        case .basic: 1024
        case .server, .client: 2048
        }
    }

    /// Whether a signature of this kind counts.
    private func accepts(signature kind: CInt) -> Bool {
        switch kind {
        case NID_sha1WithRSAEncryption, NID_sha1WithRSA, NID_ecdsa_with_SHA1: self == .basic
        default: true
        }
    }

    /// The rules for a chain that BoringSSL has found good. Those for servers are Apple's of 2019 and 2020.
    ///
    /// - Parameter isAnchoredBySystem: the chain ends at a certificate that the system trusts.
    func failure(of chain: [OpaquePointer], isAnchoredBySystem: Bool) -> ChainFailure? {
        for (depth, certificate) in chain.enumerated() {
            if isKeyWeak(certificate) { return ChainFailure(.weakKey, at: depth) }
            // Nobody relies on the signature of an anchor.
            guard depth < chain.count - 1 else { continue }
            if !accepts(signature: CCryptoBoringSSL_X509_get_signature_nid(certificate)) {
                return ChainFailure(.weakDigest, at: depth)
            }
        }
        guard let leaf = chain.first, let purpose else { return nil }
        // BoringSSL asks this of certificates below an anchor only, and the first one may be an anchor.
        guard CCryptoBoringSSL_X509_check_purpose(leaf, purpose, 0) == 1 else { return ChainFailure(.purpose, at: 0) }
        return serverFailure(of: leaf, isAnchoredBySystem: isAnchoredBySystem)
    }

    private func isKeyWeak(_ certificate: OpaquePointer) -> Bool {
        guard let key = CCryptoBoringSSL_X509_get0_pubkey(certificate) else { return true }
        return CCryptoBoringSSL_EVP_PKEY_id(key) == EVP_PKEY_RSA && CCryptoBoringSSL_EVP_PKEY_bits(key) < rsaBitCount
    }

    // MARK: servers

    /// 2019-07-01: from then on Apple asks for the purpose, and for at most 825 days.
    private static let purposeNeeded: Int64 = 1_561_939_200
    /// 2020-09-01: from then on a certificate below one of the system's anchors has at most 398 days.
    private static let shortNeeded: Int64 = 1_598_918_400
    private static let secondsPerDay: Int64 = 86_400

    private func serverFailure(of leaf: OpaquePointer, isAnchoredBySystem: Bool) -> ChainFailure? {
        guard case .server = self else { return nil }
        var (start, end): (Int64, Int64) = (0, 0)
        guard CCryptoBoringSSL_ASN1_TIME_to_posix(CCryptoBoringSSL_X509_get0_notBefore(leaf), &start) == 1,
            CCryptoBoringSSL_ASN1_TIME_to_posix(CCryptoBoringSSL_X509_get0_notAfter(leaf), &end) == 1
        else { return ChainFailure(.malformed, at: 0) }
        guard start >= Self.purposeNeeded else { return nil }
        guard CCryptoBoringSSL_X509_get_ext_by_NID(leaf, NID_ext_key_usage, -1) >= 0 else {
            return ChainFailure(.purpose, at: 0)
        }
        let dayCount: Int64 = isAnchoredBySystem && start >= Self.shortNeeded ? 398 : 825
        return end - start > dayCount * Self.secondsPerDay ? ChainFailure(.lifetime, at: 0) : nil
    }
}
