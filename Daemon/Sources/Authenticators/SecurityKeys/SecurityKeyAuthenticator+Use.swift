import AuthenticatorRequests
import Foundation
import KeySlots
import OwnerKeys
import SecretMemory
import SecurityKeys

/// A key that the person used.
struct UsedSecurityKey {
    let key: SecurityKeyRecord.Key
    /// The factor's private halves, the present one last.
    let halves: [PrivateHalf]
}

extension SecurityKeyAuthenticator {
    /// The salts for the keys of a record: its own, and before it the former one while a key still computes with that.
    func salts(for record: SecurityKeyRecord) -> [UInt8] {
        let isRenewing = record.keys.contains { $0.saltGeneration != record.saltGeneration }
        return (isRenewing ? salt(record.saltGeneration - 1) : []) + salt(record.saltGeneration)
    }

    func credentials(of record: SecurityKeyRecord) -> [FactorCredential] {
        record.keys.map { FactorCredential(identifier: $0.credential, isVerified: $0.isVerified, model: $0.model) }
    }

    /// Opens the objects below the key that computed an output.
    ///
    /// - Throws: ``CredentialRefusal/noCredential`` when the output opens nothing here.
    func opened(by output: FactorOutput, of record: SecurityKeyRecord) throws -> UsedSecurityKey {
        guard let key = record.keys.first(where: { $0.credential == output.identifier }) else {
            throw CredentialRefusal.noCredential
        }
        let isRenewed = key.saltGeneration == record.saltGeneration
        let (first, last) = output.secret.firstAndLast
        let halves: [PrivateHalf]
        do { halves = try life.open(key, of: record, with: (isRenewed ? last : first).bytes) } catch is SlotError {
            throw CredentialRefusal.noCredential
        }
        // The proof counts, even if a full disk keeps the key at its former salt: it follows at the next use.
        if !isRenewed { try? life.renew(key, of: record, halves: halves, secret: last.bytes) }
        return UsedSecurityKey(key: key, halves: halves)
    }

    static func randomBytes(_ count: Int) -> [UInt8] {
        unsafe SecretBytes(random: count).withUnsafeBytes { unsafe Array($0) }
    }
}

extension FactorSecret {
    /// The outputs of the first and of the last salt, which may be the same.
    fileprivate var firstAndLast: (first: FactorSecret, last: FactorSecret) {
        let output = { (range: Range<Int>) in
            FactorSecret(
                unsafe self.bytes.withUnsafeBytes {
                    unsafe SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[range]))
                })
        }
        return (output(0..<32), output(bytes.count - 32..<bytes.count))
    }
}
