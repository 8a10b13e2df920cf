public import Enclave
public import Foundation
public import SecretMemory

/// Counters of stores in the chip: see ``CounterIndex``.
extension TPMEnclave: CountingEnclave {
    public func makeCounter(
        _ authorization: borrowing SecretBytes, of store: Data, as chipOwner: OwnerPassword? = nil
    ) throws(EnclaveError) -> (counter: Data, value: UInt64) {
        try Self.requireUsable(authorization)
        let value = SecretBytes(copying: authorization)
        let made = try chip.perform(for: nil, as: chipOwner) { (connection) throws(ChipFault) in
            let made = try connection.defineCounter(of: store, authorization: value)
            return MadeCounter(blob: made.index.blob, value: made.value)
        }
        return (made.blob, made.value)
    }

    private struct MadeCounter {
        let blob: Data
        let value: UInt64
    }

    public func read(
        _ counter: Data, authorization: borrowing SecretBytes
    ) throws(EnclaveError) -> CounterReading {
        let index = try CounterIndex(blob: counter)
        let value = SecretBytes(copying: authorization)
        return try chip.perform(for: nil) { (connection) throws(ChipFault) in
            try connection.read(index, authorization: value)
        }
    }

    public func advance(
        _ counter: Data, to number: UInt64, authorization: borrowing SecretBytes
    ) throws(EnclaveError) -> CounterReading {
        let index = try CounterIndex(blob: counter)
        let value = SecretBytes(copying: authorization)
        return try chip.perform(for: nil) { (connection) throws(ChipFault) in
            try connection.advance(index, to: number, authorization: value)
        }
    }

    public func hasCounter(of store: Data, authorization: borrowing SecretBytes) throws(EnclaveError) -> Bool {
        let value = SecretBytes(copying: authorization)
        return try chip.perform(for: nil) { (connection) throws(ChipFault) in
            try connection.hasCounter(of: store, authorization: value)
        }
    }

    public func removeCounter(_ counter: Data, as chipOwner: OwnerPassword? = nil) throws(EnclaveError) {
        let index = try CounterIndex(blob: counter)
        try chip.perform(for: nil, as: chipOwner) { (connection) throws(ChipFault) in try connection.remove(index) }
    }
}
