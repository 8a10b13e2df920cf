import Foundation
import SecretMemory

/// The options of an import, read and checked.
struct ImportOptions: ~Copyable {
    /// UTF-8, as the file wants it.
    let passphrase: SecretBytes
    /// Whether the contents go into the keychain.
    let isStored: Bool
    /// The other options: attributes of the items that are stored, and keys that say how to use the keychain.
    let attributes: [String: Any]

    init(_ dictionary: CFDictionary) throws(StatusError) {
        var (text, isForMemory, isForKeychain): (String, Bool, Bool) = ("", false, false)
        var (attributes, isForFile): ([String: Any], Bool) = ([:], false)
        for (key, value) in dictionary {
            guard let name = key as? String else { throw .parameter("The keys of the options are strings.") }
            switch name {
            case "passphrase": text = try QueryValue(value).text(of: "kSecImportExportPassphrase")
            case "memory": isForMemory = try QueryValue(value).boolean(of: "kSecImportToMemoryOnly")
            case "nleg": isForKeychain = try QueryValue(value).boolean(of: "kSecUseDataProtectionKeychain")
            case "keychain", "access": isForFile = true
            default: attributes[name] = value
            }
        }
        guard isForMemory || !isForFile else {
            throw StatusError(errSecUnimplemented, "There is no file keychain to import into.")
        }
        passphrase = try Self.passphrase(text)
        isStored = isForKeychain && !isForMemory
        self.attributes = attributes
    }

    /// The format writes each character of a passphrase in two bytes, with a zero at the end.
    private static func passphrase(_ text: String) throws(StatusError) -> SecretBytes {
        guard text.unicodeScalars.allSatisfy({ 1...0xffff ~= $0.value }) else {
            throw .parameter("A passphrase of such a file has no zero characters and none beyond U+FFFF.")
        }
        var bytes = Data(text.utf8)
        return SecretBytes(taking: &bytes)
    }
}
