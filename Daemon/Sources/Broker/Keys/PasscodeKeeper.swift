import Authenticators
import Enclave
import Foundation
import KeySlots
import OstiaryMessages
import SecretMemory
import Vault

/// A passcode that has just been proved. It exists while what needs it is done, and is wiped with its last reference.
final class ProvedPasscode: Sendable {
    /// Private half of the passcode key.
    let half: PrivateHalf
    /// The stretched passcode and the record it fits, for sealing a successor under the same passcode.
    let stretched: SecretBytes
    let record: PasscodeRecord

    init(half: PrivateHalf, stretched: consuming SecretBytes, record: PasscodeRecord) {
        self.half = half
        self.stretched = stretched
        self.record = record
    }
}

/// Checks passcodes. Each check costs an attempt that is on disk before the passcode is looked at, so that a killed daemon
/// gives no free try; after the fourth failure in a row each costs a growing delay too.
final class PasscodeKeeper: Sendable {
    /// The counter of the passcode; an object's application password has one under the object's id.
    static let subject = Data("passcode".utf8)

    private let vault: Vault
    private let enclave: any Enclave
    private let storage: KeyPairStorage
    private let clock: any BootClock
    /// One check at a time: the attempt that one counts must be seen by the next.
    private let checking = NSLock()

    init(vault: Vault, enclave: any Enclave, storage: KeyPairStorage, clock: any BootClock) {
        self.vault = vault
        self.enclave = enclave
        self.storage = storage
        self.clock = clock
    }

    // MARK: attempts

    /// Failed tries in a row and what is left of the delay, without counting one.
    ///
    /// After a reboot the delay begins anew, and that is stored here: whoever is told to wait does not try, so no attempt
    /// would ever start the new delay.
    func attempts(at subject: Data = subject) throws -> (failedCount: UInt32, remaining: Duration) {
        checking.lock()
        defer { checking.unlock() }
        let state = try state(of: subject)
        guard case .lockedOut(let remaining, let next) = AttemptLimiter.beginAttempt(state, at: clock.now()) else {
            return (state.failedCount, .zero)
        }
        if next.isOfAnotherBoot(than: state) { try save(next, of: subject) }
        return (state.failedCount, remaining)
    }

    /// Counts an attempt, runs `check`, and forgives the attempts when it succeeds.
    ///
    /// - Parameter check: nil for a wrong secret; throwing means that nothing could be checked, and the attempt stays
    ///   counted.
    func attempt<Proof>(at subject: Data, _ check: () throws -> Proof?) throws -> Proof {
        checking.lock()
        defer { checking.unlock() }
        switch AttemptLimiter.beginAttempt(try state(of: subject), at: clock.now()) {
        case .lockedOut(let remaining, let next):
            try save(next, of: subject)
            throw Refusals.lockedOut(remaining)
        case .allowed(let counted):
            try save(counted, of: subject)
            guard let proof = try check() else { throw WrongSecret(freeTriesLeft: AttemptLimiter.freeFailures(after: counted)) }
            try save(AttemptLimiter.succeeded(), of: subject)
            return proof
        }
    }

    private func state(of subject: Data) throws -> AttemptState {
        guard let record = try vault.read({ try $0.attempts(owner: storage.owner, subject: subject) }) else {
            return .initial
        }
        return try AttemptState(canonicalBytes: Array(record.delayState))
    }

    private func save(_ state: AttemptState, of subject: Data) throws {
        try vault.write("attempt") {
            try $0.setAttempts(
                AttemptRecord(
                    owner: storage.owner, subject: subject, failedCount: state.failedCount,
                    delayState: Data(state.canonicalBytes)))
        }
    }

    // MARK: the passcode

    /// Checks a passcode against the record, or during an unfinished change against both. Throws ``WrongSecret`` or a
    /// refusal; a success settles an unfinished change in favour of the passcode that fits.
    func prove(_ passcode: borrowing SecretBytes) throws -> ProvedPasscode {
        let records = try records()
        let entered = SecretBytes(copying: passcode)
        let proved = try attempt(at: Self.subject) {
            for record in records {
                if let proved = try Self.open(record, with: entered, enclave: enclave, storage: storage, vault: vault) {
                    return proved
                }
            }
            return nil as ProvedPasscode?
        }
        try settle(on: proved.record, among: records)
        return proved
    }

