import AuthenticatorRequests
import CTAP
import Cancellations
import CanonicalCBOR
import Crypto
import Foundation
import Synchronization

/// One credential store, in memory, that counts its signatures; and a user who always agrees.
final class CountingStorage: CredentialStorage, UserInteraction {
    private struct State {
        var credentials: [(StoredCredential, P256.Signing.PrivateKey)] = []
        var signatureCount = 0
        var readCount = 0
        var questions: [InteractionRequest] = []
        var replaced: [[UInt8]] = []
        var isUnwilling = false
        var interlude: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    var signatureCount: Int { state.withLock { $0.signatureCount } }
    /// How often all credentials were read.
    var readCount: Int { state.withLock { $0.readCount } }
    var questionCount: Int { questions.count }
    var questions: [InteractionRequest] { state.withLock { $0.questions } }
    /// The identifiers of credentials that new ones have replaced.
    var replaced: [[UInt8]] { state.withLock { $0.replaced } }
    /// From now on the user agrees to nothing.
    func refuseAll() { state.withLock { $0.isUnwilling = true } }
    /// Runs `interlude` once, while the user is asked the next time.
    func duringNextQuestion(_ interlude: @escaping @Sendable () -> Void) { state.withLock { $0.interlude = interlude } }

    func credentials() -> [StoredCredential] {
        state.withLock { state in
            state.readCount += 1
            return state.credentials.map(\.0)
        }
    }
    func identifiers() -> Set<[UInt8]> { state.withLock { Set($0.credentials.map(\.0.identifier)) } }
    func remainingCount() -> Int { 10 }

    func create(
        _ new: NewCredential, replacing replaced: [[UInt8]], under proof: (any UserProof)?,
        signing message: (StoredCredential, UInt32) -> [UInt8]
    ) throws(CTAPStatus) -> (StoredCredential, CountedSignature) {
        let key = P256.Signing.PrivateKey()
        let credential = StoredCredential(
            identifier: [UInt8](SHA256.hash(data: key.publicKey.rawRepresentation)), new,
            publicKey: [UInt8](key.publicKey.rawRepresentation))
        state.withLock { state in
            state.credentials.removeAll { replaced.contains($0.0.identifier) }
            state.credentials.insert((credential, key), at: 0)
            state.replaced += replaced
        }
        return (credential, try sign(with: credential, under: proof) { message(credential, $0) })
    }

    func sign(
        with credential: StoredCredential, under proof: (any UserProof)?, _ message: (UInt32) -> [UInt8]
    ) throws(CTAPStatus) -> CountedSignature {
        let (key, count) = state.withLock { state in
            state.signatureCount += 1
            return (state.credentials.first { $0.0.identifier == credential.identifier }?.1, state.signatureCount)
        }
        guard let key, let signature = try? key.signature(for: message(UInt32(count))) else { throw .other }
        return CountedSignature(counter: UInt32(count), bytes: [UInt8](signature.derRepresentation))
    }

    func outputs(
        of salts: PRFSalts, with credential: StoredCredential, isVerified: Bool, under proof: (any UserProof)?
    ) -> PRFOutputs { PRFOutputs(first: [UInt8](repeating: 1, count: 32)) }

    func update(_ user: CredentialUser, of identifier: [UInt8]) {}
    func remove(_ identifier: [UInt8]) {
        state.withLock { $0.credentials.removeAll { $0.0.identifier == identifier } }
    }
    func removeAll() {}

    var isVerificationReady: Bool? { true }
    var verificationTriesLeft: Int { 3 }

    func confirmPresence(
        for request: InteractionRequest, until cancellation: Cancellation
    ) throws(CTAPStatus) -> (any UserProof)? {
        let (isUnwilling, interlude) = state.withLock { state in
            state.questions.append(request)
            return (state.isUnwilling, state.interlude.take())
        }
        interlude?()
        guard !isUnwilling else { throw .operationDenied }
        return nil
    }

    func verify(
        for request: InteractionRequest, until cancellation: Cancellation
    ) throws(CTAPStatus) -> (any UserProof)? { try confirmPresence(for: request, until: cancellation) }
}

extension CTAPAuthenticator {
    /// Without a PIN.
    static func forTests(
        _ storage: CountingStorage, takesDomainsOnly: Bool = false,
        clock: @escaping @Sendable () -> Duration = { .zero }
    ) -> CTAPAuthenticator {
        let model = AuthenticatorModel(
            identifier: [UInt8](repeating: 7, count: 16), transports: ["usb"], isPlatform: false, alwaysVerifies: false,
            allowsReset: true, takesDomainsOnly: takesDomainsOnly)
        return CTAPAuthenticator(model, storage: storage, pins: nil, interaction: storage, clock: clock)
    }

    mutating func status(_ request: [UInt8]) -> CTAPStatus? {
        respond(to: request, until: Cancellation()).first.flatMap { CTAPStatus(rawValue: $0) }
    }
}
