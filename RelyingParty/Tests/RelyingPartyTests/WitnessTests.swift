import Foundation
import Testing

@testable import RelyingParty

/// python-fido2 and py_webauthn beside ours: they accept what ours accepts, refuse what ours refuses, and ours accepts what
/// they make.
@Suite(.timeLimit(.minutes(10))) struct WitnessTests {
    // MARK: they judge

    private struct Answer: Encodable {
        var credentialID, clientDataJSON, challenge: String
        var attestationObject, authenticatorData, signature, userHandle, publicKey: String?
        var counter: UInt32 = 0
        var requiresVerification = false
    }

    private struct Verdict: Decodable {
        let fido2, webauthn: String?
    }

    private struct Case {
        let name: String
        let answer: Answer
        let isAccepted: Bool
    }

    private static func registration(
        _ name: String, _ authenticator: TestAuthenticator, format: String = "none", requiresVerification: Bool = false,
        statement: ([UInt8], [UInt8]) throws -> CBORItem = { _, _ in .map([]) }
    ) async throws -> Case {
        let response = try authenticator.registration(format: format, statement: statement)
        let answer = Answer(
            credentialID: response.credentialID.base64URLEncoded,
            clientDataJSON: response.clientDataJSON.base64URLEncoded,
            challenge: TestClientData.challenge.base64URLEncoded,
            attestationObject: response.attestationObject.base64URLEncoded, requiresVerification: requiresVerification)
        let requirements = UserRequirements(verification: requiresVerification ? .required : .preferred)
        let ours = try? await WebAuthnVerifier.example.register(response, requirements: requirements)
        return Case(name: name, answer: answer, isAccepted: ours != nil)
    }

    private static func assertion(
        _ name: String, _ authenticator: TestAuthenticator, record: CredentialRecord? = nil,
        requiresVerification: Bool = false, _ change: (inout AssertionResponse) -> Void = { _ in }
    ) throws -> Case {
        var response = try authenticator.assertion()
        change(&response)
        let record = record ?? authenticator.record
        let answer = Answer(
            credentialID: response.credentialID.base64URLEncoded,
            clientDataJSON: response.clientDataJSON.base64URLEncoded,
            challenge: TestClientData.challenge.base64URLEncoded,
            authenticatorData: response.authenticatorData.base64URLEncoded,
            signature: response.signature.base64URLEncoded, userHandle: response.userHandle?.base64URLEncoded,
            publicKey: record.publicKey.base64URLEncoded, counter: record.signatureCounter,
            requiresVerification: requiresVerification)
        let requirements = UserRequirements(verification: requiresVerification ? .required : .preferred)
        let ours = try? WebAuthnVerifier.example.assert(response, record, requirements: requirements)
        return Case(name: name, answer: answer, isAccepted: ours != nil)
    }

    /// What is changed in both ceremonies.
    private static let changes: [(String, @Sendable (inout TestAuthenticator) -> Void)] = [
        ("type", { $0.clientData.type = "webauthn.other" }), ("challenge", { $0.clientData.challenge[0] ^= 1 }),
        ("origin", { $0.clientData.origin = "https://example.com" }),
        ("relying party", { $0.relyingParty = "example.com" }),
        ("presence", { $0.flags = 0x04 }), ("text that is no JSON", { $0.clientData.whole = "{" }),
    ]

    @Test func `they accept what ours accepts and refuse what ours refuses`() async throws {
        var accepted: [Case] = []
        var refused: [Case] = []
        for algorithm in COSEAlgorithm.allCases {
            let authenticator = try TestAuthenticator(algorithm)
            accepted.append(
                try await Self.registration("\(algorithm), none", authenticator, requiresVerification: true))
            accepted.append(
                try await Self.registration("\(algorithm), packed", authenticator, format: "packed") { data, hash in
                    .map([
                        (.text("alg"), .number(algorithm.rawValue)),
                        (.text("sig"), .bytes(try authenticator.key.sign(data + hash))),
                    ])
                })
            refused.append(
                try await Self.registration("\(algorithm), packed, signature", authenticator, format: "packed") {
                    _, _ in
                    .map([
                        (.text("alg"), .number(algorithm.rawValue)),
                        (.text("sig"), .bytes(try authenticator.key.sign([1]))),
                    ])
                })
            accepted.append(try Self.assertion("\(algorithm)", authenticator, requiresVerification: true))
            refused.append(
                try Self.assertion("\(algorithm), signature", authenticator) {
                    $0.signature[$0.signature.count - 1] ^= 1
                })
            refused.append(
                try Self.assertion(
                    "\(algorithm), other key", authenticator, record: TestAuthenticator(algorithm).record))
        }
        for (name, change) in Self.changes {
            var authenticator = try TestAuthenticator()
            change(&authenticator)
            refused.append(try await Self.registration(name, authenticator))
            refused.append(try Self.assertion(name, authenticator))
        }
        var unverified = try TestAuthenticator()
        unverified.flags = 0x01
        refused.append(try await Self.registration("verification", unverified, requiresVerification: true))
        refused.append(try Self.assertion("verification", unverified, requiresVerification: true))
        let cases = accepted + refused
        let verdicts = try Witnesses.run("relying_parties", cases.map(\.answer), returning: [Verdict].self)
        #expect(verdicts.count == cases.count && accepted.count == 33 && refused.count == 47)
        for (each, verdict) in zip(accepted, verdicts) {
            // py_webauthn has no ES384, and python-fido2 no RSA with PSS and a longer hash; without a signature it does not care.
            let isLong = each.name.hasPrefix("ps384") || each.name.hasPrefix("ps512")
            let isUnknown = isLong && !each.name.hasSuffix("none")
            #expect(each.isAccepted && (verdict.fido2 != nil) == isUnknown, "\(each.name): \(verdict)")
            #expect((verdict.webauthn != nil) == each.name.hasPrefix("es384"), "\(each.name): \(verdict)")
        }
        for (each, verdict) in zip(refused, verdicts.dropFirst(accepted.count)) {
            #expect(!each.isAccepted && verdict.fido2 != nil && verdict.webauthn != nil, "\(each.name): \(verdict)")
        }
    }

    // MARK: ours judges

    private struct Made: Decodable {
        struct Assertion: Decodable {
            let challenge, clientDataJSON, authenticatorData, signature: String
        }

        let form: String
        let algorithm: Int
        let credentialID, challenge, clientDataJSON, attestationObject: String
        let assertion: Assertion
    }

    private static func bytes(_ text: String) throws -> Data { try #require(Data(base64URLEncoded: text)) }

    @Test func `ours accepts the registrations and sign-ins that they make`() async throws {
        let made = try Witnesses.run("authenticator", [String](), returning: [Made].self)
        #expect(made.count == 28)
        let trust: [String: AttestationTrust] = [
            "none": .none, "self": .credentialKey, "packed": .certificate, "u2f": .certificate,
        ]
        for each in made {
            let registration = try await WebAuthnVerifier.example.verifyRegistration(
                RegistrationResponse(
                    credentialID: Self.bytes(each.credentialID), clientDataJSON: Self.bytes(each.clientDataJSON),
                    attestationObject: Self.bytes(each.attestationObject)),
                challenge: Self.bytes(each.challenge), userHandle: Data([1]), at: WebAuthnVerifier.date)
            #expect(registration.trust == trust[each.form], "\(each.form) \(each.algorithm)")
            #expect(registration.credential.signatureCounter == 7)
            let response = AssertionResponse(
                credentialID: try Self.bytes(each.credentialID),
                clientDataJSON: try Self.bytes(each.assertion.clientDataJSON),
                authenticatorData: try Self.bytes(each.assertion.authenticatorData),
                signature: try Self.bytes(each.assertion.signature))
            let assertion = try WebAuthnVerifier.example.verifyAssertion(
                response, challenge: Self.bytes(each.assertion.challenge), credential: registration.credential,
                account: Data([1]), requirements: UserRequirements(verification: .required))
            #expect(assertion.use.signatureCounter == 8)
        }
    }
}