    /// The owner's passcode records, an incoming one first.
    private func records() throws -> [PasscodeRecord] {
        let stored = try vault.read { try $0.passcodeRecords(owner: storage.owner) }
        let records = stored.compactMap(\.record)
        guard records.count == stored.count else {
            throw Refusal(.storeUnreadable, "A passcode record does not verify; run `ostiary doctor`.")
        }
        guard !records.isEmpty else { throw Refusals.passcodeNotSet }
        return records.sorted { $0.state.rawValue > $1.state.rawValue }
    }

    private static func open(
        _ record: PasscodeRecord, with passcode: borrowing SecretBytes, enclave: any Enclave, storage: KeyPairStorage,
        vault: Vault
    ) throws -> ProvedPasscode? {
        guard let salt = StretchSalt(Array(record.salt)) else {
            throw Refusal(.storeUnreadable, "A passcode record cannot be read.")
        }
        let parameters = try StretchParameters(canonicalBytes: Array(record.stretch))
        let stretched = try PasscodeStretcher(parameters: parameters).stretch(passcode, salt: salt)
        guard let pair = try vault.read({ try $0.keyPair(owner: storage.owner, role: KeyRole.passcode.code) }) else {
            throw Refusal(.storeUnreadable, "The passcode key is missing.")
        }
        let publicHalf = try storage.publicHalf(of: pair)
        do {
            let seed = try enclave.unseal(
                record.sealedPrivateHalf, authorization: stretched, context: storage.context(of: publicHalf))
            let half = try PrivateHalf(seed: seed, publicHalf: publicHalf)
            return ProvedPasscode(half: half, stretched: stretched, record: record)
        } catch EnclaveError.refused {
            return nil
        }
    }

    /// A new record that opens `half` with `passcode`. Stretching takes a noticeable fraction of a second.
    func record(
        sealing half: PrivateHalf, under passcode: borrowing SecretBytes, state: PasscodeRecord.State
    ) throws -> PasscodeRecord {
        let stretcher = PasscodeStretcher()
        let salt = StretchSalt.random()
        let stretched = try stretcher.stretch(passcode, salt: salt)
        return PasscodeRecord(
            owner: storage.owner, stretch: Data(stretcher.parameters.canonicalBytes), salt: Data(salt.bytes),
            sealedPrivateHalf: try sealed(half, under: stretched), epoch: half.epoch, state: state,
            created: UInt64(Date().timeIntervalSince1970))
    }

    /// The record of a proved passcode, opening another key pair's private half.
    func record(resealing half: PrivateHalf, under proved: ProvedPasscode) throws -> PasscodeRecord {
        PasscodeRecord(
            id: proved.record.id, owner: storage.owner, stretch: proved.record.stretch, salt: proved.record.salt,
            sealedPrivateHalf: try sealed(half, under: proved.stretched), epoch: half.epoch, state: .current,
            created: proved.record.created)
    }

    private func sealed(_ half: PrivateHalf, under stretched: borrowing SecretBytes) throws -> Data {
        try half.withSeed {
            try enclave.seal($0, authorization: stretched, context: storage.context(of: half.publicHalf))
        }
    }

    /// Ends an unfinished change: the record that fits stays, the other goes.
    func settle(on record: PasscodeRecord, among records: [PasscodeRecord]) throws {
        guard records.count > 1 || record.state != .current else { return }
        try vault.write("passcode.settle") { writer in
            for other in records where other.id != record.id {
                try writer.removePasscodeRecord(other.id, owner: storage.owner)
            }
            var settled = record
            settled.state = .current
            try writer.setPasscodeRecord(settled)
        }
        try vault.compactAfterSecretsChanged()
    }
}

/// A passcode or application password that does not fit.
struct WrongSecret: Error, Equatable {
    /// Further wrong tries that cost no delay.
    let freeTriesLeft: Int
}
