import CTSS2
import Enclave
import SecretMemory

/// Authorization values in the form of tpm2-tss. It keeps a copy of the value of a handle, which is overwritten after each use.
extension TPMContext {
    /// - Parameter value: at most 64 bytes.
    func setAuthorization(of handle: ESYS_TR, to value: borrowing SecretBytes) throws(ChipFault) {
        try Self.withValue(value) { (value) throws(ChipFault) in try run { Esys_TR_SetAuth($0, handle, value) } }
    }

    func clearAuthorization(of handle: ESYS_TR) {
        var zeros = TPM2B_AUTH()
        // Fails only if tpm2-tss does not know the handle, and then it has no copy.
        do { try run { Esys_TR_SetAuth($0, handle, &zeros) } } catch {}
    }

    /// Lends a value.
    ///
    /// - Parameter value: at most 64 bytes.
    static func withValue<Result: ~Copyable>(
        _ value: borrowing SecretBytes, _ body: (UnsafePointer<TPM2B_AUTH>) throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        var copy = SecretBytes(zeroed: MemoryLayout<TPM2B_AUTH>.stride)
        return try copy.withUnsafeMutableBytes { (bytes) throws(ChipFault) in
            let authorization = bytes.bindMemory(to: TPM2B_AUTH.self).baseAddress!
            authorization.pointee.set(value)
            return try body(authorization)
        }
    }

    /// Lends the owner hierarchy with its password to one command in a session. The password itself is never sent.
    func withPassword<Result: ~Copyable>(
        of owner: OwnerPassword, _ body: () throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        guard owner.bytes.count <= OwnerPassword.maximumByteCount else { throw .wrongOwnerPassword }
        let hierarchy = ESYS_TR(ESYS_TR_RH_OWNER)
        try setAuthorization(of: hierarchy, to: owner.bytes)
        defer { clearAuthorization(of: hierarchy) }
        return try body()
    }
}
