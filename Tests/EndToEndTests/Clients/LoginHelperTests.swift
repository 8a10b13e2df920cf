import Foundation
import Security
import Testing

extension ItemEndToEndTests {
    /// What git's helper for macOS does with the keychain, on a real daemon.
    @Suite struct LoginHelperTests {
        private let keychain: KeychainUnderTest
        private let helper = LoginHelper(server: "git.example.org", account: "me")

        init() throws { keychain = try KeychainUnderTest() }

        @Test func `a login is stored, read, overwritten and erased`() {
            #expect(helper.get() == (errSecItemNotFound, nil, nil))
            #expect(helper.store("first") == errSecSuccess)
            #expect(helper.get() == (errSecSuccess, "me", "first"))
            #expect(helper.store("second\npassword_expiry_utc=1") == errSecSuccess)
            #expect(
                LoginHelper(server: "git.example.org").get() == (errSecSuccess, "me", "second\npassword_expiry_utc=1"))
            #expect(helper.erase() == errSecSuccess)
            #expect(helper.get().status == errSecItemNotFound)
            #expect(helper.erase() == errSecSuccess)
        }

        @Test func `only the login with the password that was refused is erased`() {
            let other = LoginHelper(server: "git.example.org", account: "you", path: "project", port: 8443)
            #expect(helper.store("old\nmore") == errSecSuccess && other.store("good") == errSecSuccess)
            #expect(LoginHelper(server: "git.example.org").erase("old") == errSecSuccess)
            #expect(helper.get().status == errSecItemNotFound)
            #expect(other.get() == (errSecSuccess, "you", "good"))
            #expect(other.erase("old") == errSecSuccess)
            #expect(other.get().password == "good")
        }

        @Test func `every login of a server is erased, and none of another one`() {
            for account in ["me", "you", "they"] {
                #expect(LoginHelper(server: "git.example.org", account: account).store("x") == errSecSuccess)
            }
            let elsewhere = LoginHelper(server: "example.org", account: "me")
            #expect(elsewhere.store("x") == errSecSuccess)
            #expect(LoginHelper(server: "git.example.org").erase() == errSecSuccess)
            #expect(LoginHelper(server: "git.example.org").get().status == errSecItemNotFound)
            #expect(elsewhere.get().password == "x")
        }

        @Test func `a deletion of listed items leaves all when one is gone`() throws {
            for account in ["me", "you"] {
                #expect(keychain.add(Query.genericPassword(account).holdingSecret) == errSecSuccess)
            }
            let references: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecReturnRef: true]
            let items = try #require(keychain.finding(references.all).result as? [SecKeychainItem])
            #expect(keychain.delete(Query.genericPassword("you")) == errSecSuccess)
            let listed: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecMatchItemList: items]
            #expect(keychain.delete(listed) == errSecItemNotFound)
            #expect(keychain.find(Query.genericPassword("me")) == errSecSuccess)
        }
    }
}
