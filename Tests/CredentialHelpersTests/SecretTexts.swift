import CredentialHelpers
import Foundation
import SecretMemory

/// Secrets of tests, which are none.
extension SecretBytes {
    init(_ text: String) { self.init(Data(text.utf8)) }
}

extension Secret {
    convenience init(_ text: String) { self.init(SecretBytes(text)) }

    var text: String { bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
