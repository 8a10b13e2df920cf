package import AuthenticatorRequests
package import CTAP
package import Cancellations
package import Crypto
import Foundation
import Synchronization

/// A key of CTAP 2.1 with its memory, which stays when the key is unplugged.
package final class FIDO2Engine: KeyEngine {
    package let capabilities: UInt8 = 0x0C
    package let memory: KeyMemory
    private let authenticator: Mutex<CTAPAuthenticator>

    package static let identifier = Array("Ostiary test key".utf8)

    /// - Parameters:
    ///   - memory: credentials and PIN.
    ///   - hasPIN: whether the key knows PINs.
    package init(
        _ finger: TestFinger, memory: KeyMemory = KeyMemory(), hasPIN: Bool = true, alwaysVerifies: Bool = false,
        identifier: [UInt8] = FIDO2Engine.identifier, transports: [String] = ["usb"]
    ) {
        self.memory = memory
        let model = AuthenticatorModel(
            identifier: identifier, transports: transports, isPlatform: false, alwaysVerifies: alwaysVerifies,
            allowsReset: true, takesDomainsOnly: false)
        let start = ContinuousClock.now
        authenticator = Mutex(
            CTAPAuthenticator(
                model, storage: memory, pins: hasPIN ? memory : nil, interaction: finger,
                clock: { start.duration(to: .now) }))
    }

    package func respond(toCBOR request: [UInt8], until cancellation: Cancellation) -> [UInt8] {
        authenticator.withLock { $0.respond(to: request, until: cancellation) }
    }

    package func respond(toMessage request: [UInt8]) -> [UInt8] { [0x6D, 0x00] }
}

/// Credentials and PIN in memory.
package final class KeyMemory: CredentialStorage, PINStorage {
    private struct Kept {
        var credential: StoredCredential
        var key: P256.Signing.PrivateKey
        var secrets: [[UInt8]]
    }

    private struct State {
        var kept: [Kept] = []
        var counter: UInt32 = 0
        var pinHash: [UInt8]?
        var pinTries = 8
    }

    private let state = Mutex(State())

    package init(pin: String? = nil) {
        guard let pin else { return }
        state.withLock { $0.pinHash = Array(SHA256.hash(data: Array(pin.utf8)).prefix(16)) }
    }

    package func publicKey(of identifier: [UInt8]) -> P256.Signing.PublicKey? {
        state.withLock { $0.kept.first { $0.credential.identifier == identifier }?.key.publicKey }
    }

    package var count: Int { state.withLock { $0.kept.count } }

    package func credentials() -> [StoredCredential] { state.withLock { $0.kept.map(\.credential) } }
    package func identifiers() -> Set<[UInt8]> { state.withLock { Set($0.kept.map(\.credential.identifier)) } }
    package func remainingCount() -> Int { 25 }

    package func create(
        _ new: NewCredential, replacing replaced: [[UInt8]], under proof: (any UserProof)?,
        signing message: (StoredCredential, UInt32) -> [UInt8]
    ) throws(CTAPStatus) -> (StoredCredential, CountedSignature) {
        let key = P256.Signing.PrivateKey()
        let random = { (count: Int) in (0..<count).map { _ in UInt8.random(in: 0...255) } }
        let credential = StoredCredential(
            identifier: random(32), new, publicKey: Array(key.publicKey.rawRepresentation))
        state.withLock { state in
            state.kept.removeAll { replaced.contains($0.credential.identifier) }
            state.kept.insert(Kept(credential: credential, key: key, secrets: [random(32), random(32)]), at: 0)
        }
        return (credential, try sign(with: credential, under: proof) { message(credential, $0) })
    }

    package func sign(
        with credential: StoredCredential, under proof: (any UserProof)?, _ message: (UInt32) -> [UInt8]
    ) throws(CTAPStatus) -> CountedSignature {
        let (key, counter) = state.withLock { state in
            state.counter += 1
            return (state.kept.first { $0.credential.identifier == credential.identifier }?.key, state.counter)
        }
        guard let signature = try? key?.signature(for: message(counter)) else { throw .noCredentials }
        return CountedSignature(counter: counter, bytes: Array(signature.derRepresentation))
    }

    package func outputs(
        of salts: PRFSalts, with credential: StoredCredential, isVerified: Bool, under proof: (any UserProof)?
    ) throws(CTAPStatus) -> PRFOutputs {
        let secrets = state.withLock { $0.kept.first { $0.credential.identifier == credential.identifier }?.secrets }
        guard let secrets else { throw .noCredentials }
        let key = SymmetricKey(data: secrets[isVerified ? 1 : 0])
        let output = { (salt: [UInt8]) in Array(HMAC<SHA256>.authenticationCode(for: salt, using: key)) }
        return PRFOutputs(first: output(salts.first), second: salts.second.map(output))
    }

    package func update(_ user: CredentialUser, of identifier: [UInt8]) {
        state.withLock { state in
            for index in state.kept.indices where state.kept[index].credential.identifier == identifier {
                state.kept[index].credential.user = user
            }
        }
    }

    package func remove(_ identifier: [UInt8]) {
        state.withLock { $0.kept.removeAll { $0.credential.identifier == identifier } }
    }

    package func removeAll() { state.withLock { $0.kept = [] } }

    package func pinHash() -> [UInt8]? { state.withLock { $0.pinHash } }
    package func setPINHash(_ hash: [UInt8]) { state.withLock { ($0.pinHash, $0.pinTries) = (hash, 8) } }
    package func pinTriesLeft() -> Int { state.withLock { $0.pinTries } }
    package func setPINTriesLeft(_ count: Int) { state.withLock { $0.pinTries = count } }
    package func removePIN() { state.withLock { $0.pinHash = nil } }
}
