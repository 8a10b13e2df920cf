public import Foundation
import SwiftASN1
import X509

/// A relying party's demands on attestations, and the anchors that it trusts.
public struct AttestationPolicy: Sendable {
    public enum Requirement: Sendable {
        /// Every statement that verifies is taken, also none at all. ``Registration/trust`` tells its strength.
        case any
        /// Only statements whose certificates lead to an anchor of their format are taken.
        case anchored
    }

    public var requirement: Requirement
    private let anchors: [AttestationFormat: [Certificate]]
    private let metadata: AuthenticatorMetadata?
    private let refusedStatuses: Set<AuthenticatorStatus>

    /// Takes every statement that verifies, and trusts none.
    public init() {
        requirement = .any
        anchors = [:]
        metadata = nil
        refusedStatuses = []
    }

    /// - Parameters:
    ///   - anchors: certificates in DER for each format, of authorities or of single models.
    ///   - metadata: the list of the FIDO Alliance. A model's attestations may also lead to the certificates that the list has
    ///     for it, and to no other model's.
    ///   - refusedStatuses: an authenticator that names a model with such a report is refused, whatever ``requirement`` says. Only
    ///     with ``Requirement/anchored`` must it name its own: with ``Requirement/any`` it may send another model's bytes, or a
    ///     browser none, and no attestation.
    /// - Throws: ``AttestationError/certificateUnreadable(_:)`` for an anchor that is no certificate, with its place in
    ///   the list of its format.
    public init(
        _ requirement: Requirement, anchors: [AttestationFormat: [Data]] = [:],
        metadata: AuthenticatorMetadata? = nil, refusedStatuses: Set<AuthenticatorStatus> = .compromised
    ) throws(AttestationError) {
        self.requirement = requirement
        self.metadata = metadata
        self.refusedStatuses = refusedStatuses
        var read: [AttestationFormat: [Certificate]] = [:]
        for (format, list) in anchors {
            for (index, der) in list.enumerated() {
                do {
                    read[format, default: []].append(try Certificate(derEncoded: [UInt8](der)))
                } catch {
                    throw .certificateUnreadable(index)
                }
            }
        }
        self.anchors = read
    }

    /// Whether the client must be asked for the authenticator's attestation.
    var needsAttestation: Bool { requirement == .anchored || metadata != nil }

    struct Verdict {
        let trust: AttestationTrust
        let model: AuthenticatorModel?
    }

    /// - Parameter model: the AAGUID, if the statement covers it.
    func judge(
        _ evidence: AttestationEvidence, _ format: AttestationFormat, model aaguid: ArraySlice<UInt8>?, at date: Date
    ) async throws(AttestationError) -> Verdict {
        let certificates: [Certificate] = if case .certificates(let list) = evidence { list } else { [] }
        let model = metadata?.model(aaguid: aaguid, certificate: certificates.first)
        if let report = model?.report(in: refusedStatuses, certificates: certificates) {
            throw .authenticatorStatus(report.status)
        }
        let trust: AttestationTrust
        switch evidence {
        case .none: trust = .none
        case .credentialKey: trust = .credentialKey
        case .certificates(let certificates):
            let anchors = (anchors[format] ?? []) + (model?.roots ?? [])
            trust = await Self.leads(certificates, to: anchors, format, at: date) ? .anchored : .certificate
        }
        guard requirement == .any || trust == .anchored else { throw .untrusted }
        return Verdict(trust: trust, model: model)
    }

    /// Whether the first certificate is an anchor itself, or leads to one (WebAuthn Level 3, section 7.1, step 24).
    private static func leads(
        _ certificates: [Certificate], to anchors: [Certificate], _ format: AttestationFormat, at date: Date
    ) async -> Bool {
        guard let leaf = certificates.first else { return false }
        // swift-certificates takes only authorities for the end of a chain.
        if anchors.contains(leaf) { return leaf.notValidBefore <= date && date <= leaf.notValidAfter }
        return await CertificateChain(leaf, others: Array(certificates.dropFirst())).isAnchored(
            in: anchors, at: date, checkedExtensions: format.checkedExtensions, allowsSHA1: format == .tpm)
    }
}

/// How much an attestation says about the authenticator.
public enum AttestationTrust: String, Sendable, Codable {
    /// There is no attestation.
    case none
    /// The credential's own key signed, which says nothing about the authenticator.
    case credentialKey
    /// A certificate's key signed; the certificate leads to no anchor.
    case certificate
    /// A certificate's key signed, and the certificate leads to an anchor or is one.
    case anchored
}

extension AttestationFormat {
    /// Extensions that may be critical, because the format's own rules check them.
    fileprivate var checkedExtensions: [ASN1ObjectIdentifier] {
        self == .tpm ? [.X509ExtensionID.subjectAlternativeName, .X509ExtensionID.extendedKeyUsage] : []
    }
}
