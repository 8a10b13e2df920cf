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
    private let stretching: PasscodeStretching
    private let eraser: JournalEraser
    private let checking = NSRecursiveLock()

    init(
        vault: Vault, enclave: any Enclave, storage: KeyPairStorage, clock: any BootClock,
        stretching: PasscodeStretching, eraser: JournalEraser
    ) {
        self.vault = vault
        self.enclave = enclave
        self.storage = storage
        self.clock = clock
        self.stretching = stretching
        self.eraser = eraser
    }

    /// Runs `body` while no other passcode is checked, set, changed or removed: the attempt that one check counts must be
    /// seen by the next, and records, key pairs, slots and the key ring that are read inside belong together.
    ///
    /// Taken after `Broker.changing` where both are held. Calls may be nested.
    func exclusively<Result: ~Copyable>(_ body: () throws -> Result) rethrows -> Result {
        checking.lock()
        defer { checking.unlock() }
        return try body()
    }

    // MARK: attempts

    /// Failed tries in a row and what is left of the delay, without counting one. The first look after a reboot begins the
    /// delay again and stores that.
    func attempts(at subject: Data = subject) throws -> (failedCount: UInt32, remaining: Duration) {
        try exclusively {
            let (state, now) = (try state(of: subject), clock.now())
            let settled = AttemptLimiter.settled(state, at: now)
            if AttemptLimiter.mustStore(settled, insteadOf: state) { try save(settled, of: subject) }
            guard case .lockedOut(let remaining, _) = AttemptLimiter.beginAttempt(settled, at: now) else {
                return (settled.failedCount, .zero)
            }
            return (settled.failedCount, remaining)
        }
    }

    /// Counts an attempt, runs `check`, and forgives the attempts when it succeeds.
    ///
    /// - Parameter check: nil for a wrong secret. ``UncheckedSecret`` takes the attempt back; after any other error it stays
    ///   counted.
    func attempt<Proof>(at subject: Data, _ check: () throws -> Proof?) throws -> Proof {
        try exclusively {
            let state = try state(of: subject)
            switch AttemptLimiter.beginAttempt(state, at: clock.now()) {
            case .lockedOut(let remaining, let next):
                try save(next, of: subject)
                throw Refusals.lockedOut(remaining)
            case .allowed(let counted):
                try save(counted, of: subject)
                let proof: Proof?
                do { proof = try check() } catch let unchecked as UncheckedSecret {
                    try save(state, of: subject)
                    throw unchecked.refusal
                }
                guard let proof else {
                    throw WrongSecret(freeTriesLeft: AttemptLimiter.freeFailures(after: counted))
                }
                try save(AttemptLimiter.succeeded(), of: subject)
                return proof
            }
        }
    }

    /// Throws the refusal that an attempt would get because of a delay: nobody is asked for what could not be checked.
    func requireNoDelay(at subject: Data) throws {
        let remaining = try attempts(at: subject).remaining
        if remaining > .zero { throw Refusals.lockedOut(remaining) }
    }

    private func state(of subject: Data) throws -> AttemptState {
        guard let record = try vault.read({ try $0.attempts(owner: storage.owner, subject: subject) }) else {
            return .initial
        }
        return try AttemptState(canonicalBytes: Array(record.delayState))
    }

    private func save(_ state: AttemptState, of subject: Data) throws {
        try vault.write("attempt") { writer in
            // What was removed while it was asked for took its counter along; another one would stay for ever.
            guard try isThere(subject, in: writer) else { throw Refusals.removedMeanwhile }
            try writer.setAttempts(
                AttemptRecord(
                    owner: storage.owner, subject: subject, failedCount: state.failedCount,
                    delayState: Data(state.canonicalBytes)))
        }
    }

    /// Whether what is guessed at is stored: the passcode, or the right, key or item that has the application password.
    private func isThere(_ subject: Data, in reader: VaultReader) throws -> Bool {
        guard subject != Self.subject else { return true }
        guard let id = VaultID(bytes: subject) else { return false }
        if try reader.object(id, owner: storage.owner) != nil { return true }
        return try reader.item(id, owner: storage.owner) != nil
    }

    // MARK: the passcode

    /// Checks a passcode against the record, or during an unfinished change against both. Throws ``WrongSecret`` or a
    /// refusal; a success settles an unfinished change in favour of the passcode that fits.
    func prove(_ passcode: borrowing SecretBytes) throws -> ProvedPasscode {
        let entered = SecretBytes(copying: passcode)
        return try exclusively {
            let records = try records()
            let proved = try attempt(at: Self.subject) {
                for record in records {
                    if let proved = try open(record, with: entered) { return proved }
                }
                return nil as ProvedPasscode?
            }
            try settle(on: proved.record, among: records)
            return proved
        }
    }

    /// Throws unless there is a passcode whose records verify: nobody is asked for one that could not be checked.
    func requireRecords() throws { _ = try records() }

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

    private func open(_ record: PasscodeRecord, with passcode: borrowing SecretBytes) throws -> ProvedPasscode? {
        guard let salt = StretchSalt(Array(record.salt)) else {
            throw Refusal(.storeUnreadable, "A passcode record cannot be read; run `ostiary doctor`.")
        }
        let parameters = try StretchParameters(canonicalBytes: Array(record.stretch))
        let stretched = try stretching.stretch(passcode, salt: salt, parameters: parameters)
        guard let pair = try vault.read({ try $0.keyPair(owner: storage.owner, role: KeyRole.passcode.code) }) else {
            throw Refusal(.storeUnreadable, "The passcode key is missing; run `ostiary doctor`.")
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
        let parameters = StretchParameters.recommended
        let salt = StretchSalt.random()
        let stretched = try stretching.stretch(passcode, salt: salt, parameters: parameters)
        return PasscodeRecord(
            owner: storage.owner, stretch: Data(parameters.canonicalBytes), salt: Data(salt.bytes),
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
        eraser.erase()
    }
}

/// A secret that was not tried at anything, so that nobody has learned whether it fits.
struct UncheckedSecret: Error {
    let refusal: Refusal
}

/// A passcode or application password that does not fit.
struct WrongSecret: Error, Equatable {
    /// Further wrong tries that cost no delay.
    let freeTriesLeft: Int
}
