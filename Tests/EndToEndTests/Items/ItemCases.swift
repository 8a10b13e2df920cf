import DaemonTestSupport
import Foundation
import Security
import Testing

extension ItemEndToEndTests {
    /// The acceptance cases of the four calls, by their numbers.
    @Suite struct ItemCases {
        private let keychain: KeychainUnderTest

        init() throws { keychain = try KeychainUnderTest() }

        private let password = Query.genericPassword()
        private let server = Query.internetPassword()

        /// Of an identity there is nothing to return but what is of its parts; asking for it finds nothing either.
        @Test(arguments: ["genp", "inet", "keys", "cert", "idnt"])
        func `case 1: nothing is found in an empty store`(itemClass: String) {
            for returned in [kSecReturnData, kSecReturnAttributes, kSecReturnRef, kSecReturnPersistentRef] {
                for limit in [kSecMatchLimitOne, kSecMatchLimitAll] {
                    let (status, result) = keychain.finding(
                        [kSecClass: itemClass, returned: true, kSecMatchLimit: limit])
                    #expect(status == errSecItemNotFound, "\(returned) \(limit)")
                    #expect(result == nil)
                }
            }
            #expect(keychain.find([kSecClass: itemClass]) == errSecItemNotFound, "nothing is to be returned")
            #expect(keychain.delete([kSecClass: itemClass]) == errSecItemNotFound)
        }

        @Test func `cases 2 and 3: an add returns nothing unasked, and adds no duplicate`() {
            let (status, result) = keychain.adding(password.holdingSecret)
            #expect(status == errSecSuccess)
            #expect(result == nil)
            #expect(keychain.add(password.holdingSecret) == errSecDuplicateItem)
            #expect(keychain.add(password.with([kSecAttrAccessible: kSecAttrAccessibleAlways])) == errSecDuplicateItem)
        }

        @Test func `all that can be returned of a new password is returned`() throws {
            let (status, result) = keychain.adding(
                password.holdingSecret.with([
                    kSecReturnData: true, kSecReturnAttributes: true, kSecReturnRef: true,
                    kSecReturnPersistentRef: true,
                ]))
            #expect(status == errSecSuccess)
            let parts = try #require(result as? [String: Any])
            #expect(parts["v_Data"] as? Data == Query.data)
            #expect(parts["v_Ref"] is SecKeychainItem)
            #expect((parts["v_PersistentRef"] as? Data)?.count == 20)
            #expect(parts["class"] as? String == "genp")
            #expect(parts["acct"] as? String == "test-account")
            #expect(parts["agrp"] is String)
        }

        @Test func `cases 9 and 10: an attribute of another class is none`() {
            #expect(keychain.add([kSecClass: kSecClassCertificate, kSecAttrApplicationTag: "x"]) == errSecNoSuchAttr)
            #expect(
                keychain.delete([kSecClass: kSecClassCertificate, kSecAttrApplicationTag: "x"]) == errSecNoSuchAttr)
        }

        @Test func `cases 12 and 13: an internet password is unique and found by all its attributes`() {
            #expect(keychain.add(server.holdingSecret) == errSecSuccess)
            #expect(keychain.add(server.holdingSecret) == errSecDuplicateItem)
            #expect(keychain.find(server) == errSecSuccess)
        }

        @Test func `case 14: the attributes of an item find it again`() throws {
            #expect(keychain.add(server.holdingSecret) == errSecSuccess)
            var attributes = try #require(keychain.finding(server.returningAttributes).result as? [CFString: Any])
            attributes["sha1"] = nil
            attributes[kSecClass] = kSecClassInternetPassword
            #expect(keychain.finding(attributes.returningData).result as? Data == Query.data)
        }

