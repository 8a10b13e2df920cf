import CTSS2
import Enclave
import Foundation
import SecretMemory

/// The commands around the counter of a store, each with the section of TPM 2.0 part 3 that it comes from.
extension ChipConnection {
    /// Defines the counter of a store, replacing a former one, and moves it once: a counter has no number before its first move.
    func defineCounter(
        of store: Data, authorization: borrowing SecretBytes
    ) throws(ChipFault) -> (index: CounterIndex, value: UInt64) {
        let handle = try freeHandle(among: CounterIndex.handles(of: store), replacing: [CounterIndex.attributes])
        guard let index = CounterIndex(at: handle) else { throw .malformedAnswer }
        let defined = try define(CounterIndex.publicArea(at: handle), authorization: authorization)
        defer { close(defined) }
        try increment(defined, authorization: authorization)
        return (index, try number(in: defined, authorization: authorization))
    }

    func read(
        _ counter: CounterIndex, authorization: borrowing SecretBytes
    ) throws(ChipFault) -> CounterReading {
        try withCounter(counter) { (handle) throws(ChipFault) in
            try number(in: handle, authorization: authorization)
        }
    }

    func advance(
        _ counter: CounterIndex, to value: UInt64, authorization: borrowing SecretBytes
    ) throws(ChipFault) -> CounterReading {
        try withCounter(counter) { (handle) throws(ChipFault) in
            let number = try number(in: handle, authorization: authorization)
            guard number < value, number + 1 == value else { return number }
            try increment(handle, authorization: authorization)
            return value
        }
    }

    /// Whether an index of this store can be read, at any of its handles: other programs may have used and left the ones before.
    func hasCounter(of store: Data, authorization: borrowing SecretBytes) throws(ChipFault) -> Bool {
        for handle in CounterIndex.handles(of: store) {
            guard let index = CounterIndex(at: handle) else { throw .malformedAnswer }
            if case .value = try read(index, authorization: authorization) { return true }
        }
        return false
    }

    /// Removes the counter, if it is the one that the store made.
    func remove(_ counter: CounterIndex) throws(ChipFault) {
        guard let found = try indexHandle(at: counter.handle) else { return }
        guard try name(of: found) == counter.name else { return close(found) }
        try undefine(found)
    }

    /// Lends the counter, if it is the one that the store made.
    private func withCounter(
        _ counter: CounterIndex, _ body: (ESYS_TR) throws(ChipFault) -> UInt64
    ) throws(ChipFault) -> CounterReading {
        if case .found(let known) = try knownIndex(at: counter.handle, named: counter.name) {
            do { return .value(try body(known)) } catch {
                guard Self.mayMeanAnotherIndex(error) else { throw error }
            }
        }
        switch try readIndex(at: counter.handle, named: counter.name) {
        case .missing: return .missing
        case .replaced: return .replaced
        case .found(let index):
            do { return .value(try body(index)) } catch .wrongAuthorization { return .replaced }
        }
    }

    /// Whether the chip may have refused a command because the index is not the known one.
    private static func mayMeanAnotherIndex(_ fault: ChipFault) -> Bool {
        switch fault {
        case .wrongAuthorization: true
        case .response(let code): code.isUnknownHandle
        default: false
        }
    }

    /// 31.8, TPM2_NV_Increment.
    private func increment(_ index: ESYS_TR, authorization: borrowing SecretBytes) throws(ChipFault) {
        let context = self.context
        try authorized(index, with: authorization) { (sessions) throws(ChipFault) in
            try context.run {
                Esys_NV_Increment($0, index, index, sessions.authorizing, ESYS_TR_NONE, ESYS_TR_NONE)
            }
        }
    }

    /// 31.13, TPM2_NV_Read. The session's code over the answer needs the authorization value, so nobody between us and the chip
    /// can answer with another number.
    private func number(in index: ESYS_TR, authorization: borrowing SecretBytes) throws(ChipFault) -> UInt64 {
        let context = self.context
        let data = try authorized(index, with: authorization) {
            (sessions) throws(ChipFault) -> Answer<TPM2B_MAX_NV_BUFFER> in
            try context.answer {
                Esys_NV_Read(
                    $0, index, index, sessions.authorizing, ESYS_TR_NONE, ESYS_TR_NONE,
                    UInt16(CounterIndex.byteCount), 0, $1)
            }
        }
        let size = Int(data.pointer.pointee.size)
        return try CounterIndex.number(withUnsafeBytes(of: data.pointer.pointee.buffer) { Data($0.prefix(size)) })
    }
}
