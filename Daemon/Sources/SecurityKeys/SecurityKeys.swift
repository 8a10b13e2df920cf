package import AuthenticatorRequests
package import Cancellations
import ExactNames
package import HelperProcesses
import SecurityKeyProtocol

/// Makes and uses credentials on security keys, through libfido2 in a helper process for each key.
package struct SecurityKeys: CredentialAuthenticator {
    private let helper: HelperRoad
    private let ports: any SecurityKeyPorts
    private let limit: Duration
    private let turns = KeyTurns()
    /// The user whose keys they are; nil for the user of this process.
    private var userID: UInt32?

    /// - Parameters:
    ///   - helper: how `ostiary-fido` is reached.
    ///   - ports: where keys are found; nil for this machine.
    ///   - limit: how long a creation or an assertion may take.
    package init(
        _ helper: HelperRoad, ports: (any SecurityKeyPorts)? = nil, limit: Duration = .seconds(120)
    ) {
        self.helper = helper
        self.ports = ports ?? MachinePorts(for: helper)
        self.limit = limit
    }

    /// The keys of another user than that of this process, unless the number is nil. A key that questions of two users want is still
    /// for one after the other.
    package func presented(to userID: UInt32?) -> SecurityKeys {
        var keys = self
        keys.userID = userID
        return keys
    }

    /// Whether a key is plugged in now.
    package var arePresent: Bool { !ports.present(to: userID).isEmpty }

    package func create(
        _ creation: CredentialCreation, with question: any CredentialQuestion,
        until cancellation: Cancellation
    ) throws -> CreatedCredential {
        try Self.check(creation.clientDataHash, creation.relyingParty, creation.excluded)
        guard (1...64).contains(creation.user.identifier.count) else {
            throw CredentialRefusal.unsupported(what: "user")
        }
        return try run(CreationTask(creation: creation), question, cancellation)
    }

    package func assert(
        _ assertion: CredentialAssertion, with question: any CredentialQuestion,
        until cancellation: Cancellation
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
        _ task: Task, _ question: any CredentialQuestion, _ cancellation: Cancellation
    ) throws -> Task.Outcome {
        try run(task, TappedPorts(ports, of: userID), limit, question, cancellation)
    }

    private func run<Task: KeyTask>(
        _ task: Task, _ ports: any SecurityKeyPorts, _ limit: Duration, _ question: any CredentialQuestion,
        _ cancellation: Cancellation
    ) throws -> Task.Outcome {
        try KeyRace(task, question, helper: helper, ports: ports, of: userID, turns: turns, limit: limit)
            .run(until: cancellation)
    }

    /// Refuses a request that the helper would not take.
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

    // MARK: factors

    /// Enrols the key that the person touches as a factor. It is touched twice: for the credential and for its output.
    ///
    /// - Throws: ``CredentialRefusal/excluded`` for a key that is enrolled already, ``CredentialRefusal/unsupported(what:)``
    ///   for one that cannot protect a secret.
    package func enrollFactor(
        _ enrolment: FactorEnrolment, with question: any CredentialQuestion,
        until cancellation: Cancellation
    ) throws -> EnrolledFactorKey {
        try run(FactorEnrolmentTask(enrolment), question, cancellation)
    }

    /// Waits until the person touches an enrolled key, for as long as they may answer otherwise. No PIN is asked for.
    ///
    /// - Parameters:
    ///   - salts: one or two of 32 bytes.
    ///   - nonce: 32 random bytes.
    package func factorTouch(
        of credentials: [FactorCredential], salts: [UInt8], nonce: [UInt8], with question: any CredentialQuestion,
        until cancellation: Cancellation
    ) throws -> FactorTouch {
        let task = FactorOpeningTask(credentials: credentials, salts: salts, nonce: nonce, choosesByTouch: true)
        do {
            return .output(try run(task, TappedPorts(ports, of: userID), Self.longLimit, question, cancellation))
        } catch let needs
            as KeyNeedsPIN
        { return .needsPIN(needs.port) }
    }

    /// A question ends before this does.
    private static let longLimit: Duration = .seconds(3600)

    /// The outputs of the enrolled key that the person touches, or of the key in `port`. Asks for its PIN where it needs one.
    package func factorOutput(
        of credentials: [FactorCredential], salts: [UInt8], nonce: [UInt8], on port: SecurityKeyPort? = nil,
        with question: any CredentialQuestion, until cancellation: Cancellation
    ) throws -> FactorOutput {
        let task = FactorOpeningTask(credentials: credentials, salts: salts, nonce: nonce, choosesByTouch: false)
        guard let port else { return try run(task, question, cancellation) }
        // The person has just held it at the reader, or touched it.
        let one = OnePort(port: port, ports: ports)
        guard !one.present(to: userID).isEmpty else { throw CredentialRefusal.removed }
        return try run(task, one, limit, question, cancellation)
    }

    // MARK: PINs

    /// Gives the key that the person touches its first PIN, or replaces the PIN that they type by another.
    package func setPIN(
        with question: any CredentialQuestion, until cancellation: Cancellation
    ) throws {
        try run(PINTask(), question, cancellation)
    }
}
