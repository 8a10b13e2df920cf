package import Enclave
package import Foundation
package import KeySlots
import SecretMemory
package import Vault

/// How the private halves of an owner's key pairs lie in the store: sealed to the enclave alone, or wrapped to the passcode
/// key, so that the passcode opens them.
package struct KeyPairStorage {
    package let enclave: any Enclave
    package let owner: VaultID
    package let storeID: VaultID

    package init(enclave: any Enclave, owner: VaultID, storeID: VaultID) {
        self.enclave = enclave
        self.owner = owner
        self.storeID = storeID
    }

    /// A record whose private half opens in this enclave without any factor.
    package func record(sealingToEnclave half: PrivateHalf) throws -> KeyPairRecord {
        let sealed = try half.withSeed {
            try enclave.seal($0, authorization: SecretBytes(zeroed: 0), context: context(of: half.publicHalf))
        }
        return record(half.publicHalf, WrappedSecret(kind: .enclave, bytes: sealed))
    }

    /// A record whose private half opens with the private half of the passcode key.
    package func record(wrapping half: PrivateHalf, to passcode: PublicHalf) throws -> KeyPairRecord {
        let wrapped = try WrappedPrivateHalf(wrapping: half, to: passcode, context: context(of: half.publicHalf))
        return record(half.publicHalf, WrappedSecret(kind: .passcode, bytes: wrapped.encoded))
    }

    /// The passcode key's record: its private half lies in the passcode records, sealed under the stretched passcode.
    package func record(ofPasscodeKey half: PublicHalf) -> KeyPairRecord { record(half, nil) }

    private func record(_ half: PublicHalf, _ wrapped: WrappedSecret?) -> KeyPairRecord {
        KeyPairRecord(
            owner: owner, role: half.role.code, epoch: half.epoch, publicHalf: half.encoded, wrappedPrivateHalf: wrapped
        )
    }

    /// The public half of a record; what the store verified must also decode.
    package func publicHalf(of record: KeyPairRecord) throws -> PublicHalf {
        let half = try PublicHalf(encoded: record.publicHalf)
        guard half.role.code == record.role, half.epoch == record.epoch else { throw SlotError.malformed }
        return half
    }

    /// The private half of a record, or nil when the passcode key is needed and not given.
    package func privateHalf(of record: KeyPairRecord, passcode: PrivateHalf?) throws -> PrivateHalf? {
        guard let wrapped = record.wrappedPrivateHalf else { return nil }
        let half = try publicHalf(of: record)
        switch wrapped.kind {
        case .enclave:
            let seed = try enclave.unseal(
                wrapped.bytes, authorization: SecretBytes(zeroed: 0), context: context(of: half))
            return try PrivateHalf(seed: seed, publicHalf: half)
        case .passcode:
            guard let passcode else { return nil }
            return try WrappedPrivateHalf(encoded: wrapped.bytes)
                .unwrapped(as: half, with: passcode, context: context(of: half))
        }
    }

    /// What a passcode record's sealed private half is bound to.
    package func context(of half: PublicHalf) -> Data {
        Data("ostiary.key-pair.v1".utf8) + storeID.bytes + owner.bytes + half.encoded
    }
}
