import AssociationFiles
import Crypto
import ExactNames
import Foundation

/// The client data of one request (WebAuthn 5.8.1). The daemon makes it: a program chooses the challenge and nothing else of it.
struct ClientData: Sendable {
    enum Kind: String { case create = "webauthn.create", get = "webauthn.get" }

    /// The bytes that are hashed, and that the relying party gets.
    let json: Data
    /// SHA-256 of ``json``, 32 bytes.
    var hash: [UInt8] { Array(SHA256.hash(data: json)) }

    /// The serialization of WebAuthn 5.8.1.2: fixed order, and no character that needs an escape, because a domain and base64url
    /// have none.
    init(_ kind: Kind, challenge: Data, for relyingParty: RelyingPartyIdentifier) {
        let challenge = Self.base64URL(challenge)
        json = Data(
            """
            {"type":"\(kind.rawValue)","challenge":"\(challenge)","origin":"https://\(relyingParty.domain)","crossOrigin":false}
            """.utf8)
    }

    /// RFC 4648 section 5, without padding.
    private static func base64URL(_ bytes: Data) -> String {
        bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
