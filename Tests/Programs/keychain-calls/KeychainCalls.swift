// Makes one call of the keychain as a program of its own and prints what came of it; the test compares.
//
//     keychain-calls CALL NAME [GROUP]
//
// Prints lines `call: status`, and more for what was found.
import Foundation
import LocalAuthentication
import Security

@main
struct KeychainCalls {
    static let label = "of the tests"

    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 2 else { return print("usage: keychain-calls CALL NAME [GROUP]") }
        await KeychainCalls(name: arguments[1], group: arguments.count > 2 ? arguments[2] : nil).make(arguments[0])
    }

    let name: String
    let group: String?

    private func make(_ call: String) async {
        switch call {
        case "add": report(call, SecItemAdd(secret as CFDictionary, nil))
        case "protect": protect()
        case "find": find()
        case "list": list()
        case "update": update(password, [kSecAttrComment: "changed"], call)
        case "move": update(login, [kSecAttrAccessGroup: group ?? ""], call)
        case "delete": report(call, SecItemDelete(password as CFDictionary))
        case "make-key": makeKey()
        case "make-software-key": makeSoftwareKey()
        case "make-handle": makeHandle()
        case "move-key": update(key, [kSecAttrAccessGroup: group ?? ""], "move key")
        case "count-keys": countKeys()
        case "sign": sign()
        case "context": await findInContexts()
        default: print("unknown call")
        }
    }

    private func update(_ query: [CFString: Any], _ changes: [CFString: Any], _ call: String) {
        report(call, SecItemUpdate(query as CFDictionary, changes as CFDictionary))
    }

    private func report(_ call: String, _ status: OSStatus) { print("\(call): \(status)") }

    private func inGroup(_ query: [CFString: Any]) -> [CFString: Any] {
        group.map { query.merging([kSecAttrAccessGroup: $0]) { $1 } } ?? query
    }

    // MARK: passwords

    private var login: [CFString: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrAccount: name, kSecAttrLabel: Self.label]
    }

    private var password: [CFString: Any] { inGroup(login) }
    private var secret: [CFString: Any] { password.merging([kSecValueData: Data(name.utf8)]) { $1 } }

    /// Asks for the passcode when an item is read.
    private var accessControl: SecAccessControl? {
        SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .devicePasscode, nil)
    }

    private func protect() {
        var item = secret
        item[kSecAttrAccessControl] = accessControl
        report("protect", SecItemAdd(item as CFDictionary, nil))
    }

    private func find(_ call: String = "find", in context: LAContext? = nil) {
        var query = password.merging([kSecReturnData: true]) { $1 }
        query[kSecUseAuthenticationContext] = context
        var found: CFTypeRef?
        report(call, SecItemCopyMatching(query as CFDictionary, &found))
        if let data = found as? Data { print("data: \(String(decoding: data, as: UTF8.self))") }
    }

    /// Finds what ``protect()`` added: in a context that a search authorizes, in one that is authorized before, and in
    /// none.
    private func findInContexts() async {
        let asked = LAContext()
        find("first in a context", in: asked)
        find("again in it", in: asked)
        let authorized = LAContext()
        do {
            guard let accessControl else { return print("no access control") }
            try await authorized.evaluateAccessControl(
                accessControl, operation: .useItem, localizedReason: "read what the tests keep")
            print("evaluate: 0")
        } catch { print("evaluate: \((error as NSError).code)") }
        find("evaluated before", in: authorized)
        authorized.invalidate()
        find("invalidated", in: authorized)
        find("without one")
        find("without one again")
    }

    /// All items of the label, whatever their names and groups.
    private func list() {
        let query: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrLabel: Self.label, kSecMatchLimit: kSecMatchLimitAll,
            kSecReturnAttributes: true,
        ]
        var found: CFTypeRef?
        report("list", SecItemCopyMatching(inGroup(query) as CFDictionary, &found))
        let items = (found as? [[String: Any]] ?? []).map { item in
            [kSecAttrAccount, kSecAttrAccessGroup].map { item[$0 as String] as? String ?? "none" }
                .joined(separator: " in ")
        }
        for item in items.sorted() { print("found: \(item)") }
    }

    // MARK: keys of the enclave

    private func makeKey() {
        let attributes: [CFString: Any] = [
            kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom,
            kSecAttrKeySizeInBits: 256,
            kSecPrivateKeyAttrs: inGroup([kSecAttrIsPermanent: true, kSecAttrLabel: name]),
        ]
        var error: Unmanaged<CFError>?
        let key = SecKeyCreateRandomKey(attributes as CFDictionary, &error)
        report("make key", of: key, error)
    }

    /// A key without an item. It stays, because its handle was read.
    private func makeHandle() {
        let attributes: [CFString: Any] = [
            kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom,
            kSecAttrKeySizeInBits: 256, kSecPrivateKeyAttrs: inGroup([kSecAttrIsPermanent: false]),
        ]
        var error: Unmanaged<CFError>?
        let key = SecKeyCreateRandomKey(attributes as CFDictionary, &error)
        if let key { _ = SecKeyCopyAttributes(key) }
        report("make handle", of: key, error)
    }

    private var key: [CFString: Any] { [kSecClass: kSecClassKey, kSecAttrLabel: name] }

    private func makeSoftwareKey() {
        let attributes: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
            kSecPrivateKeyAttrs: inGroup([kSecAttrIsPermanent: true, kSecAttrLabel: name]),
        ]
        var error: Unmanaged<CFError>?
        let key = SecKeyCreateRandomKey(attributes as CFDictionary, &error)
        report("make software key", of: key, error)
    }

    /// All keys that can be had as objects, whatever their labels.
    private func countKeys() {
        let query: [CFString: Any] = [
            kSecClass: kSecClassKey, kSecReturnRef: true, kSecMatchLimit: kSecMatchLimitAll,
        ]
        var found: CFTypeRef?
        report("count keys", SecItemCopyMatching(inGroup(query) as CFDictionary, &found))
        print("keys: \((found as? [SecKey])?.count ?? 0)")
    }

    private func sign() {
        let query = key.merging([kSecReturnRef: true]) { $1 }
        var found: CFTypeRef?
        let status = SecItemCopyMatching(inGroup(query) as CFDictionary, &found)
        guard let key = found as? SecKey else { return report("sign", status) }
        var error: Unmanaged<CFError>?
        let message = Data("message".utf8)
        let signature = SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message as CFData, &error)
        report("sign", of: signature, error)
    }

    private func report(_ call: String, of result: Any?, _ error: Unmanaged<CFError>?) {
        guard result == nil, let error = error?.takeRetainedValue() else { return print("\(call): 0") }
        print("\(call): \(error.code)")
        print("because: \(error.localizedDescription)")
    }
}
