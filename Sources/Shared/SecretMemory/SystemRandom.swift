@_implementationOnly import CLinuxShims

/// The kernel's cryptographic randomness.
public enum SystemRandom {
    /// Fills `buffer`, however large it is, without a copy elsewhere; false when the kernel refused, and then the buffer
    /// holds nothing to rely on.
    public static func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Bool {
        guard let address = buffer.baseAddress else { return true }
        return ostiary_random(address, buffer.count) == 0
    }
}
