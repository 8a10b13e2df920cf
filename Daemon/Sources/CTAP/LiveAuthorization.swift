package import ExactNames

/// What a client may do without another question: with a token that is not used up, or for the accounts that wait after an assertion.
package struct LiveAuthorization: Sendable {
    package enum Operation: String, Sendable {
        case make, sign, manage
    }

    /// By chance, and never 0.
    package let number: UInt64
    /// nil for all.
    package let relyingParty: ExactName?
    package let operations: [Operation]
    /// nil for a PIN.
    package let factors: ProvedFactors?
    package let since: Duration
    package let end: Duration
}

extension CTAPAuthenticator {
    /// What stands now.
    package var liveAuthorizations: [LiveAuthorization] {
        let now = now
        let all = [token?.liveAuthorization, pendingAssertions?.liveAuthorization]
        return all.compactMap(\.self).filter { now < $0.end }
    }
}

extension PINUserToken {
    fileprivate var liveAuthorization: LiveAuthorization? {
        let operations: [LiveAuthorization.Operation] = [
            permissions.contains(.makeCredential) ? .make : nil, permissions.contains(.getAssertion) ? .sign : nil,
            permissions.contains(.credentialManagement) ? .manage : nil,
        ].compactMap(\.self)
        guard !operations.isEmpty else { return nil }
        // Without the proof, the user is asked again before anything is made or signed.
        return LiveAuthorization(
            number: number, relyingParty: relyingParty, operations: operations, factors: factors, since: made,
            end: permissions.contains(.credentialManagement) ? end : min(end, proofEnd))
    }
}

extension PendingAssertions {
    fileprivate var liveAuthorization: LiveAuthorization? {
        LiveAuthorization(
            number: number, relyingParty: request.relyingParty, operations: [.sign],
            factors: authorization.proof?.factors, since: time, end: time + CTAPLimits.nextOfList)
    }
}
