// A persisted right that signs a server's challenge, the way it is written for macOS.
//
//   sign-challenge CHALLENGE SIGNATURE PUBLIC-KEY
//
// reads CHALLENGE, writes the signature and the public key (PEM) that checks it.
import Foundation
import LocalAuthentication
import Security

@main
struct SignChallenge {
    static let identifier = "2fa"

    static func main() async throws {
        let paths = CommandLine.arguments.dropFirst().map { URL(fileURLWithPath: $0) }
        guard paths.count == 3 else {
            print("usage: sign-challenge CHALLENGE SIGNATURE PUBLIC-KEY")
            exit(2)
        }
        let challenge = try Data(contentsOf: paths[0])
        let right = try await persistedRight()
        try pem(of: try await right.key.publicKey.bytes).write(to: paths[2], atomically: true, encoding: .utf8)

        await showThatItIsRefused(right, challenge)
        try await right.authorize(localizedReason: "sign the server's challenge")
        let signature = try await right.key.sign(challenge, algorithm: .ecdsaSignatureMessageX962SHA256)
        try await right.key.publicKey.verify(
            challenge, signature: signature, algorithm: .ecdsaSignatureMessageX962SHA256)
        try signature.write(to: paths[1])
        print("Authorized and signed.")
    }

    /// The right of an earlier run, or a new one.
    static func persistedRight() async throws -> LAPersistedRight {
        do {
            return try await LARightStore.shared.right(forIdentifier: identifier)
        } catch {
            let right = LARight(requirement: .biometry(fallback: .devicePasscode))
            return try await LARightStore.shared.saveRight(right, identifier: identifier)
        }
    }

    static func showThatItIsRefused(_ right: LAPersistedRight, _ challenge: Data) async {
        do {
            _ = try await right.key.sign(challenge, algorithm: .ecdsaSignatureMessageX962SHA256)
            print("The key signed without authorization!")
            exit(1)
        } catch {
            print("Without authorization: \(error.localizedDescription)")
        }
    }

    /// SubjectPublicKeyInfo of a P-256 point (RFC 5480): a fixed header before the 65 bytes.
    static func pem(of point: Data) -> String {
        let header = Data([
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48,
            0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
        ])
        let text = (header + point).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN PUBLIC KEY-----\n\(text)\n-----END PUBLIC KEY-----\n"
    }
}
