import Crypto
import Foundation
import RelyingParty

/// A registration and an assertion of one credential, which python-fido2 put together.
struct Answers {
    static let verifier = WebAuthnVerifier(relyingPartyIdentifier: "example.org", origins: ["https://example.org"])
    static let account = Data([1])

    let registration: RegistrationResponse
    let registrationChallenge: Data
    let assertion: AssertionResponse
    let challenge: Data
    let record: CredentialRecord

    private struct Made: Decodable {
        struct Assertion: Decodable {
            let challenge, clientDataJSON, authenticatorData, signature: String
        }

        let form: String
        let algorithm: Int
        let credentialID, challenge, clientDataJSON, attestationObject: String
        let assertion: Assertion
    }

    struct Unusable: Error {}

    private static func bytes(_ text: String) throws -> Data {
        guard let data = Data(base64URLEncoded: text) else { throw Unusable() }
        return data
    }

    /// - Parameter json: the output of the tests' `authenticator.py`.
    init(_ json: Data) async throws {
        let all = try JSONDecoder().decode([Made].self, from: json)
        guard let made = all.first(where: { $0.form == "packed" && $0.algorithm == -7 }) else { throw Unusable() }
        let identifier = try Self.bytes(made.credentialID)
        registration = RegistrationResponse(
            credentialID: identifier, clientDataJSON: try Self.bytes(made.clientDataJSON),
            attestationObject: try Self.bytes(made.attestationObject))
        registrationChallenge = try Self.bytes(made.challenge)
        assertion = AssertionResponse(
            credentialID: identifier, clientDataJSON: try Self.bytes(made.assertion.clientDataJSON),
            authenticatorData: try Self.bytes(made.assertion.authenticatorData),
            signature: try Self.bytes(made.assertion.signature))
        challenge = try Self.bytes(made.assertion.challenge)
        var record = try await Self.verifier.verifyRegistration(
            registration, challenge: registrationChallenge, userHandle: Self.account, at: Date()
        ).credential
        record.signatureCounter = 0
        self.record = record
    }

    func verifyAssertion(with key: CredentialPublicKey? = nil) throws {
        _ = try Self.verifier.verifyAssertion(
            assertion, challenge: challenge, credential: record, account: Self.account, key: key)
    }

    /// The signature alone, everything decoded and digested before.
    func bareVerification() throws -> () throws -> Void {
        // The last of the COSE key's fields are x and y, 32 bytes each, three bytes before y.
        let (x, y) = (record.publicKey.dropLast(35).suffix(32), record.publicKey.suffix(32))
        let key = try P256.Signing.PublicKey(rawRepresentation: x + y)
        let signature = try P256.Signing.ECDSASignature(derRepresentation: assertion.signature)
        let digest = SHA256.hash(
            data: assertion.authenticatorData + Data(SHA256.hash(data: assertion.clientDataJSON)))
        return { guard key.isValidSignature(signature, for: digest) else { throw Unusable() } }
    }

    /// The input of the witnesses.
    var json: Data {
        get throws {
            try JSONEncoder().encode([
                "credentialID": assertion.credentialID.base64URLEncoded, "challenge": challenge.base64URLEncoded,
                "clientDataJSON": assertion.clientDataJSON.base64URLEncoded,
                "authenticatorData": assertion.authenticatorData.base64URLEncoded,
                "signature": assertion.signature.base64URLEncoded, "publicKey": record.publicKey.base64URLEncoded,
            ])
        }
    }
}
