import Crypto
import Foundation

/// The `openssl` program as an independent opinion on public keys, signatures and key agreement.
struct OpenSSL {
    private let directory = ScratchDirectory()

    init() throws { try directory.make() }

    /// Whether `signature` (64 bytes, `r || s`) over `digest` is valid for `publicKey` (65 bytes).
    func accepts(_ signature: Data, forDigest digest: Data, publicKey: Data) throws -> Bool {
        let key = try directory.write(Self.subjectPublicKeyInfo(publicKey), named: "key.der")
        let digestFile = try directory.write(digest, named: "digest")
        let encoded = try P256.Signing.ECDSASignature(rawRepresentation: signature).derRepresentation
        let signatureFile = try directory.write(encoded, named: "signature")
        return try run([
            "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", key, "-in", digestFile, "-sigfile",
            signatureFile,
        ])
    }

    /// Makes a key pair of its own and agrees with `publicKey`: the own public key and the shared value.
    func agree(withPublicKey publicKey: Data) throws -> (publicKey: Data, secret: Data) {
        let other = try directory.write(Self.subjectPublicKeyInfo(publicKey), named: "other.der")
        let own = directory.path("own.pem")
        let ownPublic = directory.path("own.der")
        let secret = directory.path("secret")
        let steps = [
            ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", own],
            ["pkey", "-in", own, "-pubout", "-outform", "DER", "-out", ownPublic],
            ["pkeyutl", "-derive", "-inkey", own, "-peerform", "DER", "-peerkey", other, "-out", secret],
        ]
        for arguments in steps where try !run(arguments) { throw Failure(command: arguments[0]) }
        return (
            try Data(contentsOf: URL(fileURLWithPath: ownPublic)).suffix(65),
            try Data(contentsOf: URL(fileURLWithPath: secret))
        )
    }

    struct Failure: Error {
        let command: String
    }

    private func run(_ arguments: [String]) throws -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    /// RFC 5480: `id-ecPublicKey`, `prime256v1`, then the point. Written out, so that no library of ours stands
    /// between.
    private static func subjectPublicKeyInfo(_ point: Data) -> Data {
        let header: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48,
            0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
        ]
        return Data(header) + point
    }
}
