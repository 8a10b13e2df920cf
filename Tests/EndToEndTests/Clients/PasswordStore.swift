import Foundation
import Security

/// Passwords of one service, as programs for Apple's systems keep them: queries are dictionaries of objects, truth
/// values are Core Foundation's, results are cast.
struct PasswordStore {
    enum Failure: Error, Equatable {
        case noPassword
        case unexpectedPassword
        case unexpectedItem
        case status(OSStatus)
    }

    let service: String
    var account: String
    var accessGroup: String?

    private var query: [String: AnyObject] { Self.query(service, account: account, accessGroup: accessGroup) }

    private static func query(
        _ service: String, account: String? = nil, accessGroup: String? = nil
    ) -> [String: AnyObject] {
        var query = [String: AnyObject]()
        query[kSecClass as String] = kSecClassGenericPassword
        query[kSecAttrService as String] = service as AnyObject?
        if let account { query[kSecAttrAccount as String] = account as AnyObject? }
        if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup as AnyObject? }
        return query
    }

    func read() throws -> String {
        var query = query
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        query[kSecReturnAttributes as String] = kCFBooleanTrue
        query[kSecReturnData as String] = kCFBooleanTrue
        var found: AnyObject?
        let status = withUnsafeMutablePointer(to: &found) {
            SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
        }
        guard status != errSecItemNotFound else { throw Failure.noPassword }
        guard status == noErr else { throw Failure.status(status) }
        guard let item = found as? [String: AnyObject], let data = item[kSecValueData as String] as? Data,
            let password = String(data: data, encoding: .utf8)
        else { throw Failure.unexpectedPassword }
        return password
    }

    func save(_ password: String) throws {
        let encoded = password.data(using: .utf8)
        do {
            _ = try read()
            var changes = [String: AnyObject]()
            changes[kSecValueData as String] = encoded as AnyObject?
            try check(SecItemUpdate(query as CFDictionary, changes as CFDictionary))
        } catch Failure.noPassword {
            var item = query
            item[kSecValueData as String] = encoded as AnyObject?
            try check(SecItemAdd(item as CFDictionary, nil))
        }
    }

    mutating func rename(_ newAccount: String) throws {
        var changes = [String: AnyObject]()
        changes[kSecAttrAccount as String] = newAccount as AnyObject?
        try check(SecItemUpdate(query as CFDictionary, changes as CFDictionary))
        account = newAccount
    }

    func delete() throws {
        let status = SecItemDelete(query as CFDictionary)
        guard status == errSecItemNotFound else { return try check(status) }
    }

    static func accounts(of service: String, accessGroup: String? = nil) throws -> [String] {
        var query = Self.query(service, accessGroup: accessGroup)
        query[kSecMatchLimit as String] = kSecMatchLimitAll
        query[kSecReturnAttributes as String] = kCFBooleanTrue
        query[kSecReturnData as String] = kCFBooleanFalse
        var found: AnyObject?
        let status = withUnsafeMutablePointer(to: &found) {
            SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
        }
        guard status != errSecItemNotFound else { return [] }
        guard status == noErr else { throw Failure.status(status) }
        guard let items = found as? [[String: AnyObject]] else { throw Failure.unexpectedItem }
        return try items.map { item in
            guard let account = item[kSecAttrAccount as String] as? String else { throw Failure.unexpectedItem }
            return account
        }
    }

    private func check(_ status: OSStatus) throws {
        guard status == noErr else { throw Failure.status(status) }
    }
}
