import Foundation
import LocalAuthentication
import Security

/// The notes of one person, in a keychain item that opens with one of the fingers that are enrolled now.
///
/// This is app code as it is written for Apple's systems. Its tests, in `Tests/NotesTests`, run it against a simulated device.
public struct NoteBook: Sendable {
    public init() {}

    /// What the app shows instead of the notes.
    public enum Obstacle: Error, Equatable {
        /// The person does not want to be asked now.
        case cancelled
        /// The person wants to sign in with the account's password instead.
        case wantsAccount
        /// Fingers do not count until the passcode is entered.
        case lockedOut
        /// The fingers are others than those for which the notes were saved: they must be fetched again.
        case fingersChanged
        case other
    }

    private var item: [CFString: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrService: "org.ostiary.examples.notes", kSecAttrAccount: "notes"]
    }

    private func access() throws -> SecAccessControl {
        guard
            let access = SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, .biometryCurrentSet, nil)
        else { throw Obstacle.other }
        return access
    }

    /// Saves the notes. Asks nobody.
    public func save(_ text: String) throws {
        let added = try item.merging([kSecAttrAccessControl: access(), kSecValueData: Data(text.utf8)]) { $1 }
        SecItemDelete(item as CFDictionary)
        guard SecItemAdd(added as CFDictionary, nil) == errSecSuccess else { throw Obstacle.other }
    }

    /// The notes, after the person touched the reader.
    public func open() async throws -> String {
        let context = LAContext()
        context.localizedFallbackTitle = "Use the account's password"
        do {
            _ = try await context.evaluateAccessControl(
                access(), operation: .useItem, localizedReason: "open the notes")
        } catch let error as LAError {
            switch error.code {
            case .userCancel: throw Obstacle.cancelled
            case .userFallback: throw Obstacle.wantsAccount
            case .biometryLockout: throw Obstacle.lockedOut
            default: throw Obstacle.other
            }
        }
        // What was proved in the context counts for the item, so this asks nobody again.
        let query = item.merging([kSecReturnData: true, kSecUseAuthenticationContext: context]) { $1 }
        var result: CFTypeRef?
        switch SecItemCopyMatching(query as CFDictionary, &result) {
        case errSecSuccess: return String(decoding: result as? Data ?? Data(), as: UTF8.self)
        default: throw Obstacle.fingersChanged
        }
    }
}
