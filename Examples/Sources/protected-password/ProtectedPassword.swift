// A password that only the person in front of this machine can read.
//
//   protected-password save FILE     stores the content of a file
//   protected-password show          asks, and prints it
//   protected-password delete        deletes it, without a question
import Foundation
import Security

@main
struct ProtectedPassword {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        let status: OSStatus
        switch (arguments.first, arguments.count) {
        case ("save", 2): status = save(from: arguments.last!)
        case ("show", 1): status = show()
        case ("delete", 1): status = SecItemDelete(item as CFDictionary)
        default:
            print("usage: protected-password save FILE | show | delete")
            exit(2)
        }
        print("Status \(status): \(SecCopyErrorMessageString(status, nil) as String? ?? "unknown")")
        exit(status == errSecSuccess ? 0 : 1)
    }

    static var item: [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: "org.ostiary.examples.protected-password",
            kSecAttrAccount as String: "example",
        ]
    }

    static func save(from path: String) -> OSStatus {
        guard let password = FileManager.default.contents(atPath: path) else { return errSecIO }
        // Readable while unlocked, by the person only, on no other machine, and gone with the passcode.
        var error: Unmanaged<CFError>?
        guard
            let accessControl = SecAccessControlCreateWithFlags(
                kCFAllocatorDefault, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, .userPresence, &error)
        else { return OSStatus(CFErrorGetCode(error!.takeRetainedValue())) }
        var item = item
        // The access control names the accessibility, so kSecAttrAccessible must not stand beside it.
        item[kSecAttrAccessControl as String] = accessControl
        item[kSecValueData as String] = password
        return SecItemAdd(item as CFDictionary, nil)
    }

    static func show() -> OSStatus {
        var query = item
        query[kSecReturnData as String] = kCFBooleanTrue
        query[kSecUseOperationPrompt as String] = "show the example's password"
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        if status == errSecSuccess, let password = result as? Data {
            print("Password: \(String(decoding: password, as: UTF8.self))")
        }
        return status
    }
}
