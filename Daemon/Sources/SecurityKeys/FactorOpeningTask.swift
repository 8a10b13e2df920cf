import AuthenticatorRequests
import SecretMemory
import SecurityKeyProtocol

/// Has the enrolled key that the person touches compute its outputs.
struct FactorOpeningTask: KeyTask {
    let credentials: [FactorCredential]
    /// One for all keys, or two while keys change from one to the next. The secrets of the keys differ even with equal salts.
    let salts: [UInt8]
    /// 32 random bytes that are signed; nobody reads the signature.
    let nonce: [UInt8]
    let choosesByTouch: Bool

    func plan(for description: KeyDescription) -> KeyPlan {
        guard description.isFIDO2, description.features.contains(.hmacSecret) else { return .refuse(.noCredential) }
        let canVerify = !description.features.isDisjoint(with: [.hasPIN, .verifiesUser])
        // A key has either kind: it could verify when it was enrolled, or it could not.
        let fitting = credentials.filter { $0.isVerified == canVerify }
        let isVerified = fitting.isEmpty ? !canVerify : canVerify
        guard canVerify || !isVerified else { return .refuse(.noCredential) }
        // Some keys look at one credential of a list only.
        let ofModel = { (credential: FactorCredential) in credential.model == description.aaguid }
        let candidates = fitting.isEmpty ? credentials : fitting
        let allowed = candidates.filter(ofModel) + candidates.filter { !ofModel($0) }
        return KeyPlan(description, isVerified ? .required : .discouraged, isNeeded: false) { verifiesUser in
            var request = KeyAssertion(clientDataHash: nonce, relyingParty: FactorCredential.relyingParty)
            request.allowed = allowed.map { KeyAssertion.AllowedCredential($0.identifier) }
            request.salts = salts
            request.verifiesUser = verifiesUser
            return .assert(request)
        }
    }

    func outcome(
        of report: KeyReport, secret: consuming SecretBytes, from description: KeyDescription,
        _ question: any CredentialQuestion
    ) throws -> FactorOutput {
        let output = try FactorOutput(report, secret, saltCount: salts.count / 32)
        let credential = credentials.first { $0.identifier == output.identifier }
        // An output without verification differs from the one with it, and opens nothing that was made with that one.
        guard let credential, output.isVerified == credential.isVerified else {
            throw CredentialRefusal.malformedAnswer
        }
        return output
    }
}
