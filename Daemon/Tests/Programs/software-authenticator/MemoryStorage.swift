import AuthenticatorRequests
import CTAP
import Crypto
import Foundation
import Synchronization

/// Credentials and a PIN that live as long as the program.
final class MemoryStorage: CredentialStorage, PINStorage {
    fileprivate struct Entry {
        var credential: StoredCredential
        let key: P256.Signing.PrivateKey
        let secrets: (verified: SymmetricKey, unverified: SymmetricKey)
        var counter: UInt32 = 0
    }

    fileprivate struct State {
        var entries: [Entry] = []
        var pinHash: [UInt8]?
        var pinTries = CTAPLimits.pinTries
    }

    private let state = Mutex(State())
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    func credentials() -> [StoredCredential] { state.withLock { $0.entries.map(\.credential) } }

    func identifiers() -> Set<[UInt8]> { state.withLock { Set($0.entries.map(\.credential.identifier)) } }

    func remainingCount() -> Int {
        state.withLock { state in max(0, capacity - state.entries.count { $0.credential.isDiscoverable }) }
    }

    func create(
        _ new: NewCredential, replacing replaced: [[UInt8]], under proof: (any UserProof)?,
        signing message: (StoredCredential, UInt32) -> [UInt8]
    ) throws(CTAPStatus) -> (StoredCredential, CountedSignature) {
        let key = P256.Signing.PrivateKey()
        var generator = SystemRandomNumberGenerator()
        let identifier = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let credential = StoredCredential(
            identifier: identifier, new, publicKey: [UInt8](key.publicKey.rawRepresentation))
        let signature = try Self.signature(key, message(credential, 1))
        return try state.withLock { state throws(CTAPStatus) in
            let kept = state.entries.filter { !replaced.contains($0.credential.identifier) }
            guard !new.isDiscoverable || kept.count(where: \.credential.isDiscoverable) < capacity else {
                throw .keyStoreFull
            }
            let secrets = (SymmetricKey(size: .bits256), SymmetricKey(size: .bits256))
            state.entries = [Entry(credential: credential, key: key, secrets: secrets, counter: 1)] + kept
            return (credential, CountedSignature(counter: 1, bytes: signature))
        }
    }

    func sign(
        with credential: StoredCredential, under proof: (any UserProof)?, _ message: (UInt32) -> [UInt8]
    ) throws(CTAPStatus) -> CountedSignature {
        try state.withLock { state throws(CTAPStatus) in
            guard let index = state.index(of: credential.identifier) else { throw .noCredentials }
            state.entries[index].counter += 1
            let entry = state.entries[index]
            return CountedSignature(
                counter: entry.counter, bytes: try Self.signature(entry.key, message(entry.counter)))
        }
    }

    private static func signature(_ key: P256.Signing.PrivateKey, _ message: [UInt8]) throws(CTAPStatus) -> [UInt8] {
        do {
            return [UInt8](try key.signature(for: message).derRepresentation)
        } catch {
            throw .other
        }
    }

    func outputs(
        of salts: PRFSalts, with credential: StoredCredential, isVerified: Bool, under proof: (any UserProof)?
    ) throws(CTAPStatus) -> PRFOutputs {
        try state.withLock { state throws(CTAPStatus) in
            guard let index = state.index(of: credential.identifier) else { throw .noCredentials }
            let secrets = state.entries[index].secrets
            let key = isVerified ? secrets.verified : secrets.unverified
            func output(_ salt: [UInt8]) -> [UInt8] {
                [UInt8](HMAC<SHA256>.authenticationCode(for: salt, using: key))
            }
            return PRFOutputs(first: output(salts.first), second: salts.second.map(output))
        }
    }

    func update(_ user: CredentialUser, of identifier: [UInt8]) {
        state.withLock { state in
            if let index = state.index(of: identifier) { state.entries[index].credential.user = user }
        }
    }

    func remove(_ identifier: [UInt8]) {
        state.withLock { $0.entries.removeAll { $0.credential.identifier == identifier } }
    }

    func removeAll() { state.withLock { $0.entries = [] } }

    func pinHash() -> [UInt8]? { state.withLock { $0.pinHash } }

    func setPINHash(_ hash: [UInt8]) {
        state.withLock { state in (state.pinHash, state.pinTries) = (hash, CTAPLimits.pinTries) }
    }

    func setPIN(_ pin: String) { setPINHash(Array(SHA256.hash(data: Data(pin.utf8)).prefix(16))) }
    func pinTriesLeft() -> Int { state.withLock { $0.pinTries } }
    func setPINTriesLeft(_ count: Int) { state.withLock { $0.pinTries = count } }
    func removePIN() { state.withLock { state in (state.pinHash, state.pinTries) = (nil, CTAPLimits.pinTries) } }
}

extension MemoryStorage.State {
    fileprivate func index(of identifier: [UInt8]) -> Int? {
        entries.firstIndex { $0.credential.identifier == identifier }
    }
}
