import AuthenticatorRequests
import SecretMemory
import SecurityKeyProtocol

/// Makes a credential for Ostiary itself, and has the same key compute its output.
final class FactorEnrolmentTask: KeyTask {
    private let enrolment: FactorEnrolment
    private var made: (identifier: [UInt8], isVerified: Bool)?

    /// Only a verified person may use a credential of this level, and no client may find it otherwise (CTAP 2.1, 12.1).
    private static let verified: UInt8 = 3
    /// For a key that cannot verify: only a client that names the credential finds it.
    private static let touchOnly: UInt8 = 2

    init(_ enrolment: FactorEnrolment) { self.enrolment = enrolment }

    private static func verifies(_ description: KeyDescription) -> Bool {
        !description.features.isDisjoint(with: [.hasPIN, .verifiesUser, .alwaysVerifies])
    }

    func plan(for description: KeyDescription) -> KeyPlan {
        guard description.isFIDO2, description.features.contains(.hmacSecret) else {
            return .refuse(.unsupported(what: "hmac-secret"))
        }
        guard description.features.contains(.credentialProtection) else {
            return .refuse(.unsupported(what: "credProtect"))
        }
        guard !enrolment.refusedModels.contains(description.aaguid) else {
            return .refuse(.unsupported(what: Self.platform))
        }
        let verifies = Self.verifies(description)
        return KeyPlan(description, verifies ? .required : .discouraged, isNeeded: verifies) { verifiesUser in
            let name = KeyText.fitting(enrolment.name)
            var request = KeyCreation(
                clientDataHash: enrolment.nonce, relyingParty: FactorCredential.relyingParty,
                relyingPartyName: "Ostiary", userHandle: enrolment.identifier, userName: name, userDisplayName: name,
                algorithm: -7)
            request.excluded = enrolment.enrolled
            request.verifiesUser = verifiesUser
            request.wantsHMACSecret = true
            request.protection = verifies ? Self.verified : Self.touchOnly
            return .create(request)
        }
    }

    static let platform = "a place of its own, because it is this machine"

    func next(after report: KeyReport, from description: KeyDescription) throws -> KeyRequest? {
        guard made == nil else { return nil }
        guard case .created(let created) = report else { throw CredentialRefusal.malformedAnswer }
        let data = AuthenticatorData(created.authenticatorData)
        guard data.isUserVerified == Self.verifies(description) else { throw CredentialRefusal.malformedAnswer }
        guard data.endsInHMACSecret(protection: data.isUserVerified ? Self.verified : Self.touchOnly) else {
            throw CredentialRefusal.unsupported(what: "credProtect")
        }
        guard let model = data.aaguid, !enrolment.refusedModels.contains(model) else {
            throw CredentialRefusal.unsupported(what: Self.platform)
        }
        made = (created.identifier, data.isUserVerified)
        var request = KeyAssertion(clientDataHash: enrolment.nonce, relyingParty: FactorCredential.relyingParty)
        request.allowed = [KeyAssertion.AllowedCredential(created.identifier)]
        request.salts = enrolment.salt
        request.verifiesUser = data.isUserVerified && description.features.contains(.verifiesUser)
        return .assert(request)
    }

    func outcome(
        of report: KeyReport, secret: consuming SecretBytes, from description: KeyDescription,
        _ question: any CredentialQuestion
    ) throws -> EnrolledFactorKey {
        let output = try FactorOutput(report, secret, saltCount: 1)
        guard let made, made == (output.identifier, output.isVerified) else { throw CredentialRefusal.malformedAnswer }
        return EnrolledFactorKey(
            output: output, pinProtocol: description.features.contains(.pinProtocolTwo) ? 2 : 1,
            model: description.aaguid)
    }
}

/// The data for the enrolment of a key.
package struct FactorEnrolment: Sendable {
    /// 16 bytes that name the key in the store.
    package let identifier: [UInt8]
    /// For people.
    package let name: String
    /// 32 bytes.
    package let salt: [UInt8]
    /// 32 random bytes that are signed; nobody reads the signature.
    package let nonce: [UInt8]
    /// Credentials of keys that are enrolled already.
    package let enrolled: [[UInt8]]
    /// AAGUIDs of authenticators that are no keys.
    package let refusedModels: Set<[UInt8]>

    package init(
        identifier: [UInt8], name: String, salt: [UInt8], nonce: [UInt8], enrolled: [[UInt8]],
        refusedModels: Set<[UInt8]>
    ) {
        self.identifier = identifier
        self.name = name
        self.salt = salt
        self.nonce = nonce
        self.enrolled = enrolled
        self.refusedModels = refusedModels
    }
}

extension FactorOutput {
    /// The only assertion of a report, with its outputs.
    init(_ report: KeyReport, _ secret: consuming SecretBytes, saltCount: Int) throws {
        guard case .asserted(let results) = report, results.count == 1, let result = results.first else {
            throw CredentialRefusal.malformedAnswer
        }
        guard Int(result.outputByteCount) == 32 * saltCount, secret.count == 32 * saltCount else {
            throw CredentialRefusal.unsupported(what: "hmac-secret")
        }
        self.init(
            identifier: result.credentialIdentifier,
            isVerified: AuthenticatorData(result.authenticatorData).isUserVerified, secret: FactorSecret(secret))
    }
}
