import Foundation
import Security

/// A helper that keeps logins of servers for another program, with the calls that git's helper for macOS makes: it stores by adding
/// and then overwriting with the same dictionary, and erases by references of all that match.
struct LoginHelper {
    var server: String
    var account: String?
    var path: String?
    var port: Int?

    /// What all calls begin with; what is not known is left out.
    private var login: [CFString: Any] {
        var login: [CFString: Any] = [
            kSecClass: kSecClassInternetPassword, kSecAttrServer: server, kSecAttrProtocol: kSecAttrProtocolHTTPS,
            kSecAttrAuthenticationType: kSecAttrAuthenticationTypeDefault,
        ]
        login[kSecAttrAccount] = account
        login[kSecAttrPath] = path
        login[kSecAttrPort] = port
        return login
    }

    func get() -> (status: OSStatus, account: String?, password: String?) {
        let query = login.with([
            kSecMatchLimit: kSecMatchLimitOne, kSecReturnAttributes: true, kSecReturnData: true,
        ])
        var found: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &found)
        let item = found as? [CFString: Any]
        let password = (item?[kSecValueData] as? Data).map { String(decoding: $0, as: UTF8.self) }
        return (status, item?[kSecAttrAccount] as? String, password)
    }

    func store(_ password: String) -> OSStatus {
        let item = login.with([kSecValueData: Data(password.utf8)])
        let status = SecItemAdd(item as CFDictionary, nil)
        guard status == errSecDuplicateItem else { return status }
        return SecItemUpdate(login as CFDictionary, item as CFDictionary)
    }

    /// - Parameter password: erases only logins that have this one; its first line counts.
    func erase(_ password: String? = nil) -> OSStatus {
        let query = login.with([kSecMatchLimit: kSecMatchLimitAll, kSecReturnRef: true])
        var found: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &found)
        guard status == errSecSuccess else { return status == errSecItemNotFound ? errSecSuccess : status }
        for item in found as? [AnyObject] ?? [] {
            let status = Self.erase(item, password)
            guard status == errSecSuccess else { return status }
        }
        return errSecSuccess
    }

    private static func erase(_ item: AnyObject, _ password: String?) -> OSStatus {
        let query: [CFString: Any] = [kSecClass: kSecClassInternetPassword, kSecMatchItemList: [item]]
        guard let password else { return SecItemDelete(query as CFDictionary) }
        var found: CFTypeRef?
        let status = SecItemCopyMatching(query.with([kSecReturnData: true]) as CFDictionary, &found)
        guard status == errSecSuccess, let data = found as? Data else { return status }
        let line = data.prefix { $0 != UInt8(ascii: "\n") }
        return line == Data(password.utf8) ? SecItemDelete(query as CFDictionary) : errSecSuccess
    }
}
