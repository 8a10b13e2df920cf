import Foundation
import Testing

@testable import RelyingParty

/// The examples of the specification itself: registrations and assertions of several kinds of credentials.
@Suite struct SpecificationVectorTests {
    struct Vectors: Decodable {
        let attestationRoot: Hexadecimal
        let vectors: [Vector]

        static func load() throws -> Self {
            let file = try #require(
                Bundle.module.url(forResource: "webauthn", withExtension: "json", subdirectory: "Vectors"))
            return try JSONDecoder().decode(Self.self, from: Data(contentsOf: file))
        }
    }

    struct Vector: Decodable {
        struct Registration: Decodable {
            let challenge, clientDataJSON, attestationObject: Hexadecimal
        }

        struct Authentication: Decodable {
            let challenge, clientDataJSON, authenticatorData, signature: Hexadecimal
        }

        let name: String
        let credentialID, aaguid: Hexadecimal
        let registration: Registration
        let authentication: Authentication
    }

    struct Hexadecimal: Decodable {
        let bytes: Data

        init(from decoder: any Decoder) throws {
            let text = try decoder.singleValueContainer().decode(String.self)
            bytes = Data(
                stride(from: 0, to: text.count, by: 2).compactMap {
                    UInt8(text.dropFirst($0).prefix(2), radix: 16)
                })
            try #require(bytes.count * 2 == text.count)
        }
    }

    private static func verifier(_ vectors: Vectors, _ requirement: AttestationPolicy.Requirement) throws
        -> WebAuthnVerifier
    {
        let roots = AttestationFormat.allCases.map { ($0, [vectors.attestationRoot.bytes]) }
        return WebAuthnVerifier(
            relyingPartyIdentifier: "example.org", origins: ["https://example.org"],
            framing: .allowed(topOrigins: ["https://example.com"], evenUnnamed: true),
            attestation: try AttestationPolicy(requirement, anchors: Dictionary(uniqueKeysWithValues: roots)))
    }

    private static func register(
        _ vector: Vector, _ verifier: WebAuthnVerifier
    ) async throws(CeremonyError) -> Registration {
        try await verifier.verifyRegistration(
            RegistrationResponse(
                credentialID: vector.credentialID.bytes, clientDataJSON: vector.registration.clientDataJSON.bytes,
                attestationObject: vector.registration.attestationObject.bytes),
            challenge: vector.registration.challenge.bytes, userHandle: Data("account".utf8), at: WebAuthnVerifier.date)
    }

    private static let trust: [String: (AttestationFormat, AttestationTrust)] = [
        "none-es256": (.none, .none), "packed-self-es256": (.packed, .credentialKey),
        "none-es256-crossOrigin": (.none, .none), "none-es256-topOrigin": (.none, .none),
        "none-es256-long-credential-id": (.none, .none), "packed-es256": (.packed, .anchored),
        "packed-es384": (.packed, .anchored), "packed-es512": (.packed, .anchored),
        "packed-rs256": (.packed, .anchored), "packed-eddsa": (.packed, .anchored), "tpm-es256": (.tpm, .anchored),
        "apple-es256": (.apple, .anchored), "fido-u2f-es256": (.fidoU2F, .anchored),
    ]

    @Test func `the specification's registrations are accepted and their attestations anchored`() async throws {
        let vectors = try Vectors.load()
        #expect(vectors.vectors.count == 15)
        let verifier = try Self.verifier(vectors, .any)
        var accepted: Set<String> = []
        for vector in vectors.vectors {
            guard let (format, trust) = Self.trust[vector.name] else { continue }
            do {
                let registration = try await Self.register(vector, verifier)
                #expect(registration.format == format && registration.trust == trust, "\(vector.name)")
                // The example of fido-u2f has a model, which its statement does not cover.
                let aaguid = format == .fidoU2F ? Data(count: 16) : vector.aaguid.bytes
                #expect(registration.aaguid == aaguid && registration.credential.id == vector.credentialID.bytes)
                accepted.insert(vector.name)
            } catch {
                Issue.record("\(vector.name): \(error)")
            }
        }
        #expect(accepted == Set(Self.trust.keys))
    }

    /// swift-crypto has no Ed448. The key of an Android device is to state that it was made there for signatures (section
    /// 8.4), and the example's lists are empty; all checks before that one hold.
    @Test func `two of the specification's registrations are refused for a known reason`() async throws {
        let vectors = try Vectors.load()
        let expected: [String: CeremonyError] = [
            "packed-ed448": .publicKey(.unsupportedAlgorithm(-53)),
            "android-key-es256": .attestation(.androidKey(.generatedInDevice)),
        ]
        for (name, error) in expected {
            let vector = try #require(vectors.vectors.first { $0.name == name })
            await #expect(throws: error) { try await Self.register(vector, Self.verifier(vectors, .any)) }
        }
    }

    @Test func `when anchors are required, only attestations with certificates are accepted`() async throws {
        let vectors = try Vectors.load()
        let verifier = try Self.verifier(vectors, .anchored)
        for vector in vectors.vectors {
            guard let (_, trust) = Self.trust[vector.name] else { continue }
            if trust == .anchored {
                #expect(try await Self.register(vector, verifier).trust == .anchored)
            } else {
                await #expect(throws: CeremonyError.attestation(.untrusted)) {
                    try await Self.register(vector, verifier)
                }
            }
        }
    }

    @Test func `the specification's assertions are accepted, but none with a bit flipped`() throws {
        let vectors = try Vectors.load()
        let verifier = try Self.verifier(vectors, .any)
        var count = 0
        for vector in vectors.vectors where vector.name != "packed-ed448" {
            let object = try AttestationObject(vector.registration.attestationObject.bytes)
            let data = try AuthenticatorData(object.authenticatorData, hasCredential: true)
            let attested = try #require(data.credential)
            let record = CredentialRecord(
                id: Data(attested.id), userHandle: Data("account".utf8), publicKey: Data(attested.publicKey),
                signatureCounter: data.signatureCounter, isUserVerified: false,
                isBackupEligible: data.flags.contains(.backupEligible), isBackedUp: false, transports: [])
            func verify(_ change: (inout AssertionResponse) -> Void) throws -> Assertion {
                var response = AssertionResponse(
                    credentialID: vector.credentialID.bytes, clientDataJSON: vector.authentication.clientDataJSON.bytes,
                    authenticatorData: vector.authentication.authenticatorData.bytes,
                    signature: vector.authentication.signature.bytes, userHandle: Data("account".utf8))
                change(&response)
                return try verifier.verifyAssertion(
                    response, challenge: vector.authentication.challenge.bytes, credential: record)
            }
            #expect(try verify { _ in }.use.signatureCounter == 0, "\(vector.name)")
            #expect(throws: CeremonyError.signatureInvalid) {
                try verify { $0.signature[$0.signature.count - 1] ^= 1 }
            }
            #expect(throws: CeremonyError.signatureInvalid) { try verify { $0.authenticatorData[36] ^= 1 } }
            #expect(throws: CeremonyError.relyingPartyMismatch) { try verify { $0.authenticatorData[0] ^= 1 } }
            count += 1
        }
        #expect(count == 14)
    }

    @Test func `frames are refused unless their origin is allowed`() async throws {
        let vectors = try Vectors.load()
        let (unnamed, named) = ("none-es256-crossOrigin", "none-es256-topOrigin")
        let cases: [(WebAuthnVerifier.Framing, [String: CeremonyError])] = [
            (.refused, [unnamed: .crossOriginNotAllowed, named: .crossOriginNotAllowed]),
            (.allowed(topOrigins: []), [unnamed: .topOriginNotAllowed, named: .topOriginNotAllowed]),
            (.allowed(topOrigins: [], evenUnnamed: true), [named: .topOriginNotAllowed]),
            (.allowed(topOrigins: ["https://example.com"]), [unnamed: .topOriginNotAllowed]),
        ]
        for (framing, refusals) in cases {
            let verifier = WebAuthnVerifier(
                relyingPartyIdentifier: "example.org", origins: ["https://example.org"], framing: framing)
            for vector in vectors.vectors where [unnamed, named].contains(vector.name) {
                if let refusal = refusals[vector.name] {
                    await #expect(throws: refusal) { try await Self.register(vector, verifier) }
                } else {
                    _ = try await Self.register(vector, verifier)
                }
            }
        }
    }
}
