import AuthenticatorRequests
import ExactNames
import SecretMemory
import SecurityKeyProtocol

/// Signs for a relying party.
struct AssertionTask: KeyTask {
    let assertion: CredentialAssertion

    func plan(for description: KeyDescription) -> KeyPlan {
        let features = description.features
        guard description.isFIDO2 else { return planForU2F() }
        // Only a verified person is shown the accounts by name.
        let isNeeded = features.contains(.alwaysVerifies) || isWriting && features.contains(.largeBlobs)
        return KeyPlan(description, assertion.userVerification, isNeeded: isNeeded) { verifiesUser in
            var request = self.request(hasHMACSecret: features.contains(.hmacSecret))
            request.verifiesUser = verifiesUser
            switch assertion.largeBlob {
            case .none: break
            case .read: request.largeBlob = features.contains(.largeBlobs) ? .read : .none
            case .write(let blob): request.largeBlob = features.contains(.largeBlobs) ? .write(blob) : .none
            }
            return .assert(request)
        }
    }

    /// A key with a PIN lets nobody write a large blob without it (CTAP 2.1, 6.10.2).
    private var isWriting: Bool {
        guard case .write = assertion.largeBlob else { return false }
        return true
    }

    private func planForU2F() -> KeyPlan {
        guard assertion.userVerification != .required else { return .refuse(.unsupported(what: "userVerification")) }
        guard !assertion.allowed.isEmpty else { return .refuse(.noCredential) }
        return .ask(.assert(request(hasHMACSecret: false)))
    }

    private func request(hasHMACSecret: Bool) -> KeyAssertion {
        var request = KeyAssertion(
            clientDataHash: assertion.clientDataHash, relyingParty: assertion.relyingParty.identifier.text)
        request.appID = assertion.appID ?? ""
        request.allowed = assertion.allowed.map { credential in
            let salts = hasHMACSecret ? assertion.saltsByCredential[credential.identifier] : nil
            return KeyAssertion.AllowedCredential(credential.identifier, salts: salts?.joined ?? [])
        }
        request.salts = hasHMACSecret ? assertion.salts?.joined ?? [] : []
        return request
    }

    func outcome(
        of report: KeyReport, secret: consuming SecretBytes, from description: KeyDescription,
        _ question: any CredentialQuestion
    ) throws -> AssertedCredential {
        guard case .asserted(let results) = report else { throw CredentialRefusal.malformedAnswer }
        guard results.reduce(0, { $0 + Int($1.outputByteCount) }) == secret.count else {
            throw CredentialRefusal.malformedAnswer
        }
        let index = try choice(among: results, question)
        let result = results[index]
        let isVerified = AuthenticatorData(result.authenticatorData).isUserVerified
        guard assertion.userVerification != .required || isVerified else { throw CredentialRefusal.malformedAnswer }
        var asserted = AssertedCredential(
            credentialIdentifier: result.credentialIdentifier, authenticatorData: result.authenticatorData,
            signature: result.signature, userHandle: result.userHandle.isEmpty ? nil : result.userHandle,
            attachment: .crossPlatform)
        asserted.usedAppID = result.usedAppID
        let start = results[..<index].reduce(0) { $0 + Int($1.outputByteCount) }
        asserted.prf = PRFOutputs(secret, start..<start + Int(result.outputByteCount))
        asserted.largeBlob = largeBlob(result.largeBlob)
        return asserted
    }

    /// Of several accounts the person chooses one. Of several allowed credentials any one will do.
    private func choice(among results: [KeyAssertionResult], _ question: any CredentialQuestion) throws -> Int {
        guard results.count > 1, assertion.allowed.isEmpty else { return 0 }
        let accounts = results.map { result in
            CredentialUser(
                identifier: result.userHandle, name: result.userName.isEmpty ? nil : result.userName,
                displayName: result.userDisplayName.isEmpty ? nil : result.userDisplayName)
        }
        let index = try question.choose(among: accounts)
        guard results.indices.contains(index) else { throw CredentialRefusal.cancelled }
        return index
    }

    private func largeBlob(_ found: KeyAssertionResult.LargeBlob) -> LargeBlobResult? {
        guard let operation = assertion.largeBlob else { return nil }
        switch (operation, found) {
        case (.read, .blob(let blob)): return .read(blob)
        case (.read, _): return .read(nil)
        case (.write, let found): return .written(found == .written)
        }
    }
}

extension PRFSalts {
    fileprivate var joined: [UInt8] { first + (second ?? []) }
}

extension PRFOutputs {
    /// Nil for an empty range. They leave the secret memory here, because they are the program's from now on.
    fileprivate init?(_ secret: borrowing SecretBytes, _ range: Range<Int>) {
        guard !range.isEmpty else { return nil }
        let bytes = unsafe secret.withUnsafeBytes { unsafe Array($0[range]) }
        self.init(first: Array(bytes.prefix(32)), second: bytes.count > 32 ? Array(bytes.dropFirst(32)) : nil)
    }
}
