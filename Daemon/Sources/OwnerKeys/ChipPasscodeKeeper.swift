import Crypto
package import Enclave
import Foundation
package import KeySlots
import Logging
import OstiaryMessages
import Passcodes
import Refusals
package import SecretMemory
import Synchronization
import Threading
package import Vault

/// The passcode's keeper where a chip counts. The chip gives out a secret for the right passcode only, and counts wrong ones.
/// The secret is the private half of the passcode key, once more encrypted under the stretched passcode: neither the chip
/// alone nor the passcode alone opens it.
///
/// The store counts too, for the delays after wrong tries. Its count can be put back with an older store, the chip's cannot.
/// A try on which the chip gives no verdict counts in the chip alone.
package final class ChipPasscodeKeeper: PasscodeKeeper {
    package let exclusively: ExclusiveAccess
    private let enclave: any PasscodeEnclave
    private let storage: KeyPairStorage
    private let counters: AttemptCounters
    private let stretching: PasscodeStretching
    private let records: PasscodeRecords
    private let log: Logger
    private let tries = Mutex(Tries())
    /// One question at a time to the chip about the passcode, and its answer noted in `tries`. Taken after `exclusively`, if both
    /// are.
    private let verdicts = Mutex(())
    /// Asks the chip for its count while a person is asked for the passcode.
    private let looks = WorkThread(name: "ostiary-tries")
    private let isLooking = Atomic(false)

    private struct Tries {
        /// The chip's count as it was last told, or zero after the right passcode; nil when the chip must be asked. So a preflight
        /// after an entry does not wait for the chip.
        var known: WrongTries?
        /// The chip's count if nobody else brings passcodes to it; nil until it was asked.
        var expected: UInt32?
    }

    /// - Parameter exclusively: the same as of `counters`.
    package init(
        vault: Vault, enclave: any PasscodeEnclave, storage: KeyPairStorage, counters: AttemptCounters,
        exclusively: ExclusiveAccess, stretching: PasscodeStretching, eraser: JournalEraser
    ) {
        self.enclave = enclave
        self.storage = storage
        self.counters = counters
        self.exclusively = exclusively
        self.stretching = stretching
        log = eraser.log
        records = PasscodeRecords(
            vault: vault, storage: storage, counters: counters, stretching: stretching, eraser: eraser)
        // Without a readable record no key that requires the passcode is made: the enclave refuses it then.
        do { try use(records.required().first) } catch {}
    }

    /// Keys that require the passcode are made below the one of this record.
    private func use(_ record: PasscodeRecord?) throws {
        try enclave.use(record?.sealedPrivateHalf, of: storage.owner.bytes)
    }

    // MARK: checking

    package func attempts() throws -> AttemptStatus {
        let delay = try counters.attempts(at: AttemptCounters.passcode)
        guard let tries = try tries.withLock({ $0.known }) ?? readableTries() else { return delay }
        let left = Self.left(tries)
        let free = min(delay.freeTriesLeft, left)
        return AttemptStatus(
            failedCount: max(delay.failedCount, tries.count), freeTriesLeft: free,
            remaining: tries.isBlocked ? AttemptStatus.forGood : delay.remaining,
            nextDelay: delay.outlook?.nextDelay ?? AttemptLimiter.firstDelay,
            triesBeforeLoss: Self.triesBeforeLoss(left, free))
    }

    /// Wrong tries until the chip looks at no passcode any more.
    private static func left(_ tries: WrongTries) -> Int { Int(tries.limit) - Int(min(tries.count, tries.limit)) }

    /// Nil when a delay comes first.
    private static func triesBeforeLoss(_ left: Int, _ free: Int) -> Int? { left <= free + 1 ? left : nil }

    /// Asks the chip for its count; nil without a passcode. Tries that are not this daemon's get a line in its log.
    package func chipTries() throws -> WrongTries? {
        guard let record = try records.stored().first else { return nil }
        return try verdicts.withLock { _ in
            let told = try enclave.wrongTries(at: record.sealedPrivateHalf)
            let counted = try countedHere()
            let expected = tries.withLock { tries in
                defer { tries = Tries(known: told, expected: told.count) }
                return tries.expected ?? counted
            }
            if told.count > expected { logOtherTries(told.count - expected, told) }
            return told
        }
    }

    /// The store's own count. After a start it tells which tries were made here.
    private func countedHere() throws -> UInt32 { try counters.attempts(at: AttemptCounters.passcode).failedCount }

    private func logOtherTries(_ count: UInt32, _ told: WrongTries) {
        log.warning(
            """
            the TPM counted \(count) wrong passcodes that were not entered here: another program that uses the TPM tries \
            passcodes, or a try got no answer before. After \(told.limit) in a row the passcode opens nothing any more
            """, metadata: ["wrong-tries": "\(told.count)"])
    }

    /// Asks the chip in the background, before the right passcode sets its count to zero. Only an entry that comes sooner waits for
    /// it. Questions in the meantime add none, however many a program puts.
    package func personIsAsked() {
        guard isLooking.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        else { return }
        looks.run { [weak self] in
            guard let self else { return }
            defer { isLooking.store(false, ordering: .releasing) }
            // A chip that does not answer tells the entry so.
            do { _ = try chipTries() } catch {}
        }
    }

    /// Nil also for a passcode of an earlier version whose count only the chip's owner reads, if the owner has a password. The
    /// chip counts all the same.
    private func readableTries() throws -> WrongTries? {
        do { return try chipTries() } catch EnclaveError.ownerPassword { return nil }
    }

    /// The chip is asked the next time.
    ///
    /// - Parameter expected: makes the number that is told then from the number until now.
    private func forgetTries(expecting expected: (UInt32?) -> UInt32?) {
        tries.withLock { $0 = Tries(known: nil, expected: expected($0.expected)) }
    }

    package func requireRecords() throws { _ = try records.required() }

    package func prove(
        _ passcode: borrowing SecretBytes, holding held: borrowing ExclusiveAccess.WithTurn
    ) throws -> ProvedPasscode {
        let entered = SecretBytes(copying: passcode)
        let required = try records.required()
        do {
            let proved = try counters.attempt(at: AttemptCounters.passcode, holding: held) {
                try open(required, with: entered, in: held.turn)
            }
            try records.settle(on: proved.record, among: required)
            return proved
        } catch let wrong as WrongSecret { throw counted(wrong) }
    }

    /// The passcode was wrong, even if the chip does not tell its count then.
    private func counted(_ wrong: WrongSecret) -> WrongSecret {
        do {
            let free = min(wrong.freeTriesLeft, try attempts().freeTriesLeft)
            let left = tries.withLock { $0.known }.map(Self.left)
            return WrongSecret(
                freeTriesLeft: free, nextDelay: wrong.outlook.nextDelay,
                triesBeforeLoss: left.flatMap { Self.triesBeforeLoss($0, free) })
        } catch { return wrong }
    }

    /// Brings the passcode to the chip, once for each way in which the records stretch it. During a change that is one way.
    private func open(
        _ records: [PasscodeRecord], with passcode: borrowing SecretBytes, in turn: borrowing StretchTurn
    ) throws -> ProvedPasscode? {
        let publicHalf = try self.records.publicHalf()
        var refused: (salt: Data, stretch: Data)?
        for record in records {
            if let refused, refused == (record.salt, record.stretch) { continue }
            let stretched = try self.records.stretched(passcode, by: record, in: turn)
            guard let opened = try opened(record, stretched) else {
                refused = (record.salt, record.stretch)
                continue
            }
            guard let seed = unwrapped(opened.secret, under: stretched, of: publicHalf) else { continue }
            let key = PasscodeKey(half: try PrivateHalf(seed: seed, publicHalf: publicHalf), session: opened.session)
            return ProvedPasscode(key: key, stretched: stretched, record: record)
        }
        // The chip accepted the passcode, but the secret that it gave out opens nothing.
        guard refused != nil else {
            throw Refusal(.storeUnreadable, "The passcode records do not fit the passcode key.")
        }
        return nil
    }

    /// Nil for a passcode that the chip refused and counted.
    ///
    /// Without the chip's verdict the store takes its own count back, because a fault of the chip must not lock out a person who
    /// types the right passcode. This gives no guess without a count: a chip that compared the passcode counted it before its
    /// answer could be lost, and looks at none after ten in a row.
    private func opened(_ record: PasscodeRecord, _ stretched: borrowing SecretBytes) throws -> OpenedPasscode? {
        let value = KeyAuthorization.derived(fromStretchedPasscode: stretched)
        do throws(EnclaveError) {
            return try judged(record, value)
        } catch {
            switch error {
            case .refused: return nil
            case .passcodeBlocked: throw UncheckedSecret(reason: Refusal.passcodeBlocked)
            // Without its storage key the chip saw no passcode.
            case .noAnswer, .unavailable, .lockedOut, .slotsTaken, .ownerPassword, .deviceLost:
                throw UncheckedSecret(reason: error)
            default: throw error
            }
        }
    }

    /// Has the chip compare the value, and notes its verdict in `tries`.
    private func judged(
        _ record: PasscodeRecord, _ value: borrowing SecretBytes
    ) throws(EnclaveError) -> OpenedPasscode {
        try verdicts.withLock { _ throws(EnclaveError) in
            // While the try is under way, this is the count before it.
            let counted = try? countedHere()
            do throws(EnclaveError) {
                let opened = try enclave.openPasscode(
                    record.sealedPrivateHalf, of: storage.owner.bytes, authorization: value)
                tries.withLock { tries in
                    tries = Tries(known: tries.known.map { WrongTries(count: 0, limit: $0.limit) }, expected: 0)
                }
                return opened
            } catch {
                forgetTries { ($0 ?? counted).map { Self.mayHaveCounted(error) && $0 < .max ? $0 + 1 : $0 } }
                throw error
            }
        }
    }

    /// Whether the chip may have compared the passcode: even if its answer was lost, but not without its storage key.
    private static func mayHaveCounted(_ error: EnclaveError) -> Bool {
        switch error {
        case .ownerPassword, .deviceLost, .passcodeBlocked: false
        default: true
        }
    }

    /// There is another index, or none: a look that is under way at the former one must not be noted after this.
    private func forgetTriesAtFormerIndex(expecting expected: UInt32?) {
        verdicts.withLock { _ in forgetTries { _ in expected } }
    }

    // MARK: set, change, remove

    package func set(
        _ passcode: borrowing SecretBytes, opening half: PrivateHalf, in turn: borrowing StretchTurn,
        as chipOwner: OwnerPassword?
    ) throws -> any PasscodeTransition {
        let (salt, parameters) = (StretchSalt.random(), StretchParameters.recommended)
        let stretched = try stretching.stretch(passcode, salt: salt, parameters: parameters, in: turn)
        let blob = try enclave.makePasscode(
            KeyAuthorization.derived(fromStretchedPasscode: stretched), sealing: wrapped(half, under: stretched),
            of: storage.owner.bytes, as: chipOwner)
        return Setting(
            keeper: self,
            record: PasscodeRecord(
                owner: storage.owner, stretch: Data(parameters.canonicalBytes), salt: Data(salt.bytes),
                sealedPrivateHalf: blob, epoch: half.epoch, state: .current, created: Self.now))
    }

    package func change(
        _ proved: ProvedPasscode, to passcode: borrowing SecretBytes, opening half: PrivateHalf,
        in turn: borrowing StretchTurn
    ) throws -> any PasscodeTransition {
        // With the salt of the former passcode, so that one entry is one try while either may be right.
        let stretched = try records.stretched(passcode, by: proved.record, in: turn)
        return Change(
            keeper: self, kept: try record(proved.record, sealing: half, under: proved.stretched, state: .current),
            incoming: try record(proved.record, sealing: half, under: stretched, state: .incoming),
            former: KeyAuthorization.derived(fromStretchedPasscode: proved.stretched),
            next: KeyAuthorization.derived(fromStretchedPasscode: stretched))
    }

    /// A record for the same index in the chip, with another private half.
    private func record(
        _ former: PasscodeRecord, sealing half: PrivateHalf, under stretched: borrowing SecretBytes,
        state: PasscodeRecord.State
    ) throws -> PasscodeRecord {
        let blob = try enclave.resealed(former.sealedPrivateHalf, with: wrapped(half, under: stretched))
        return PasscodeRecord(
            id: state == .current ? former.id : VaultID(), owner: storage.owner, stretch: former.stretch,
            salt: former.salt, sealedPrivateHalf: blob, epoch: half.epoch, state: state,
            created: state == .current ? former.created : Self.now)
    }

    private static var now: UInt64 { UInt64(Date().timeIntervalSince1970) }

    package func remove(_ proved: ProvedPasscode) -> any PasscodeTransition {
        Removal(
            keeper: self, blob: proved.record.sealedPrivateHalf,
            value: KeyAuthorization.derived(fromStretchedPasscode: proved.stretched))
    }

    private struct Setting: PasscodeTransition {
        let keeper: ChipPasscodeKeeper
        let record: PasscodeRecord

        func store(in writer: VaultWriter) throws {
            try keeper.records.set(record, in: writer)
        }

        func finish() throws {
            keeper.forgetTriesAtFormerIndex(expecting: 0)
            try keeper.use(record)
        }
    }

    /// Until the chip has followed, the former passcode is the right one; from then on the next one.
    private final class Change: PasscodeTransition {
        let keeper: ChipPasscodeKeeper
        let kept: PasscodeRecord
        let incoming: PasscodeRecord
        let former: SecretBytes
        let next: SecretBytes

        init(
            keeper: ChipPasscodeKeeper, kept: PasscodeRecord, incoming: PasscodeRecord, former: consuming SecretBytes,
            next: consuming SecretBytes
        ) {
            (self.keeper, self.kept, self.incoming) = (keeper, kept, incoming)
            self.former = former
            self.next = next
        }

        func store(in writer: VaultWriter) throws {
            try writer.setPasscodeRecord(kept)
            try writer.setPasscodeRecord(incoming)
        }

        func finish() throws {
            try keeper.enclave.changePasscode(incoming.sealedPrivateHalf, from: former, to: next)
            try keeper.records.settle(on: incoming, among: [kept, incoming])
        }
    }

    private final class Removal: PasscodeTransition {
        let keeper: ChipPasscodeKeeper
        let blob: Data
        let value: SecretBytes

        init(keeper: ChipPasscodeKeeper, blob: Data, value: consuming SecretBytes) {
            (self.keeper, self.blob) = (keeper, blob)
            self.value = value
        }

        func store(in writer: VaultWriter) throws {
            try keeper.records.removeAll(in: writer)
        }

        /// The passcode is gone with the commit, whatever the chip does.
        func finish() {
            keeper.forgetTriesAtFormerIndex(expecting: nil)
            do {
                try keeper.use(nil)
                try leaveChip()
            } catch {
                keeper.log.warning(
                    "the removed passcode's index stays in the TPM, and opens nothing; the next passcode replaces it",
                    metadata: ["cause": "\(error)"])
            }
        }

        /// Where the chip's owner has a password, nobody is asked for it: the index stays, with a value that nobody knows. So the
        /// passcode opens no older copy of the store either. The next passcode replaces the index.
        private func leaveChip() throws {
            do {
                try keeper.enclave.removePasscode(of: keeper.storage.owner.bytes, as: nil)
            } catch EnclaveError.ownerPassword {
                try keeper.enclave.changePasscode(
                    blob, from: value, to: KeyAuthorization.derived(from: SecretBytes(random: 32)))
            }
        }
    }

    // MARK: the second lock

    /// The seed of a private half, AES-256-GCM under a key of the stretched passcode, with its context as bound data: nonce (12),
    /// ciphertext, tag (16).
    private func wrapped(_ half: PrivateHalf, under stretched: borrowing SecretBytes) throws -> SecretBytes {
        let key = Self.wrappingKey(stretched)
        let context = storage.context(of: half.publicHalf)
        return try half.withSeed { seed in
            try unsafe seed.withUnsafeBytes { bytes in
                let box = try unsafe AES.GCM.seal(bytes, using: key, authenticating: context)
                return SecretBytes(box.nonce + box.ciphertext + box.tag)
            }
        }
    }

    /// Nil for a seed under another passcode, or of another key.
    private func unwrapped(
        _ secret: borrowing SecretBytes, under stretched: borrowing SecretBytes, of half: PublicHalf
    ) -> SecretBytes? {
        var bytes = Data(exposing: secret)
        defer { bytes.wipe() }
        do {
            let box = try AES.GCM.SealedBox(combined: bytes)
            var seed = try AES.GCM.open(
                box, using: Self.wrappingKey(stretched), authenticating: storage.context(of: half))
            return SecretBytes(taking: &seed)
        } catch {
            return nil
        }
    }

    private static func wrappingKey(_ stretched: borrowing SecretBytes) -> SymmetricKey {
        stretched.derivedKey(label: "ostiary.passcode.private-half.v1")
    }
}
