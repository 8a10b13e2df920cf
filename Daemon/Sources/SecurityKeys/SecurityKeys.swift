package import AuthenticatorRequests
import SecurityKeyProtocol

/// Makes and uses credentials on security keys, through libfido2 in a helper process for each key.
package struct SecurityKeys: CredentialAuthenticator {
    private let program: String
    private let ports: any SecurityKeyPorts
    private let limit: Duration

    /// - Parameters:
    ///   - program: the absolute path of `ostiary-fido`.
    ///   - ports: where keys are found.
    ///   - limit: how long a creation or an assertion may take.
    package init(
        program: String, ports: any SecurityKeyPorts = HIDRawPorts(), limit: Duration = .seconds(120)
    ) {
        self.program = program
        self.ports = ports
        self.limit = limit
    }

    /// Whether a key is plugged in now.
    package var arePresent: Bool { !ports.present().isEmpty }

    package func create(
        _ creation: CredentialCreation, with question: any CredentialQuestion,
        until cancellation: any CredentialCancellation
    ) throws -> CreatedCredential {
        try Self.check(creation.clientDataHash, creation.relyingParty, creation.excluded)
        guard (1...64).contains(creation.user.identifier.count) else {
            throw CredentialRefusal.unsupported(what: "user")
        }
        return try run(CreationTask(creation: creation), question, cancellation)
    }

    package func assert(
        _ assertion: CredentialAssertion, with question: any CredentialQuestion,
        until cancellation: any CredentialCancellation
    ) throws -> AssertedCredential {
        try Self.check(assertion.clientDataHash, assertion.relyingParty, assertion.allowed)
        let salts = Array(assertion.saltsByCredential.values) + [assertion.salts].compactMap(\.self)
        guard salts.allSatisfy({ $0.first.count == 32 && ($0.second?.count ?? 32) == 32 }) else {
            throw CredentialRefusal.unsupported(what: "prf")
        }
        if case .write(let blob) = assertion.largeBlob {
            guard (1...SecurityKeyLimits.largeBlobByteCount).contains(blob.count), assertion.allowed.count == 1 else {
                throw CredentialRefusal.unsupported(what: "largeBlob")
            }
        }
        return try run(AssertionTask(assertion: assertion), question, cancellation)
    }

    func run<Task: KeyTask>(
        _ task: Task, _ question: any CredentialQuestion, _ cancellation: any CredentialCancellation
    ) throws -> Task.Outcome {
        try KeyRace(task, question, program: program, ports: ports, limit: limit).run(until: cancellation)
    }

    /// What the helper would not take.
    private static func check(
        _ hash: [UInt8], _ relyingParty: RelyingPartyName, _ credentials: [CredentialDescriptor]
    ) throws {
        let name = relyingParty.identifier.utf8
        guard hash.count == 32, (1...SecurityKeyLimits.textByteCount).contains(name.count), !name.contains(0) else {
            throw CredentialRefusal.unsupported(what: "relyingParty")
        }
        let lengths = 1...SecurityKeyLimits.credentialByteCount
        guard credentials.count <= SecurityKeyLimits.credentialCount,
            credentials.allSatisfy({ lengths.contains($0.identifier.count) })
        else { throw CredentialRefusal.unsupported(what: "credentials") }
    }
}
