import CanonicalCBOR
import Crypto
public import Foundation
import RelyingParty
import SwiftASN1
import X509

/// The attestation key of a machine, before the machine proved that it has it (`ostiary attest enroll`).
///
/// The enrolment has a certificate of the machine's TPM. A server that trusts its maker encrypts a secret to this TPM and this
/// key, and gets the secret back only from the TPM that has both. Each server does that once for a machine.
public struct AttestationKeyEnrollment: Sendable {
    private let attestationKey: [UInt8]
    private let parentName: [UInt8]
    private let certificate: Data
    private let endorsementKey: EndorsementKey

    /// Reads an enrolment and checks the TPM's certificate.
    ///
    /// - Parameters:
    ///   - anchors: certificates in DER of the makers of TPMs that the server trusts.
    ///   - intermediates: certificates in DER between those and the ones in TPMs. Makers offer them for download.
    /// - Throws: ``RightAttestationError``.
    public init(
        _ enrollment: Data, anchors: [Data], intermediates: [Data] = [], at date: Date = Date()
    ) async throws(RightAttestationError) {
        let reader = try DocumentReader(
            enrollment, .enrollment, format: "ostiary-tpm-enrollment", members: ["ak", "akParent", "ek", "ekCert"])
        attestationKey = try reader.bytes("ak")
        parentName = try reader.bytes("akParent")
        let bytes = try reader.bytes("ekCert")
        certificate = Data(bytes)
        guard parentName.count == TPMName.byteCount,
            try KeyArea.attestationKey.key(in: attestationKey, .enrollment)?.p256Point != nil
        else { throw .attestationKey }
        let leaf = try Self.endorsementCertificate(bytes)
        let chain = CertificateChain(leaf, others: try Self.certificates(intermediates))
        guard
            await chain.isAnchored(
                in: try Self.certificates(anchors), at: date,
                checkedExtensions: [.X509ExtensionID.subjectAlternativeName, .X509ExtensionID.extendedKeyUsage],
                allowsSHA1: true)
        else { throw .untrusted }
        guard let key = try EndorsementKey(in: try reader.bytes("ek")), key.isKey(of: leaf) else {
            throw .endorsementKey
        }
        endorsementKey = key
    }

    private static func certificates(_ list: [Data]) throws(RightAttestationError) -> [Certificate] {
        var certificates: [Certificate] = []
        for (index, der) in list.enumerated() {
            do {
                certificates.append(try Certificate(derEncoded: [UInt8](der)))
            } catch {
                throw .anchorUnreadable(index)
            }
        }
        return certificates
    }

    /// tcg-kp-EKCertificate.
    private static let usage: ASN1ObjectIdentifier = [2, 23, 133, 8, 1]

    /// TCG EK Credential Profile for TPM 2.0, section 3.2: for encryption to endorsement keys, and no authority's.
    private static func endorsementCertificate(_ bytes: [UInt8]) throws(RightAttestationError) -> Certificate {
        do {
            let certificate = try Certificate(derEncoded: bytes)
            guard let usages = try certificate.extensions.extendedKeyUsage,
                usages.contains(ExtendedKeyUsage.Usage(oid: usage))
            else { throw RightAttestationError.endorsementCertificate }
            if case .isCertificateAuthority? = try certificate.extensions.basicConstraints {
                throw RightAttestationError.endorsementCertificate
            }
            return certificate
        } catch {
            throw .endorsementCertificate
        }
    }

    /// A secret that only the TPM with this attestation key opens, and the server's record until the secret comes back.
    ///
    /// Each call makes a new secret. Send the credential to the machine (`ostiary attest activate`).
    public func challenge() throws(RightAttestationError) -> (credential: Data, pending: PendingAttestationKey) {
        let secret = unsafe SymmetricKey(size: .bits256).withUnsafeBytes { unsafe Data($0) }
        guard
            let credential = endorsementKey.credential(with: secret, for: TPMName.of(attestationKey))
        else { throw .endorsementKey }
        let key = KnownAttestationKey(
            area: attestationKey, parentName: parentName, certificateDigest: Data(SHA256.hash(data: certificate)))
        return (credential, PendingAttestationKey(key: key, secretDigest: Data(SHA256.hash(data: secret))))
    }
}

/// An attestation key whose TPM was sent a secret.
public struct PendingAttestationKey: Sendable, Equatable {
    private let key: KnownAttestationKey
    private let secretDigest: Data

    init(key: KnownAttestationKey, secretDigest: Data) {
        (self.key, self.secretDigest) = (key, secretDigest)
    }

    /// Reads the bytes of ``stored``. Keep them where only the server writes, and remove them after use.
    public init(stored: Data) throws(RightAttestationError) {
        let reader = try DocumentReader(
            stored, .pendingKey, format: "ostiary-tpm-pending", members: ["key", "secret"])
        key = try KnownAttestationKey(stored: Data(try reader.bytes("key")))
        secretDigest = Data(try reader.bytes("secret"))
    }

    /// Holds no secret, only the digest of one.
    public var stored: Data {
        Data(
            CBORValue.map([
                "fmt": .text("ostiary-tpm-pending"), "ver": .number(1), "key": .bytes([UInt8](key.stored)),
                "secret": .bytes([UInt8](secretDigest)),
            ]).encoded)
    }

    /// The key, once its TPM gave the secret back.
    ///
    /// - Throws: ``RightAttestationError/wrongSecret``.
    public func confirmed(by secret: Data) throws(RightAttestationError) -> KnownAttestationKey {
        guard SHA256.hash(data: secret) == secretDigest else { throw .wrongSecret }
        return key
    }
}

/// An attestation key that a server knows to be in a TPM that it trusts.
public struct KnownAttestationKey: Sendable, Equatable {
    private let area: [UInt8]
    private let parentName: [UInt8]
    /// SHA-256 of the TPM's certificate. It names the machine for good.
    public let certificateDigest: Data

    init(area: [UInt8], parentName: [UInt8], certificateDigest: Data) {
        self.area = area
        self.parentName = parentName
        self.certificateDigest = certificateDigest
    }

    /// Reads the bytes of ``stored``. Anyone who can write them decides which TPMs are trusted.
    public init(stored: Data) throws(RightAttestationError) {
        let reader = try DocumentReader(
            stored, .knownKey, format: "ostiary-tpm-known-key", members: ["ak", "akParent", "ekCertDigest"])
        area = try reader.bytes("ak")
        parentName = try reader.bytes("akParent")
        certificateDigest = Data(try reader.bytes("ekCertDigest"))
        _ = try signingKey
    }

    public var stored: Data {
        Data(
            CBORValue.map([
                "fmt": .text("ostiary-tpm-known-key"), "ver": .number(1), "ak": .bytes(area),
                "akParent": .bytes(parentName), "ekCertDigest": .bytes([UInt8](certificateDigest)),
            ]).encoded)
    }

    var signingKey: P256.Signing.PublicKey {
        get throws(RightAttestationError) {
            guard let point = try KeyArea.attestationKey.key(in: area, .knownKey)?.p256Point else {
                throw .attestationKey
            }
            do { return try P256.Signing.PublicKey(x963Representation: point) } catch { throw .attestationKey }
        }
    }

    /// The name along with its place in the endorsement hierarchy. A TPM tells its counters of restarts in the clear only to
    /// keys there.
    var qualifiedName: [UInt8] {
        TPMName.qualified(
            TPMName.of(area), below: TPMName.qualified(parentName, below: TPMName.endorsementHierarchy))
    }
}
