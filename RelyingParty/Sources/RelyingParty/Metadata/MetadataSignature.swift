import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import X509

/// The signed form of the list: a JSON Web Signature with the signer's certificates in its header (RFC 7515).
struct MetadataSignature {
    private struct Header: Decodable {
        let alg: String
        let x5c: [String]?
    }

    /// What was signed: the first two parts and the dot between them.
    private let message: Data
    private let signature: Data
    private let algorithm: String
    private let certificates: [Certificate]
    let payload: Data

    init(_ jwt: Data) throws(MetadataError) {
        guard jwt.count <= Limits.metadataByteCount else { throw .tooLong(jwt.count) }
        guard let text = String(data: jwt, encoding: .utf8) else { throw .notSigned }
        // Editors and transfers like to end a file with a new line.
        let parts = text.trimmingCharacters(in: .whitespacesAndNewlines)
            .split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Data(base64URLEncoded: String(parts[0])),
            let payload = Data(base64URLEncoded: String(parts[1])),
            let signature = Data(base64URLEncoded: String(parts[2]))
        else { throw .notSigned }
        guard let header = try? JSONDecoder().decode(Header.self, from: header) else { throw .headerUnreadable }
        self.payload = payload
        self.signature = signature
        message = Data(parts[0].utf8) + Data(".".utf8) + Data(parts[1].utf8)
        algorithm = header.alg
        certificates = try Self.certificates(header.x5c ?? [])
    }

    private static func certificates(_ list: [String]) throws(MetadataError) -> [Certificate] {
        guard (1...Limits.certificateCount).contains(list.count) else { throw .certificateCount(list.count) }
        var certificates: [Certificate] = []
        for (index, text) in list.enumerated() {
            guard let der = Data(base64Encoded: text), let certificate = try? Certificate(derEncoded: [UInt8](der))
            else {
                throw .certificateUnreadable(index)
            }
            certificates.append(certificate)
        }
        return certificates
    }

    /// Requires that `signer` signed the payload, with a key whose certificate leads to one of `roots`.
    func verify(signer: String, roots: [Data], at date: Date) async throws(MetadataError) {
        var anchors: [Certificate] = []
        for (index, der) in roots.enumerated() {
            guard let root = try? Certificate(derEncoded: [UInt8](der)) else { throw .rootUnreadable(index) }
            anchors.append(root)
        }
        let leaf = certificates[0]
        // The roots of the list's authority sign certificates for everybody.
        guard Self.isCertificate(leaf, for: signer) else { throw .signerMismatch }
        let chain = CertificateChain(leaf, others: Array(certificates.dropFirst()))
        guard await chain.isAnchored(in: anchors, at: date, checkedExtensions: [], allowsSHA1: false) else {
            throw .untrusted
        }
        guard try isSigned(by: leaf) else { throw .signatureInvalid }
    }

    private static func isCertificate(_ certificate: Certificate, for name: String) -> Bool {
        guard let names = try? certificate.extensions.subjectAlternativeNames else { return false }
        return names.contains {
            guard case .dnsName(let other) = $0 else { return false }
            return other.lowercased().utf8.elementsEqual(name.lowercased().utf8)
        }
    }

    private func isSigned(by certificate: Certificate) throws(MetadataError) -> Bool {
        switch algorithm {
        case "RS256":
            guard let key = _RSA.Signing.PublicKey(certificate.publicKey) else { throw .algorithm(algorithm) }
            let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
            return key.isValidSignature(signature, for: SHA256.hash(data: message), padding: .insecurePKCS1v1_5)
        case "ES256":
            guard let key = P256.Signing.PublicKey(certificate.publicKey) else { throw .algorithm(algorithm) }
            guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: SHA256.hash(data: message))
        default: throw .algorithm(algorithm)
        }
    }
}
