import Foundation
import Security

/// A generic password, as a program stores it and finds it by service and account.
struct KeychainItem {
    static let service = "org.ostiary.benchmark"
    static let account = "somebody@example.com"
    static let data = Data("what a program logs in with, 36 b...".utf8)

    private let query: [String: Any]
    private let search: CFDictionary

    init(account: String = Self.account) {
        query = [
            kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: Self.service,
            kSecAttrAccount as String: account,
        ]
        let more: [String: Any] = [kSecReturnData as String: true, kSecMatchLimit as String: kSecMatchLimitOne]
        search = query.merging(more) { $1 } as CFDictionary
    }

    func add() throws {
        let more: [String: Any] = [
            kSecAttrAccessible as String: kSecAttrAccessibleWhenUnlocked, kSecValueData as String: Self.data,
        ]
        try Self.check(SecItemAdd(query.merging(more) { $1 } as CFDictionary, nil))
    }

    /// Throws unless the data is what was stored.
    func find() throws {
        var found: CFTypeRef?
        try Self.check(SecItemCopyMatching(search, &found))
        guard let data = found as? NSData, data.isEqual(to: Self.data) else { throw Failed(status: errSecDecode) }
    }

    private static func check(_ status: OSStatus) throws {
        guard status == errSecSuccess else { throw Failed(status: status) }
    }

    struct Failed: Error, CustomStringConvertible {
        let status: OSStatus
        var description: String { "the keychain answered \(status)" }
    }
}
