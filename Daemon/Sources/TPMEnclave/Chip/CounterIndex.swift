import CTSS2
import Enclave
import Foundation

/// The NV index that counts the steps of a store (TPM 2.0 part 2, "TPM_NT_COUNTER"). Its authorization value comes from a secret
/// of the store, so nobody else moves it.
///
/// The chip's owner can remove it. An index that is defined in its place begins above every number that the chip ever
/// counted (part 1, "NV Counters"), and has another authorization value or none of our numbers. So it never passes for an
/// older one.
struct CounterIndex: Equatable, Sendable {
    let handle: TPM2_HANDLE
    /// The name of the index once it was moved.
    let name: Data

    static let attributes =
        TPMA_NV(TPM2_NT_COUNTER) << TPMA_NV(TPMA_NV_TPM2_NT_SHIFT) | TPMA_NV_NO_DA | TPMA_NV_AUTHREAD
        | TPMA_NV_AUTHWRITE
    static let byteCount = 8

    init?(at handle: TPM2_HANDLE) {
        var moved = Self.publicArea(at: handle).nvPublic
        moved.attributes |= TPMA_NV_WRITTEN
        guard let name = PublicArea.name(of: moved) else { return nil }
        (self.handle, self.name) = (handle, name)
    }

    /// The index before it is moved.
    static func publicArea(at handle: TPM2_HANDLE) -> TPM2B_NV_PUBLIC {
        var area = TPM2B_NV_PUBLIC()
        area.nvPublic.nvIndex = handle
        area.nvPublic.nameAlg = TPM2_ALG_SHA256
        area.nvPublic.attributes = attributes
        area.nvPublic.dataSize = UInt16(byteCount)
        return area
    }

    static func handles(of store: Data) -> [TPM2_HANDLE] {
        IndexHandles.candidates(for: store, label: "ostiary.tpm-enclave.v1.counter-index")
    }

    /// The number in the content of the index, eight bytes with the most significant first.
    ///
    /// No chip counts to half of the numbers of 64 bits in its life, so a larger number is no counter's. The store's next number then
    /// never overflows.
    static func number(_ content: Data) throws(ChipFault) -> UInt64 {
        guard content.count == byteCount else { throw .malformedAnswer }
        let number = content.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard number <= UInt64.max / 2 else { throw .malformedAnswer }
        return number
    }

    // MARK: blob

    private static let content: UInt8 = 5

    /// `version (1) || enclave kind (1) || content (1), 05 || handle (4)`.
    var blob: Data { ChipObject.head(Self.content) + withUnsafeBytes(of: handle.bigEndian) { Data($0) } }

    init(blob: Data) throws(EnclaveError) {
        let rest = try ChipObject.content(of: blob, as: Self.content)
        guard rest.count == 4,
            let index = Self(at: rest.reduce(TPM2_HANDLE(0)) { $0 << 8 | TPM2_HANDLE($1) })
        else { throw .unreadable }
        self = index
    }
}
