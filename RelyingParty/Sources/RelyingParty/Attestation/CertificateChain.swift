package import Foundation
package import SwiftASN1
@_spi(FixedExpiryValidationTime) package import X509

/// A certificate and others that may lead from it to an authority.
package struct CertificateChain {
    package let leaf: Certificate
    /// At most one for each subject.
    package let others: [Certificate]

    /// - Parameter others: in any order. Of several with the same subject only the first counts.
    package init(_ leaf: Certificate, others: [Certificate]) {
        // The search for a chain checks a signature for each order in which certificates can stand. With eight that all
        // name themselves as their issuer, a stranger would cost thousands of signatures. Each issuer that stands for one
        // certificate leaves one order.
        var subjects: Set<DistinguishedName> = []
        self.leaf = leaf
        self.others = others.filter { subjects.insert($0.subject).inserted }
    }

    /// Whether a chain leads to one of `anchors` (RFC 5280).
    ///
    /// - Parameters:
    ///   - checkedExtensions: extensions of the leaf that may be critical, because the caller checks them.
    ///   - allowsSHA1: whether an authority may have signed a certificate with SHA-1, as those of older TPMs did. Nobody verifies
    ///     how an anchor itself is signed.
    package func isAnchored(
        in anchors: [Certificate], at date: Date, checkedExtensions: [ASN1ObjectIdentifier], allowsSHA1: Bool
    ) async -> Bool {
        var verifier = Verifier(rootCertificates: CertificateStore(anchors)) {
            RFC5280Policy(fixedExpiryValidationTime: date)
            CheckedExtensions(identifiers: checkedExtensions)
            SignatureStrength(allowsSHA1: allowsSHA1)
        }
        let result = await verifier.validate(leaf: leaf, intermediates: CertificateStore(others))
        if case .validCertificate = result { return true }
        return false
    }
}

/// Says to the verifier of chains that these extensions were checked elsewhere.
private struct CheckedExtensions: VerifierPolicy {
    let identifiers: [ASN1ObjectIdentifier]

    var verifyingCriticalExtensions: [ASN1ObjectIdentifier] { identifiers }

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) -> PolicyEvaluationResult { .meetsPolicy }
}

/// Takes no certificate that is signed with a broken hash.
private struct SignatureStrength: VerifierPolicy {
    let allowsSHA1: Bool
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier] = []

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) -> PolicyEvaluationResult {
        guard !allowsSHA1, chain.dropLast().contains(where: { $0.signatureAlgorithm == .sha1WithRSAEncryption }) else {
            return .meetsPolicy
        }
        return .failsToMeetPolicy(reason: "A certificate is signed with SHA-1.")
    }
}
