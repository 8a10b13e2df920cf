import CryptoKit
public import Foundation
import IndependentTools
public import Security

/// Certificates of OpenSSL's for keys of ours, signed by a key of its own.
public struct CertificateMaker {
    private let folder: URL

    /// Makes that key; everything is put into `folder`.
    public init(in folder: URL) throws {
        self.folder = folder
        try openssl(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "authority.pem"])
    }

    /// A certificate of `name` for the public half of a key on P-256. Issuer and subject are the same.
    public func certificate(_ name: String, for key: SecKey, serial: Int = 1) throws -> SecCertificate {
        guard let publicKey = SecKeyCopyPublicKey(key), let bytes = SecKeyCopyExternalRepresentation(publicKey, nil)
        else {
            throw TestSupportError("The key has no public half to be read.")
        }
        let document = try P256.Signing.PublicKey(x963Representation: bytes as Data).pemRepresentation
        _ = try folder.file("public.pem", Data(document.utf8))
        try openssl([
            "x509", "-new", "-force_pubkey", "public.pem", "-key", "authority.pem", "-subj", "/CN=" + name,
            "-set_serial", "\(serial)", "-days", "2", "-outform", "DER", "-out", "certificate.der",
        ])
        return try read()
    }

    /// An RSA key of OpenSSL's and its certificate.
    public func identityWithRSAKey(_ name: String) throws -> SecIdentity {
        try openssl([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=" + name, "-keyout", "key.pem", "-outform",
            "DER", "-out", "certificate.der",
        ])
        try openssl(["rsa", "-in", "key.pem", "-traditional", "-outform", "DER", "-out", "key.der"])
        let parameters: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeyClass: kSecAttrKeyClassPrivate,
        ]
        let bytes = try Data(contentsOf: folder.appendingPathComponent("key.der"))
        guard let key = SecKeyCreateWithData(bytes as CFData, parameters as CFDictionary, nil),
            let identity = try SecIdentityCreate(nil, read(), key)
        else { throw TestSupportError("OpenSSL's key and certificate make no identity.") }
        return identity
    }

    private func read() throws -> SecCertificate {
        let bytes = try Data(contentsOf: folder.appendingPathComponent("certificate.der"))
        guard let certificate = SecCertificateCreateWithData(nil, bytes as CFData) else {
            throw TestSupportError("OpenSSL's certificate cannot be read.")
        }
        return certificate
    }

    private func openssl(_ arguments: [String]) throws {
        let files: Set = [
            "authority.pem", "public.pem", "certificate.der", "key.pem", "key.der",
        ]
        let placed = arguments.map { files.contains($0) ? folder.appendingPathComponent($0).path : $0 }
        let run = try IndependentTool.run("openssl", placed)
        guard run.status == 0 else { throw TestSupportError("openssl: \(run.diagnostics)") }
    }
}
