import DaemonTestSupport
import Foundation
import LocalAuthentication
import OstiaryClient
import OstiaryTesting
import Security
import Testing

/// All suites that call the keychain in this process: they share its connection, so they run one after another.
@Suite("Items, end to end", .serialized) enum ItemEndToEndTests {}

/// The calls of the keychain, in this process, on a real daemon of the test's own.
final class KeychainUnderTest {
    let daemon: PrivateDaemon

    init() throws {
        daemon = try PrivateDaemon()
        OstiaryTesting.useDaemon(runtimeDirectory: daemon.runtimeDirectory, stateDirectory: daemon.stateDirectory)
    }

    // MARK: the owner

    func setPasscode() throws { try daemon.setPasscode() }
    func removePasscode() throws { try daemon.removePasscode() }
    func lock() throws { try OstiaryClient.shared.lock() }

    // MARK: the calls

    func add(_ query: [CFString: Any]) -> OSStatus { SecItemAdd(query as CFDictionary, nil) }

    func adding(_ query: [CFString: Any]) -> (status: OSStatus, result: CFTypeRef?) {
        var result: CFTypeRef? = NSString("untouched")
        let status = SecItemAdd(query as CFDictionary, &result)
        return (status, result)
    }

    func find(_ query: [CFString: Any]) -> OSStatus { SecItemCopyMatching(query as CFDictionary, nil) }

    func finding(_ query: [CFString: Any]) -> (status: OSStatus, result: CFTypeRef?) {
        var result: CFTypeRef? = NSString("untouched")
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        return (status, result)
    }

    func update(_ query: [CFString: Any], _ changes: [CFString: Any]) -> OSStatus {
        SecItemUpdate(query as CFDictionary, changes as CFDictionary)
    }

    func delete(_ query: [CFString: Any]) -> OSStatus { SecItemDelete(query as CFDictionary) }
}

/// Queries that many cases begin with.
enum Query {
    static let data = Data("secret".utf8)

    static func genericPassword(_ account: String = "test-account", _ service: String = "test-service") -> [CFString:
        Any]
    {
        [kSecClass: kSecClassGenericPassword, kSecAttrAccount: account, kSecAttrService: service]
    }

    static func internetPassword(_ server: String = "zuigt.nl") -> [CFString: Any] {
        [
            kSecClass: kSecClassInternetPassword, kSecAttrServer: server, kSecAttrAccount: "frtnbf", kSecAttrPort: 80,
            kSecAttrProtocol: kSecAttrProtocolHTTP, kSecAttrAuthenticationType: kSecAttrAuthenticationTypeDefault,
        ]
    }
}

extension [CFString: Any] {
    /// The query with more in it.
    func with(_ more: [CFString: Any]) -> [CFString: Any] { merging(more) { $1 } }
    /// The query with more in it, by Apple's names; the constants cannot be arguments of a test.
    func with(named more: [String: any Sendable]) -> [CFString: Any] {
        more.reduce(into: self) { $0[$1.key as CFString] = $1.value }
    }
    /// The query with data.
    var holdingSecret: [CFString: Any] { with([kSecValueData: Query.data]) }
    /// The query that asks for the data.
    var returningData: [CFString: Any] { with([kSecReturnData: true]) }
    var returningAttributes: [CFString: Any] { with([kSecReturnAttributes: true]) }
    var returningReference: [CFString: Any] { with([kSecReturnPersistentRef: true]) }
    var all: [CFString: Any] { with([kSecMatchLimit: kSecMatchLimitAll]) }
}
