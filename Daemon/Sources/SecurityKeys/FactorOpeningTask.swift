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
        let canVerify = Self.canVerify(description)
        let isVerified =
            canVerify && (hasCredential(verified: true, for: description) || !hasCredential(verified: false))
        guard hasCredential(verified: isVerified) else { return .refuse(.noCredential) }
        return plan(verified: isVerified, for: description)
    }

    /// A key that got its first PIN after it was enrolled has a credential without verification. It may look like one that was
    /// enrolled with its PIN.
    func otherRequest(for description: KeyDescription) -> KeyRequest? {
        guard Self.canVerify(description), plan(for: description) == plan(verified: true, for: description),
            hasCredential(verified: false), case .ask(let request) = plan(verified: false, for: description)
        else { return nil }
        return request
    }

    private static func canVerify(_ description: KeyDescription) -> Bool {
        !description.features.isDisjoint(with: [.hasPIN, .verifiesUser])
    }

    private func hasCredential(verified isVerified: Bool) -> Bool {
        credentials.contains { $0.isVerified == isVerified }
    }

    /// Whether there is one of this kind, unless this model has only one of the other kind.
    private func hasCredential(verified isVerified: Bool, for description: KeyDescription) -> Bool {
        let ofModel = credentials.filter { $0.model == description.aaguid }
        return hasCredential(verified: isVerified)
            && (ofModel.isEmpty || ofModel.contains { $0.isVerified == isVerified })
    }

    private func plan(verified isVerified: Bool, for description: KeyDescription) -> KeyPlan {
        let candidates = credentials.filter { $0.isVerified == isVerified }
        // Some keys look at one credential of a list only.
        let ofModel = { (credential: FactorCredential) in credential.model == description.aaguid }
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
