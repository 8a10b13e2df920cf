package import Foundation
package import KeySlots
import OstiaryMessages
package import Refusals
package import SecretMemory
package import Vault

/// Enrolling, using and removing security keys as factors.
package struct SecurityKeyLife: Sendable {
    private let vault: Vault
    private let owner: VaultID
    private let ring: KeyRing
    private let storeID: VaultID
    private let eraser: JournalEraser
    /// The row lies among the counters of wrong tries, and so under the store's root: an older one is refused.
    package static let subject = Data("security-keys".utf8)

    package init(vault: Vault, owner: VaultID, ring: KeyRing, eraser: JournalEraser) {
        self.vault = vault
        self.owner = owner
        self.ring = ring
        storeID = vault.storeID
        self.eraser = eraser
    }

    /// Names the owner in this store.
    package var context: Data { storeID.bytes + owner.bytes }

    /// - Throws: when the row does not verify or cannot be read; that is not the same as no keys.
    package func load() throws -> SecurityKeyRecord { try vault.read { try load(in: $0) } }

    private func load(in reader: VaultReader) throws -> SecurityKeyRecord {
        guard let row = try reader.attempts(owner: owner, subject: Self.subject) else { return SecurityKeyRecord() }
        return try SecurityKeyRecord(decoding: row.delayState)
    }

    /// The private halves of all pairs that the factor has, the present one last.
    ///
    /// - Parameter secret: the key's output for the salt of its generation.
    /// - Throws: ``SlotError`` when it is another key's secret, or one without verification.
    package func open(
        _ key: SecurityKeyRecord.Key, of record: SecurityKeyRecord, with secret: borrowing SecretBytes
    ) throws -> [PrivateHalf] {
        let own = try Self.ownHalf(secret, epoch: key.publicHalf.epoch)
        guard own.publicHalf == key.publicHalf else { throw SlotError.refused }
        let context = context(of: key)
        return try zip(record.epochs, key.wraps).map { half, wrap in
            try wrap.unwrapped(as: half, with: own, context: context)
        }
    }

    /// Adds a key. The first one brings the factor's first pair.
    ///
    /// - Parameters:
    ///   - secret: the key's output for the salt of the record's generation.
    ///   - record: the record that was loaded before the key was asked.
    ///   - opened: the result of ``open(_:of:with:)`` for a key that is enrolled already; empty for the first key.
    package func enroll(
        _ new: NewSecurityKey, secret: borrowing SecretBytes, to record: SecurityKeyRecord,
        openedBy opened: [PrivateHalf]
    ) throws {
        let secret = SecretBytes(copying: secret)
        try change("security-key.enroll", irrevocable: .atOnce) { present in
            guard present.epochs == record.epochs, present.saltGeneration == record.saltGeneration,
                opened.map(\.publicHalf) == present.epochs
            else { throw Refusal.keysChanged }
            try Self.requireRoom(in: present)
            var halves = opened
            if halves.isEmpty {
                present.epochNumber += 1
                halves = [try PrivateHalf(generating: .securityKey, epoch: present.epochNumber)]
                present.epochs = halves.map(\.publicHalf)
            }
            present.keyPairNumber += 1
            let own = try Self.ownHalf(secret, epoch: present.keyPairNumber)
            var key = SecurityKeyRecord.Key(
                identifier: new.identifier, name: new.name, enrolledAt: new.enrolledAt, credential: new.credential,
                isVerified: new.isVerified, pinProtocol: new.pinProtocol, model: new.model,
                saltGeneration: present.saltGeneration, publicHalf: own.publicHalf, wraps: [])
            key.wraps = try wraps(of: halves, for: key)
            present.keys.append(key)
        }
    }

    /// Throws when no other key can be enrolled.
    package static func requireRoom(in record: SecurityKeyRecord) throws(Refusal) {
        guard record.keys.count < SecurityKeyRecord.keyCount else {
            throw Refusal(
                .tooMany,
                "\(SecurityKeyRecord.keyCount) security keys are enrolled, which is the most. Remove one first.",
                cause: "security-key.too-many")
        }
    }

    /// Removes a key and its wraps. New objects are sealed to a new pair of the factor, which the removed key never
    /// held, and the other keys compute with a new salt from their next use on. With the last key the factor ends.
    ///
    /// - Throws: a refusal with the cause `security-key.not-found`.
    package func remove(_ identifier: Data) throws {
        // An older copy of the store would give a lost key everything back.
        try change("security-key.remove", irrevocable: .atOnce) { record in
            guard record.keys.contains(where: { $0.identifier == identifier }) else { throw Self.notFound }
            record.keys.removeAll { $0.identifier == identifier }
            guard !record.keys.isEmpty else { return record.epochs = [] }
            if record.keys.allSatisfy({ $0.saltGeneration == record.saltGeneration }) { record.saltGeneration += 1 }
            // Where there is no room for another pair the present one stays: a key must be removable at any time, and its wraps go.
            guard record.epochs.count < SecurityKeyRecord.epochCount else { return }
            record.epochNumber += 1
            let half = try PrivateHalf(generating: .securityKey, epoch: record.epochNumber)
            record.epochs.append(half.publicHalf)
            for index in record.keys.indices {
                record.keys[index].wraps += try wraps(of: [half], for: record.keys[index])
            }
        }
        eraser.erase()
    }

    package static var notFound: Refusal {
        Refusal(
            .notFound, "There is no such security key. `ostiary security-key list` shows them.",
            cause: "security-key.not-found")
    }

    /// Has a key that was just used go on with the record's salt.
    ///
    /// - Parameters:
    ///   - key: its record at the time of the use.
    ///   - halves: the private halves that it opened.
    ///   - secret: its output for the record's salt.
    package func renew(
        _ key: SecurityKeyRecord.Key, of record: SecurityKeyRecord, halves: [PrivateHalf],
        secret: borrowing SecretBytes
    ) throws {
        let secret = SecretBytes(copying: secret)
        // Every copy since the last removal has the same keys, so this use of a key is worth no step.
        try change("security-key.renew", irrevocable: nil) { present in
            guard present.saltGeneration == record.saltGeneration, present.epochs == record.epochs,
                let index = present.keys.firstIndex(of: key)
            else { throw Refusal.keysChanged }
            present.keyPairNumber += 1
            present.keys[index].publicHalf = try Self.ownHalf(secret, epoch: present.keyPairNumber).publicHalf
            present.keys[index].saltGeneration = present.saltGeneration
            present.keys[index].wraps = try wraps(of: halves, for: present.keys[index])
        }
        eraser.erase()
    }

    private func change(
        _ name: String, irrevocable: Irrevocability?, _ change: (inout SecurityKeyRecord) throws -> Void
    ) throws {
        let record = try vault.write(name, irrevocable: irrevocable) { writer in
            var record = try load(in: writer)
            try change(&record)
            try writer.setAttempts(
                AttemptRecord(owner: owner, subject: Self.subject, failedCount: 0, delayState: record.encoded))
            if let half = record.epochs.last {
                // The private half lies below each enrolled key, and nowhere else.
                try writer.setKeyPair(
                    KeyPairRecord(
                        owner: owner, role: half.role.code, epoch: half.epoch, publicHalf: half.encoded,
                        wrappedPrivateHalf: nil))
            } else {
                try writer.removeKeyPair(owner: owner, role: KeyRole.securityKey.code)
            }
            return record
        }
        ring.setSecurityKeyHalf(record.epochs.last)
    }

    /// The pair that a key's secret stands for.
    private static func ownHalf(_ secret: borrowing SecretBytes, epoch: UInt32) throws -> PrivateHalf {
        let seed = SecretBytes(secret.derivedKey(label: "ostiary.security-key.v1"))
        return try PrivateHalf(deriving: seed, role: .securityKey, epoch: epoch)
    }

    private func wraps(of halves: [PrivateHalf], for key: SecurityKeyRecord.Key) throws -> [WrappedPrivateHalf] {
        let context = context(of: key)
        return try halves.map { try WrappedPrivateHalf(wrapping: $0, to: key.publicHalf, context: context) }
    }

    private func context(of key: SecurityKeyRecord.Key) -> Data {
        Data("ostiary.security-key.v1".utf8) + context + key.identifier + [key.isVerified ? 1 : 0, key.pinProtocol]
    }
}

/// A key to enrol, as its enrolment found it.
package struct NewSecurityKey: Sendable {
    package let identifier: Data
    package let name: String
    package let enrolledAt: UInt64
    package let credential: [UInt8]
    package let isVerified: Bool
    package let pinProtocol: UInt8
    package let model: [UInt8]

    package init(
        identifier: Data, name: String, enrolledAt: UInt64, credential: [UInt8], isVerified: Bool, pinProtocol: UInt8,
        model: [UInt8]
    ) {
        self.identifier = identifier
        self.name = name
        self.enrolledAt = enrolledAt
        self.credential = credential
        self.isVerified = isVerified
        self.pinProtocol = pinProtocol
        self.model = model
    }
}
