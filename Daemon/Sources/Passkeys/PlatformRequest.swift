import AuthenticatorRequests
import CTAP
import CanonicalCBOR
import ExactNames

/// A program's request as parameters of CTAP's commands.
enum PlatformRequest {
    /// - Parameter excluded: those of the request's excluded credentials that are on this machine.
    static func making(_ creation: CredentialCreation, excluded: [[UInt8]]) -> CBORValue {
        let user = creation.user
        let algorithms = creation.algorithms.prefix(CBORDecoder.entryCount).map { algorithm -> CBORValue in
            .map(["alg": .number(algorithm), "type": .text("public-key")])
        }
        return .map([
            1: .bytes(creation.clientDataHash),
            2: .map([
                "id": .text(creation.relyingParty.identifier.text),
                "name": creation.relyingParty.name.map { .text($0) },
            ]),
            3: .map([
                "id": .bytes(user.identifier), "name": user.name.map { .text($0) },
                "displayName": user.displayName.map { .text($0) },
            ]),
            4: .array(algorithms),
            5: excluded.isEmpty ? nil : .array(excluded.prefix(CTAPLimits.listCount).map(descriptor)),
            // Every passkey has the secrets, so that a relying party may ask for them later.
            6: .map(["hmac-secret": .boolean(true)]),
            7: .map(["rk": .boolean(true), "uv": .boolean(true)]),
        ])
    }

    static func asserting(_ assertion: CredentialAssertion, with identifier: [UInt8]) -> CBORValue {
        .map([
            1: .text(assertion.relyingParty.identifier.text), 2: .bytes(assertion.clientDataHash),
            3: .array([descriptor(identifier)]), 5: .map(["uv": .boolean(true)]),
        ])
    }

    /// The identifier of the new credential in authenticator data (WebAuthn 6.1).
    static func identifier(in data: [UInt8]) -> [UInt8]? {
        let start = 37 + 16 + 2
        guard data.count >= start + identifierByteCount else { return nil }
        return Array(data[start..<start + identifierByteCount])
    }

    private static func descriptor(_ identifier: [UInt8]) -> CBORValue {
        .map(["id": .bytes(identifier), "type": .text("public-key")])
    }

    /// Those of this machine; an identifier of another length is another authenticator's.
    private static let identifierByteCount = 16
}
