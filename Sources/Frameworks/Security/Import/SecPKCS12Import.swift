public import Foundation
import OstiaryClient

/// Opens a PKCS #12 file and returns its contents: an identity with its chain, and the certificates outside the chain.
///
/// The call stores nothing unless the options contain `kSecUseDataProtectionKeychain: true`. Then it adds the
/// identity and its chain to the keychain, with the attributes among the options. Objects that are stored already are
/// no error.
///
/// The trust of an identity is evaluated with this machine's anchors. An identity that nobody here trusts is imported too.
///
/// - Parameters:
///   - pkcs12_data: the file, at most 1 MiB.
///   - options: ``kSecImportExportPassphrase``, ``kSecImportToMemoryOnly``, and for storing the keys of an item.
///   - items: gets an array of dictionaries with the keys `kSecImportItem…`; nil if the call fails.
/// - Returns: `errSecSuccess`; `errSecAuthFailed` for a wrong passphrase or a changed file, which nobody can tell
///   apart; `errSecDecode` for bytes that are no such file; `errSecDataTooLarge`; `errSecUnimplemented` for a file
///   that is sound but cannot be read here: an unknown cipher, digest or kind of key, several private keys, or no
///   passphrase; `errSecParam`.
@discardableResult
public func SecPKCS12Import(
    _ pkcs12_data: CFData, _ options: CFDictionary, _ items: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    do {
        let options = try ImportOptions(options)
        let contents = try ImportedFile(Data(copying: pkcs12_data), options)
        if options.isStored { try contents.store(ItemCalls(service: OstiaryClient.shared), options) }
        unsafe items.pointee = contents.items as CFArray
        return errSecSuccess
    } catch {
        unsafe items.pointee = nil
        return ItemStatus.status(of: error)
    }
}
