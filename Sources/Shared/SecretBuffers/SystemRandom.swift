@_implementationOnly import CLinuxShims

/// The kernel's cryptographic randomness.
public enum SystemRandom {
    /// Fills `buffer`, however large it is, without a copy elsewhere; false when the kernel refused, and then the buffer
    /// holds nothing to rely on.
    public static func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Bool {
        guard let address = buffer.baseAddress else { return true }
        return ostiary_random(address, buffer.count) == 0
    }

    /// Whether the kernel gives this process randomness. It always does, unless a sandbox forbids getrandom(2). A program that
    /// will need randomness asks at its start, because ``SecretBytes/init(random:)`` ends the process without.
    public static var isAvailable: Bool {
        var byte: UInt8 = 0
        return unsafe withUnsafeMutableBytes(of: &byte) { unsafe fill($0) }
    }
}
