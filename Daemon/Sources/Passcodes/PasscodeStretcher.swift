import CArgon2
public import SecretMemory

/// Turns a typed secret (a passcode, an application password) into a key that is slow to guess: Argon2id, RFC 9106.
///
/// The result is never used raw: derive a key per use from it (``SecretMemory/SecretBytes/derivedKey(label:salt:byteCount:)``).
public struct PasscodeStretcher: Equatable, Sendable {
    /// Number of bytes of a stretched passcode.
    public static let keyByteCount = 32

    /// The cost of one computation. Store it beside the data that the key protects.
    public let parameters: StretchParameters

    public init(parameters: StretchParameters = .recommended) { self.parameters = parameters }

    /// The 32-byte key of `passcode` under `salt`.
    ///
    /// Blocks for the whole computation (two to four tenths of a second with the recommended parameters) and takes
    /// ``StretchParameters/memoryKibibytes`` of ordinary memory, which the library clears afterwards. The bytes are taken
    /// as typed: two spellings of one accented letter are two passcodes.
    public func stretch(
        _ passcode: borrowing SecretBytes, salt: StretchSalt
    ) throws(StretchError) -> SecretBytes {
        guard !passcode.isEmpty else { throw .emptyPasscode }
        guard passcode.count <= PasscodePolicy.maximumByteCount else { throw .passcodeTooLong }
        var key = SecretBytes(zeroed: Self.keyByteCount)
        let status = unsafe passcode.withUnsafeBytes { passcode in
            unsafe salt.bytes.withUnsafeBytes { salt in
                unsafe key.withUnsafeMutableBytes { key in unsafe compute(key, passcode, salt) }
            }
        }
        switch status {
        case ARGON2_OK.rawValue: return key
        case ARGON2_MEMORY_ALLOCATION_ERROR.rawValue: throw .outOfMemory
        default: throw .refusedByLibrary(code: status)
        }
    }

    /// Computes all lanes on this thread, which gives the same key as a thread for each. libargon2 with several threads frees
    /// memory that they use when the system refuses one of them (decision 0065).
    private func compute(
        _ key: UnsafeMutableRawBufferPointer, _ passcode: UnsafeRawBufferPointer, _ salt: UnsafeRawBufferPointer
    ) -> Int32 {
        var context = unsafe argon2_context()
        unsafe context.out = key.baseAddress?.assumingMemoryBound(to: UInt8.self)
        unsafe context.outlen = UInt32(key.count)
        // The library writes into neither: it clears them only where a flag asks for that.
        unsafe context.pwd = UnsafeMutablePointer(mutating: passcode.baseAddress?.assumingMemoryBound(to: UInt8.self))
        unsafe context.pwdlen = UInt32(passcode.count)
        unsafe context.salt = UnsafeMutablePointer(mutating: salt.baseAddress?.assumingMemoryBound(to: UInt8.self))
        unsafe context.saltlen = UInt32(salt.count)
        unsafe context.t_cost = parameters.passes
        unsafe context.m_cost = parameters.memoryKibibytes
        unsafe context.lanes = parameters.lanes
        unsafe context.threads = 1
        unsafe context.version = UInt32(StretchParameters.argonVersion)
        unsafe context.flags = 0
        return unsafe argon2id_ctx(&context)
    }
}

/// Why a passcode could not be stretched.
public enum StretchError: Error, Equatable, Sendable {
    case emptyPasscode
    /// More than ``PasscodePolicy/maximumByteCount`` bytes.
    case passcodeTooLong
    /// The memory that the parameters ask for is not to be had now.
    case outOfMemory
    /// libargon2's error number.
    case refusedByLibrary(code: Int32)
}
