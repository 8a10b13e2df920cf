import Crypto
import Foundation

@testable import RelyingParty

/// An authenticator and its client in one: every field may be another than it should be.
struct TestAuthenticator {
    var key: TestKey
    var credentialID: [UInt8] = Array(0..<32)
    var userHandle = Data("account".utf8)
    var aaguid = [UInt8](repeating: 7, count: 16)
    var relyingParty = "example.org"
    var flags: UInt8 = 0x05
    var counter: UInt32 = 0
    var extensions: CBORItem?
    var clientData = TestClientData()
    /// The COSE key, if it is to be another than the key's.
    var cose: [UInt8]?

    init(_ algorithm: COSEAlgorithm = .es256) throws { key = try TestKey(algorithm) }

    func authenticatorData(registers: Bool) -> [UInt8] {
        var bytes = Array(SHA256.hash(data: Data(relyingParty.utf8)))
        bytes.append(flags | (registers ? 0x40 : 0) | (extensions == nil ? 0 : 0x80))
        bytes += CBORItem.bigEndian(Int(counter), count: 4)
        if registers {
            bytes += aaguid + CBORItem.bigEndian(credentialID.count, count: 2) + credentialID + (cose ?? key.cose)
        }
        return bytes + (extensions?.encoded ?? [])
    }

    static func hash(_ json: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: json)) }

    /// A registration; `statement` makes one from authenticator data and the hash of client data.
    func registration(
        format: String = "none", authenticatorData: [UInt8]? = nil,
        statement: ([UInt8], [UInt8]) throws -> CBORItem = { _, _ in .map([]) }
    ) throws -> RegistrationResponse {
        let json = clientData.json("webauthn.create")
        let data = authenticatorData ?? self.authenticatorData(registers: true)
        let object = CBORItem.map([
            (.text("fmt"), .text(format)), (.text("attStmt"), try statement(data, Self.hash(json))),
            (.text("authData"), .bytes(data)),
        ])
        return RegistrationResponse(
            credentialID: Data(credentialID), clientDataJSON: Data(json), attestationObject: Data(object.encoded))
    }

    /// An assertion over `authenticatorData`.
    func assertion(authenticatorData: [UInt8]? = nil) throws -> AssertionResponse {
        let json = clientData.json("webauthn.get")
        let data = authenticatorData ?? self.authenticatorData(registers: false)
        return AssertionResponse(
            credentialID: Data(credentialID), clientDataJSON: Data(json), authenticatorData: Data(data),
            signature: Data(try key.sign(data + Self.hash(json))), userHandle: userHandle)
    }

    /// The record of the credential.
    var record: CredentialRecord {
        CredentialRecord(
            id: Data(credentialID), userHandle: userHandle, publicKey: Data(key.cose), signatureCounter: counter,
            isUserVerified: true, isBackupEligible: flags & 0x08 != 0, isBackedUp: flags & 0x10 != 0, transports: [])
    }
}

/// Client data, member by member.
struct TestClientData {
    static let challenge = Data((1...32).map { UInt8($0) })

    var type: String?
    var challenge = Self.challenge
    var origin = "https://example.org"
    /// More members, as JSON.
    var rest = #","crossOrigin":false"#
    /// The whole JSON, if it is to be another.
    var whole: String?

    func json(_ type: String) -> [UInt8] {
        let members =
            #"{"type":"\#(self.type ?? type)","challenge":"\#(challenge.base64URLEncoded)","origin":"\#(origin)"\#(rest)}"#
        return Array((whole ?? members).utf8)
    }
}

extension WebAuthnVerifier {
    static let example = WebAuthnVerifier(
        relyingPartyIdentifier: "example.org", origins: ["https://example.org"], algorithms: COSEAlgorithm.allCases)

    /// A time at which the certificates of the tests are valid.
    static let date = Date(timeIntervalSince1970: 1_800_000_000)

    func register(
        _ response: RegistrationResponse, requirements: UserRequirements = UserRequirements()
    ) async throws(CeremonyError) -> Registration {
        try await verifyRegistration(
            response, challenge: TestClientData.challenge, userHandle: Data("account".utf8), requirements: requirements,
            at: Self.date)
    }

    func assert(
        _ response: AssertionResponse, _ credential: CredentialRecord,
        requirements: UserRequirements = UserRequirements()
    ) throws(CeremonyError) -> Assertion {
        try verifyAssertion(
            response, challenge: TestClientData.challenge, credential: credential, requirements: requirements)
    }
}
