public import Foundation
import SecretMemory

/// A generator of random numbers (Apple's `SecRandomRef`). There is one, the kernel's.
public final class SecRandom: NSObject, Sendable {
    private override init() {}
}

/// The name that Apple's C headers use.
public typealias SecRandomRef = SecRandom

/// The generator of every call: nil.
public let kSecRandomDefault: SecRandomRef? = nil

/// Fills `count` bytes at `bytes` with the kernel's cryptographic randomness; `errSecSuccess`, `errSecParam` for a
/// negative count, or -1 when the kernel gives none; do not use the bytes then. A generator other than the default one
/// is ignored.
@discardableResult
public func SecRandomCopyBytes(_ rnd: SecRandomRef?, _ count: Int, _ bytes: UnsafeMutableRawPointer) -> Int32 {
    guard count >= 0 else { return errSecParam }
    return unsafe SystemRandom.fill(UnsafeMutableRawBufferPointer(start: bytes, count: count)) ? errSecSuccess : -1
}
