// Chains are built and verified by the BoringSSL that swift-crypto carries and links anyway (decision 0074). This module
// builds no path and verifies no signature itself.
@_implementationOnly import CCryptoBoringSSL
package import Foundation

/// What came of verifying a chain.
package struct ChainVerdict: Sendable {
    /// The certificates from the first one up, DER: the whole chain if it is trusted, else as far as it was found.
    package let chain: [Data]
    /// Nil for a chain that is trusted.
    package let failure: ChainFailure?
}

/// A certificate with what is needed to find out whether to trust it.
package struct ChainVerification: Sendable {
    /// The certificate, and then those that may stand between it and an anchor, in any order; DER.
    package var certificates: [Data]
    /// Certificates that are trusted, whatever issued them; DER.
    package var anchors: [Data] = []
    /// The anchors of the system; nil for none.
    package var systemAnchors: Certificates?
    package var date: Date
    package var policy: ChainPolicy

    package init(certificates: [Data], policy: ChainPolicy, date: Date = Date()) {
        self.certificates = certificates
        self.policy = policy
        self.date = date
    }

    /// Builds the chain and verifies it. Asks nobody and reads no file.
    package func verdict() -> ChainVerdict {
        guard let certificates = Certificates(der: certificates), let leaf = certificates.first(where: { _ in true }),
            let anchors = Certificates(der: anchors)
        else { return refusal(.malformed) }
        guard isHostName else { return refusal(.hostMismatch) }
        guard let store = CCryptoBoringSSL_X509_STORE_new(), let run = CCryptoBoringSSL_X509_STORE_CTX_new() else {
            return refusal(.outOfMemory)
        }
        defer {
            CCryptoBoringSSL_X509_STORE_CTX_free(run)
            CCryptoBoringSSL_X509_STORE_free(store)
        }
        guard Self.add(anchors, to: store), systemAnchors.map({ Self.add($0, to: store) }) ?? true,
            CCryptoBoringSSL_X509_STORE_CTX_init(run, store, leaf, certificates.stack) == 1, setParameters(of: run)
        else { return refusal(.outOfMemory) }
        return withExtendedLifetime((certificates, anchors)) { verdict(of: run) }
    }

    /// Whether the host that is asked for, if there is one, can be a host at all: an address, or labels of letters, digits, `-` and
    /// `_`, with a dot at the end or without. BoringSSL would take a star for the same star in a certificate, read a text up to its
    /// first zero character, and take nothing for any host.
    private var isHostName: Bool {
        guard case .server(let host?) = policy else { return true }
        guard !host.utf8.contains(UInt8(ascii: ":")) else {
            return host.utf8.allSatisfy {
                Self.isDigit($0, radix: 16) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
            }
        }
        let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let named = labels.count > 1 && labels.last?.isEmpty == true ? labels.dropLast() : labels[...]
        return named.allSatisfy { label in
            !label.isEmpty
                && label.allSatisfy {
                    Self.isDigit($0, radix: 36) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
                }
        }
    }

    /// Whether the byte is a digit: a letter too, if the radix has so many.
    private static func isDigit(_ byte: UInt8, radix: Int) -> Bool {
        byte < 0x80 && Int(String(UnicodeScalar(byte)), radix: radix) != nil
    }

    private func refusal(_ reason: ChainFailure.Reason) -> ChainVerdict {
        ChainVerdict(chain: Array(certificates.prefix(1)), failure: ChainFailure(reason, at: 0))
    }

    private static func add(_ certificates: Certificates, to store: OpaquePointer) -> Bool {
        certificates.allSatisfy { CCryptoBoringSSL_X509_STORE_add_cert(store, $0) == 1 }
    }

    private func setParameters(of run: OpaquePointer) -> Bool {
        guard let parameters = CCryptoBoringSSL_X509_STORE_CTX_get0_param(run) else { return false }
        CCryptoBoringSSL_X509_VERIFY_PARAM_set_time_posix(parameters, Int64(clamping: date.timeIntervalSince1970))
        // An anchor ends the chain even if another certificate issued it.
        let flags = UInt(X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN)
        guard CCryptoBoringSSL_X509_VERIFY_PARAM_set_flags(parameters, flags) == 1 else { return false }
        if let purpose = policy.purpose {
            guard CCryptoBoringSSL_X509_VERIFY_PARAM_set_purpose(parameters, purpose) == 1 else { return false }
        }
        guard case .server(let host?) = policy else { return true }
        return set(host, in: parameters)
    }

    private func set(_ host: String, in parameters: OpaquePointer) -> Bool {
        // An address of the network is compared with addresses, never with names.
        if CCryptoBoringSSL_X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1 { return true }
        CCryptoBoringSSL_ERR_clear_error()
        CCryptoBoringSSL_X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        return CCryptoBoringSSL_X509_VERIFY_PARAM_set1_host(parameters, name, name.utf8.count) == 1
    }

    private func verdict(of run: OpaquePointer) -> ChainVerdict {
        let isGood = CCryptoBoringSSL_X509_verify_cert(run) == 1
        CCryptoBoringSSL_ERR_clear_error()
        let chain = Self.chain(of: run)
        let bytes = chain.map(Certificates.bytes)
        guard isGood else {
            let depth = Int(CCryptoBoringSSL_X509_STORE_CTX_get_error_depth(run))
            let reason = ChainFailure.Reason(CCryptoBoringSSL_X509_STORE_CTX_get_error(run))
            return ChainVerdict(chain: bytes, failure: ChainFailure(reason, at: depth))
        }
        let isAnchoredBySystem = bytes.last.map { !anchors.contains($0) } ?? false
        return ChainVerdict(
            chain: bytes, failure: policy.failure(of: chain, isAnchoredBySystem: isAnchoredBySystem))
    }

    private static func chain(of run: OpaquePointer) -> [OpaquePointer] {
        guard let stack = CCryptoBoringSSL_X509_STORE_CTX_get0_chain(run) else { return [] }
        return (0..<CCryptoBoringSSL_sk_X509_num(stack)).compactMap { CCryptoBoringSSL_sk_X509_value(stack, $0) }
    }
}

extension Int64 {
    /// The nearest whole number, for times far away.
    fileprivate init(clamping seconds: TimeInterval) {
        self = Int64(exactly: seconds.rounded()) ?? (seconds < 0 ? .min : .max)
    }
}
