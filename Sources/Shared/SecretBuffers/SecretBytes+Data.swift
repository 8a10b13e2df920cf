@_implementationOnly import CLinuxShims
public import Foundation

extension SecretBytes {
    /// Moves a library's result from `Data` into a secret and wipes the original.
    ///
    /// The wipe works in place only while `data` is the sole reference to its bytes: pass a fresh result straight on.
    public init(taking data: inout Data) {
        self.init(zeroed: data.count)
        withUnsafeMutableBytes { unsafe $0.copyBytes(from: data) }
        data.wipe()
    }

    /// A copy of bytes that need no secrecy themselves but travel where secrets do.
    public init(_ data: Data) {
        self.init(zeroed: data.count)
        withUnsafeMutableBytes { unsafe $0.copyBytes(from: data) }
    }
}

extension Data {
    /// Copies a secret into memory that is not wiped. The one way out of ``SecretBytes``: each use hands bytes to somebody
    /// who asked for them as `Data`.
    public init(exposing secret: borrowing SecretBytes) {
        self = secret.withUnsafeBytes { unsafe Data($0) }
    }

    /// Overwrites the bytes with zeros. Works in place only while this value is the sole reference to them.
    public mutating func wipe() {
        withUnsafeMutableBytes { buffer in
            if let address = buffer.baseAddress { unsafe ostiary_wipe(address, buffer.count) }
        }
    }
}
