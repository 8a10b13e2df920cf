package import Foundation

/// The name of an enclave key outside the keychain: `kSecAttrTokenOID`, and the data representation of CryptoKit's
/// enclave keys. It contains no part of the key and is of no use on another machine.
///
/// Bytes: `ostk`, format version (1), the 16 bytes of the key's id.
package struct EnclaveKeyHandle: Equatable, Sendable {
    private static let prefix = Data("ostk".utf8) + [1]
    private static let idByteCount = 16

    package let keyID: Data

    package init(keyID: Data) { self.keyID = keyID }

    /// Reads a handle; nil for anything else.
    package init?(bytes: some DataProtocol) {
        let bytes = Data(bytes)
        guard bytes.count == Self.prefix.count + Self.idByteCount, bytes.starts(with: Self.prefix) else { return nil }
        keyID = Data(bytes.suffix(Self.idByteCount))
    }

    package var bytes: Data { Self.prefix + keyID }
}
