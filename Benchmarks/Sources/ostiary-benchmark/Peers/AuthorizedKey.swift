import AccessControl
import Crypto
import Foundation
import OstiaryClient

/// A right's key, authorized in a context of its own: what an app holds after `LARight.authorize`.
final class AuthorizedKey: Sendable {
    static let rightName = "benchmark"
    private static let algorithm = "algid:sign:ECDSA:digest-X962:SHA256"

    let client: OstiaryClient
    private let context: AuthorizationContext
    private let right: StoredRight
    private let digest: Data

    /// Asks the person for the passcode.
    init(_ right: StoredRight, on client: OstiaryClient, digest: SHA256.Digest) throws {
        self.client = client
        self.right = right
        self.digest = Data(digest)
        context = AuthorizationContext(client: client)
        try context.authorize(.right(id: right.id), interaction: Interaction(reason: "measure signatures"))
    }

    @discardableResult
    func sign() throws -> Data {
        try context.sign(digest: digest, right: right.id, algorithm: Self.algorithm)
    }

    /// The road that `LAPrivateKey` takes.
    func signAsync() async throws {
        _ = try await client.perform { [self] cancellation in
            try context.sign(digest: digest, right: right.id, algorithm: Self.algorithm, cancellation: cancellation)
        }
    }

    /// Throws unless the key really signs `digest`.
    func verify(_ digest: SHA256.Digest) throws {
        let signature = try P256.Signing.ECDSASignature(derRepresentation: try sign())
        let key = try P256.Signing.PublicKey(x963Representation: right.publicKey)
        guard key.isValidSignature(signature, for: digest) else { throw NoSignature() }
    }

    struct NoSignature: Error, CustomStringConvertible {
        var description: String { "the daemon's answer is not a signature by the right's key" }
    }
}
