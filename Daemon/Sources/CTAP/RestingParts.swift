import AuthenticatorRequests
import Cancellations

/// Storage and user of an authenticator between two commands: there are no credentials, and nobody agrees to anything.
struct RestingParts: CredentialStorage, UserInteraction {
    func credentials() throws(CTAPStatus) -> [StoredCredential] { throw .notAllowed }

    func identifiers() throws(CTAPStatus) -> Set<[UInt8]> { throw .notAllowed }

    func remainingCount() throws(CTAPStatus) -> Int { throw .notAllowed }

    func create(
        _ new: NewCredential, replacing replaced: [[UInt8]], under proof: (any UserProof)?,
        signing message: (StoredCredential, UInt32) -> [UInt8]
    ) throws(CTAPStatus) -> (StoredCredential, CountedSignature) { throw .notAllowed }

    func sign(
        with credential: StoredCredential, under proof: (any UserProof)?, _ message: (UInt32) -> [UInt8]
    ) throws(CTAPStatus) -> CountedSignature { throw .notAllowed }

    func outputs(
        of salts: PRFSalts, with credential: StoredCredential, isVerified: Bool, under proof: (any UserProof)?
    ) throws(CTAPStatus) -> PRFOutputs { throw .notAllowed }

    func update(_ user: CredentialUser, of identifier: [UInt8]) throws(CTAPStatus) { throw .notAllowed }

    func remove(_ identifier: [UInt8]) throws(CTAPStatus) { throw .notAllowed }

    func removeAll() throws(CTAPStatus) { throw .notAllowed }

    var isVerificationReady: Bool? { false }

    var verificationTriesLeft: Int { 0 }

    func confirmPresence(
        for request: InteractionRequest, until cancellation: Cancellation
    ) throws(CTAPStatus) -> (any UserProof)? { throw .operationDenied }

    func verify(
        for request: InteractionRequest, until cancellation: Cancellation
    ) throws(CTAPStatus) -> (any UserProof)? { throw .operationDenied }
}