        @Test(arguments: ["genp", "inet", "keys"])
        func `what was read of an item is changed and written back`(itemClass: String) throws {
            let query: [CFString: Any] = [kSecClass: itemClass]
            if itemClass == "keys" {
                let parameters: [CFString: Any] = [
                    kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256, kSecAttrIsPermanent: true,
                    kSecAttrLabel: "old",
                ]
                // Only the private half would be named by all its attributes.
                _ = try #require(
                    SecKeyCreateRandomKey(
                        parameters.with([kSecPublicKeyAttrs: [kSecAttrIsPermanent: false]]) as CFDictionary, nil))
            } else {
                let item = itemClass == "genp" ? password : server
                #expect(keychain.add(item.holdingSecret.with([kSecAttrLabel: "old"])) == errSecSuccess)
            }
            let found = keychain.finding(query.returningData.returningAttributes)
            var read = try #require(found.result as? [CFString: Any], "\(found.status)")
            (read[kSecAttrLabel], read[kSecValueData]) = ("new", Data("other".utf8))
            #expect(keychain.update(query, read) == errSecSuccess)
            let changed = keychain.finding(query.with([kSecAttrLabel: "new"]).returningData)
            #expect(changed.result as? Data == Data("other".utf8))
            #expect(keychain.find(query.with([kSecAttrLabel: "old"])) == errSecItemNotFound)
        }

        @Test(
            arguments: [
                ["tomb": 1], ["sha1": Data(count: 20)], ["UUID": "x"], ["sysb": 1],
            ] as [[String: any Sendable]])
        func `attributes of Apple's store are known, and find nothing`(more: [String: any Sendable]) {
            #expect(keychain.add(password.holdingSecret) == errSecSuccess)
            #expect(keychain.find(password.with(named: more)) == errSecItemNotFound)
            let isTombstone = more["tomb"] != nil
            #expect(keychain.update(password, [:].with(named: more)) == (isTombstone ? errSecParam : errSecSuccess))
            #expect(keychain.find(password) == errSecSuccess)
        }

        @Test func `cases 15, 16 and 17: an update moves an item, but not onto another one`() {
            #expect(keychain.add(server.holdingSecret) == errSecSuccess)
            #expect(keychain.update(server, [kSecAttrServer: "new.zuigt.nl"]) == errSecSuccess)
            #expect(keychain.update(server, [kSecAttrServer: "new.zuigt.nl"]) == errSecItemNotFound)
            #expect(keychain.delete(server) == errSecItemNotFound)
            #expect(keychain.add(server.holdingSecret) == errSecSuccess)
            #expect(keychain.update(server, [kSecAttrServer: "new.zuigt.nl"]) == errSecDuplicateItem)
            #expect(keychain.find(server) == errSecSuccess)
        }

        @Test func `cases 18, 19 and 20: data is replaced by data alone`() {
            #expect(keychain.add(password.holdingSecret) == errSecSuccess)
            #expect(keychain.update(password, [kSecValueData: Data("other".utf8)]) == errSecSuccess)
            #expect(keychain.update(password, [kSecValueData: NSNull()]) == errSecParam)
            #expect(keychain.update(password, [kSecValueData: "text"]) == errSecParam)
            #expect(keychain.finding(password.returningData).result as? Data == Data("other".utf8))
        }

        @Test func `cases 21 and 22: account and service tell generic passwords apart`() {
            let (first, second) = (Query.genericPassword("A", "A"), Query.genericPassword("B", "B"))
            #expect(keychain.add(first) == errSecSuccess)
            let changes: [CFString: Any] = [kSecAttrAccount: "B", kSecAttrService: "B"]
            #expect(keychain.update(first, changes) == errSecSuccess)
            #expect(keychain.update(first, changes) == errSecItemNotFound)
            #expect(keychain.add(first) == errSecSuccess)
            #expect(keychain.find(second) == errSecSuccess)
        }

        @Test func `case 23: a port may be empty`() {
            #expect(keychain.add(server.with([kSecAttrPort: ""])) == errSecSuccess)
        }

        @Test func `cases 24 and 25: a persistent reference finds what the attributes find`() throws {
            let added = keychain.adding(server.holdingSecret.returningReference)
            let reference = try #require(added.result as? Data)
            let byReference = keychain.finding([kSecValuePersistentRef: reference, kSecReturnAttributes: true])
            let byAttributes = keychain.finding(server.returningAttributes)
            #expect(byReference.status == errSecSuccess)
            #expect(byReference.result as? NSDictionary == byAttributes.result as? NSDictionary)
            #expect(keychain.delete(server) == errSecSuccess)
            #expect(keychain.finding(server.returningAttributes).status == errSecItemNotFound)
            let (status, result) = keychain.finding([kSecValuePersistentRef: reference, kSecReturnAttributes: true])
            #expect(status == errSecItemNotFound)
            #expect(result == nil)
        }

        @Test func `cases 26 and 27: a persistent reference updates and deletes its item alone`() throws {
            let other = Query.internetPassword("other.nl")
            let reference = try #require(keychain.adding(server.holdingSecret.returningReference).result as? Data)
            #expect(keychain.add(other.holdingSecret) == errSecSuccess)
            #expect(keychain.update([kSecValuePersistentRef: reference], [kSecAttrServer: "third.nl"]) == errSecSuccess)
            #expect(keychain.find(other) == errSecSuccess)
            #expect(keychain.find(Query.internetPassword("third.nl")) == errSecSuccess)
            #expect(keychain.delete([kSecValuePersistentRef: reference]) == errSecSuccess)
            #expect(keychain.find([kSecValuePersistentRef: reference]) == errSecItemNotFound)
            #expect(keychain.find(other) == errSecSuccess)
        }

        @Test func `cases 28, 29 and 30: synchronizable items are found, changed and deleted when they are meant`() {
            let twin = password.with([kSecAttrSynchronizable: true])
            #expect(keychain.add(twin.holdingSecret) == errSecSuccess)
            #expect(keychain.find(twin) == errSecSuccess)
            #expect(keychain.find(password.with([kSecAttrSynchronizable: kSecAttrSynchronizableAny])) == errSecSuccess)
            #expect(keychain.find(password) == errSecItemNotFound)
            #expect(keychain.update(twin, [kSecAttrComment: "new"]) == errSecSuccess)
            #expect(keychain.find(twin.with([kSecAttrComment: "new"])) == errSecSuccess)
            #expect(keychain.add(password.holdingSecret) == errSecSuccess)
            #expect(keychain.delete(twin) == errSecSuccess)
            #expect(keychain.find(password) == errSecSuccess)
        }

        @Test func `cases 31, 32 and 33: all items are an array of what was asked for`() throws {
            #expect(keychain.add(password.holdingSecret) == errSecSuccess)
            let both = keychain.finding(password.all.returningData.returningReference).result as? [[String: Any]]
            #expect(try #require(both).map { Set($0.keys) } == [["v_Data", "v_PersistentRef"]])
            #expect(keychain.finding(password.all.returningData).result as? [Data] == [Query.data])
            #expect((keychain.finding(password.all.returningReference).result as? [Data])?.map(\.count) == [20])
        }

        @Test func `case 34: an item without data has no entry for it`() throws {
            #expect(keychain.add(password) == errSecSuccess)
            let found = keychain.finding(password.all.returningData.returningAttributes).result as? [[String: Any]]
            let item = try #require(found?.first)
            #expect(item["v_Data"] == nil)
            #expect(item["acct"] as? String == "test-account")
            #expect(item["svce"] as? String == "test-service")
        }

        @Test func `case 39: a group that is not the program's is refused by all four calls`() {
            let foreign = password.with([kSecAttrAccessGroup: "org.example.foreign"])
            #expect(keychain.add(foreign.holdingSecret) == errSecMissingEntitlement)
            #expect(keychain.find(foreign) == errSecMissingEntitlement)
            #expect(keychain.update(foreign, [kSecAttrComment: "x"]) == errSecMissingEntitlement)
            #expect(keychain.delete(foreign) == errSecMissingEntitlement)
        }

        @Test func `case 40: an item does not move to a group that is not the program's`() {
            #expect(keychain.add(password.holdingSecret) == errSecSuccess)
            #expect(keychain.update(password, [kSecAttrAccessGroup: "org.example.foreign"]) == errSecMissingEntitlement)
            #expect(keychain.find(password) == errSecSuccess)
        }

        @Test func `case 41: nobody is in the group of tokens, so naming it is refused by all four calls`() {
            let token = password.with([kSecAttrAccessGroup: kSecAttrAccessGroupToken])
            #expect(keychain.add(token.holdingSecret) == errSecMissingEntitlement)
            #expect(keychain.find(token) == errSecMissingEntitlement)
            #expect(keychain.update(token, [kSecAttrComment: "x"]) == errSecMissingEntitlement)
            #expect(keychain.delete(token) == errSecMissingEntitlement)
        }

        @Test func `case 44: an access control is no string`() {
            #expect(keychain.add(password.with([kSecAttrAccessControl: "x"])) == errSecParam)
            #expect(keychain.delete(password.with([kSecAttrAccessControl: "x"])) == errSecParam)
        }

        @Test func `case 45: a value comes back in the type in which it was given`() {
            let bytes = server.with([kSecAttrServer: Data("zuigt.nl".utf8)])
            #expect(keychain.add(bytes.holdingSecret) == errSecSuccess)
            let found = keychain.finding(server.returningAttributes).result as? [String: Any]
            #expect(found?["srvr"] as? Data == Data("zuigt.nl".utf8))
        }

        @Test func `case 46: the mark of app clips is refused everywhere`() {
            let marked = password.with(["clip": true])
            #expect(keychain.add(marked) == errSecParam)
            #expect(keychain.find(marked) == errSecParam)
            #expect(keychain.update(marked, [:]) == errSecParam)
            #expect(keychain.update(password, ["clip": true]) == errSecParam)
            #expect(keychain.delete(marked) == errSecParam)
        }

        @Test(arguments: ["genp", "inet"])
        func `case 47: a password's reference names it, as on macOS`(itemClass: String) {
            let query = itemClass == "inet" ? server : password
            let (status, result) = keychain.adding(query.holdingSecret.with([kSecReturnRef: true]))
            #expect(status == errSecSuccess)
            #expect(result is SecKeychainItem)
            let found = keychain.finding(query.with([kSecReturnRef: true]))
            #expect(found.status == errSecSuccess)
            #expect(found.result as? SecKeychainItem == result as? SecKeychainItem)
        }

        @Test(arguments: [
            ("example.com", errSecSuccess), ("origin.example.com", errSecSuccess), ("foobar.com", errSecItemNotFound),
            ("ple.com", errSecItemNotFound), ("EXAMPLE.com", errSecItemNotFound),
        ])
        func `case 48: a host is found by itself and by what is above it`(host: String, expected: OSStatus) {
            #expect(keychain.add(Query.internetPassword("origin.example.com").holdingSecret) == errSecSuccess)
            let query: [CFString: Any] = [kSecClass: kSecClassInternetPassword, kSecMatchHostOrSubdomainOfHost: host]
            #expect(keychain.find(query) == expected)
        }

        @Test func `cases 49 and 50: a reference is no attribute, and always the same`() throws {
            let first = try #require(keychain.adding(password.holdingSecret.returningReference).result as? Data)
            let found = keychain.finding([kSecValuePersistentRef: first, kSecReturnAttributes: true])
            let attributes = try #require(found.result as? [String: Any])
            #expect(attributes["persistref"] == nil)
            #expect(attributes["UUID"] == nil)
            let both = keychain.finding(password.returningAttributes.returningReference).result as? [String: Any]
            #expect(both?["v_PersistentRef"] as? Data == first)
        }

        @Test func `case 51: only a search skips what would ask`() {
            let skipping = password.with([kSecUseAuthenticationUI: kSecUseAuthenticationUISkip])
            #expect(keychain.add(skipping) == errSecParam)
            #expect(keychain.delete(skipping) == errSecParam)
        }

        @Test func `case 54: attributes hold no data`() {
            #expect(keychain.add(password.holdingSecret) == errSecSuccess)
            let found = keychain.finding(password.returningAttributes).result as? [String: Any]
            #expect(found != nil)
            #expect(found?["v_Data"] == nil)
        }

        @Test func `case 59: a key comes back by its label as it was stored`() throws {
            let parameters: [CFString: Any] = [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256]
            let key = try #require(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
            #expect(keychain.add([kSecValueRef: key, kSecAttrLabel: "a key"]) == errSecSuccess)
            let found = keychain.finding([kSecClass: kSecClassKey, kSecAttrLabel: "a key", kSecReturnRef: true])
            let again = try #require(found.result as? SecKey)
            #expect(
                SecKeyCopyExternalRepresentation(again, nil) as Data? == SecKeyCopyExternalRepresentation(key, nil)
                    as Data?)
        }

        /// iOS refuses such calls; macOS leaves the limit out of account in the data-protection keychain, as here.
        @Test(arguments: ["m_LimitOne", "m_LimitAll", 1, 2] as [any Sendable])
        func `case 60: updates and deletions are about all that match, whatever limit they name`(
            limit: any Sendable
        ) throws {
            for account in ["first", "second", "third"] {
                #expect(keychain.add(Query.genericPassword(account).holdingSecret) == errSecSuccess)
            }
            let limited: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: "test-service", kSecMatchLimit: limit,
            ]
            #expect(keychain.update(limited, [kSecAttrComment: "changed"]) == errSecSuccess)
            let changed = [kSecClass: kSecClassGenericPassword, kSecAttrComment: "changed"] as [CFString: Any]
            #expect((keychain.finding(changed.returningReference.all).result as? [Data])?.count == 3)
            #expect(keychain.delete(limited) == errSecSuccess)
            #expect(keychain.find([kSecClass: kSecClassGenericPassword]) == errSecItemNotFound)
        }

        @Test func `case 60: a limit that is none is refused, and nothing is changed or deleted`() {
            #expect(keychain.add(password.holdingSecret) == errSecSuccess)
            for limit in [0, -1, "m_LimitSome", true] as [Any] {
                #expect(keychain.update(password.with([kSecMatchLimit: limit]), [kSecAttrComment: "x"]) == errSecParam)
                #expect(keychain.delete(password.with([kSecMatchLimit: limit])) == errSecParam)
            }
            #expect(keychain.find(password) == errSecSuccess)
        }

        @Test(arguments: ["r_Data", "r_Attributes", "r_Ref", "r_PersistentRef"])
        func `cases 43 and 52: updates and deletions return nothing, and do what they are for`(flag: String) {
            #expect(keychain.add(password.holdingSecret) == errSecSuccess)
            let query = password.with(named: [flag: true])
            #expect(keychain.update(query, [kSecAttrComment: "changed"]) == errSecSuccess)
            #expect(keychain.find(password.with([kSecAttrComment: "changed"])) == errSecSuccess)
            #expect(keychain.delete(query) == errSecSuccess)
            #expect(keychain.find(password) == errSecItemNotFound)
        }

        @Test func `text as the data of a new item is its UTF-8, and narrows nothing where it does not belong`() {
            #expect(keychain.add(password.with([kSecValueData: "grün"])) == errSecSuccess)
            #expect(keychain.finding(password.returningData).result as? Data == Data("grün".utf8))
            let other = password.with([kSecValueData: "other"])
            #expect(keychain.finding(other.returningData).result as? Data == Data("grün".utf8))
            #expect(keychain.add(other) == errSecDuplicateItem)
            #expect(keychain.update(other, [kSecAttrComment: "changed"]) == errSecSuccess)
            #expect(keychain.update(password, [kSecValueData: "text"]) == errSecParam, "as on macOS")
            #expect(keychain.finding(password.returningData).result as? Data == Data("grün".utf8))
            #expect(keychain.delete(other) == errSecSuccess)
            #expect(keychain.find(password) == errSecItemNotFound)
        }

        @Test func `items outlive the daemon`() throws {
            #expect(keychain.add(password.holdingSecret) == errSecSuccess)
            keychain.daemon.kill()
            try keychain.daemon.start()
            #expect(keychain.finding(password.returningData).result as? Data == Query.data)
        }
    }
}
