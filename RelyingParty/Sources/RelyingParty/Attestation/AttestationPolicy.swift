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

    /// Takes every statement that verifies, and trusts none.
    public init() {
        requirement = .any
        anchors = [:]
    }

    /// - Parameter anchors: certificates in DER for each format, of authorities or of single models.
    /// - Throws: ``AttestationError/certificateUnreadable(_:)`` for an anchor that is no certificate, with its place in
    ///   the list of its format.
    public init(
        _ requirement: Requirement, anchors: [AttestationFormat: [Data]]
    ) throws(AttestationError) {
        self.requirement = requirement
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

    func judge(
        _ evidence: AttestationEvidence, _ format: AttestationFormat, at date: Date
    ) async throws(AttestationError) -> AttestationTrust {
        let trust: AttestationTrust
        switch evidence {
        case .none: trust = .none
        case .credentialKey: trust = .credentialKey
        case .certificates(let certificates):
            trust = await isAnchored(certificates, format, at: date) ? .anchored : .certificate
        }
        guard requirement == .any || trust == .anchored else { throw .untrusted }
        return trust
    }

    private func isAnchored(_ certificates: [Certificate], _ format: AttestationFormat, at date: Date) async -> Bool {
        guard let anchors = anchors[format], let leaf = certificates.first else { return false }
        return await CertificateChain(leaf, others: Array(certificates.dropFirst())).isAnchored(
            in: anchors, at: date, checkedExtensions: format.checkedExtensions)
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
    /// A certificate's key signed, and the certificate leads to an anchor.
    case anchored
}

extension AttestationFormat {
    /// Extensions that may be critical, because the format's own rules check them.
    fileprivate var checkedExtensions: [ASN1ObjectIdentifier] {
        self == .tpm ? [.X509ExtensionID.subjectAlternativeName, .X509ExtensionID.extendedKeyUsage] : []
    }
}
