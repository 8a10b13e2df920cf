import AccessControl
import Foundation
import OstiaryClient
import OstiaryMessages
import Security
import Testing

/// Keys of the enclave as items and as objects, on a keychain of the test's own. What they compute is the daemon's.
@Suite struct EnclaveKeyTests {
    private let keychain = Keychain()
    private var keys: EnclaveKeys { EnclaveKeys(service: keychain.store) }

    private func accessControl() throws -> SecAccessControl {
        try #require(
            SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, [.privateKeyUsage, .devicePasscode], nil))
    }

    private func make(_ attributes: [String: Any] = [:], isPermanent: Bool = true) throws -> SecKey {
        try keys.create(tokenID: EnclaveKey.tokenID, attributes: attributes, isPermanent: isPermanent) { _ in }
    }

    private func status(_ work: () throws -> Void) -> OSStatus {
        do {
            try work()
            return errSecSuccess
        } catch { return ItemStatus.status(of: error) }
    }

    @Test func `a permanent key is an item that names it, and its private half is nowhere in it`() throws {
        let accessControl = try accessControl()
        let key = try make([
            "labl": "release", "atag": Data("tag".utf8), "accc": accessControl, "type": "73", "bsiz": 256,
        ])
        let row = try #require(keychain.store.rows.first)
        #expect(row.data == nil)
        #expect(row.item.keyID == keychain.store.keys.first?.id)
        #expect(keychain.store.awaitsItem == [true], "the key is stored with its item, or not at all")
        #expect(row.item.attributes["pdmn"] == .text("dk"))
        #expect(row.item.attributes["tkid"] == .text("com.apple.setoken"))
        #expect(keychain.store.keys.first?.accessControl[.sign]?.factors == [.passcode])

        let query: [String: Any] = ["class": "keys", "atag": "tag", "tkid": kSecAttrTokenIDSecureEnclave]
        let found = keychain.find(query.merging(["r_Ref": true]) { $1 }).1
        #expect(found as? SecKey == key)
        let attributes = try #require(keychain.find(query.merging(["r_Attributes": true]) { $1 }).1 as? [String: Any])
        #expect(attributes["accc"] as? SecAccessControl == accessControl)
        #expect(attributes["labl"] as? String == "release")
        #expect(keychain.delete(["class": "keys", "v_Ref": key]) == 0)
        #expect(keychain.find(query).0 == errSecItemNotFound)
    }

    @Test func `a key that is not permanent is opened again by its object id alone`() throws {
        let key = try make(isPermanent: false)
        #expect(keychain.store.rows.isEmpty)
        #expect(keychain.store.awaitsItem == [false], "its handle alone may be kept")
        let attributes = try #require(SecKeyCopyAttributes(key) as? [String: Any])
        let handle = try #require(attributes["toid"] as? Data)
        #expect(try keys.key(tokenID: EnclaveKey.tokenID, objectID: handle, attributes: [:]) == key)
        #expect(keychain.find(["v_Ref": key]).0 == errSecItemNotFound)
        #expect(attributes["class"] as? String == "keys")
        #expect(attributes["kcls"] as? Int == 1)
        #expect(attributes["extr"] as? Int == 0)
        #expect(attributes["accc"] is SecAccessControl)
        for absent in ["labl", "atag", "v_Data"] { #expect(attributes[absent] == nil) }
    }

    @Test func `a private half stays, and a public half is one like any other`() throws {
        let key = try make(isPermanent: false)
        var error: Unmanaged<CFError>?
        #expect(SecKeyCopyExternalRepresentation(key, &error) == nil)
        #expect(error?.takeRetainedValue().code == Int(errSecUnimplemented))
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        #expect(SecKeyCopyExternalRepresentation(publicKey, nil) as Data? == ItemStoreDouble.publicKey)
        #expect(SecKeyGetBlockSize(publicKey) == 32)
        #expect(SecKeyIsAlgorithmSupported(key, .sign, .ecdsaSignatureMessageX962SHA256))
        #expect(SecKeyIsAlgorithmSupported(key, .decrypt, .eciesEncryptionStandardVariableIVX963SHA256AESGCM))
        #expect(SecKeyIsAlgorithmSupported(key, .keyExchange, .ecdhKeyExchangeStandard))
        #expect(!SecKeyIsAlgorithmSupported(key, .verify, .ecdsaSignatureMessageX962SHA256))
        #expect(!SecKeyIsAlgorithmSupported(key, .sign, .rsaSignatureMessagePKCS1v15SHA256))
        #expect(SecKeyCreateSignature(key, .ecdsaSignatureDigestX962SHA256, Data(count: 31) as CFData, nil) == nil)
    }

    @Test(
        arguments: [
            (["type": "42"], errSecParam), (["bsiz": 384], errSecParam), (["accc": "text"], errSecParam),
            (["labl": [1]], errSecParam), (["svce": "x"], errSecNoSuchAttr), (["u_AuthCtx": 1], errSecParam),
            (["pdmn": "never"], errSecParam),
        ] as [([String: any Sendable], OSStatus)])
    func `what no key can be is refused before one is made`(attributes: [String: any Sendable], expected: OSStatus) {
        #expect(status { _ = try make(attributes) } == expected)
        #expect(keychain.store.calls.isEmpty)
    }

    @Test func `a key is made in the access group of its item`() throws {
        _ = try make(["agrp": "com.example.shared"])
        _ = try make([:])
        #expect(keychain.store.keyGroups == ["com.example.shared", nil])
        #expect(keychain.store.rows.first?.item.attributes["agrp"] == .text("com.example.shared"))
        keychain.store.refuse(.missingEntitlement, only: .createKey)
        #expect(status { _ = try make(["agrp": "foreign"]) } == errSecMissingEntitlement)
        #expect(keychain.store.rows.count == 2)
    }

    @Test func `a key whose item cannot be stored is destroyed`() throws {
        keychain.store.refuse(.missingEntitlement, only: .add)
        #expect(status { _ = try make(["agrp": "foreign"]) } == errSecMissingEntitlement)
        #expect(keychain.store.keys.isEmpty)
        #expect(keychain.store.calls == [.createKey, .add, .removeKey])
    }

    @Test func `there is one token, and an object id is one of its own`() {
        #expect(
            status { _ = try keys.create(tokenID: "other", attributes: [:], isPermanent: false) { _ in } }
                == errSecItemNotFound)
        for handle in [Data(), Data(count: 21), Data("ostk".utf8) + [2] + Data(count: 16)] {
            #expect(
                status { _ = try keys.key(tokenID: EnclaveKey.tokenID, objectID: handle, attributes: [:]) }
                    == errSecDecode)
        }
        let unknown = EnclaveKeyHandle(keyID: Data(count: 16)).bytes
        #expect(
            status { _ = try keys.key(tokenID: EnclaveKey.tokenID, objectID: unknown, attributes: [:]) }
                == errSecItemNotFound)
    }

    // MARK: keys that the program cannot use

    /// Stores an item whose key is another program's.
    private func addUnusable(_ label: String) throws {
        _ = try make(["labl": label, "atag": label])
        try keychain.store.removeKey(id: #require(keychain.store.keys.last).id)
    }

    @Test func `a key that cannot be used hides no other`() throws {
        try addUnusable("a")
        let key = try make(["labl": "a", "atag": "usable"])
        try addUnusable("b")
        let query: [String: Any] = ["class": "keys", "r_Ref": true]
        let all = query.merging(["m_Limit": "m_LimitAll"]) { $1 }
        #expect(keychain.find(all).1 as? [SecKey] == [key])
        #expect(keychain.find(query).1 as? SecKey == key, "what comes first and cannot be used does not count")
        #expect(keychain.find(query.merging(["m_Limit": 2]) { $1 }).1 as? [SecKey] == [key])
        let found = keychain.find(all.merging(["r_Attributes": true]) { $1 }).1 as? [[String: Any]]
        #expect(found?.count == 1 && found?.first?["v_Ref"] as? SecKey == key)
        #expect((keychain.find(["class": "keys", "r_Attributes": true, "m_Limit": 9]).1 as? [Any])?.count == 3)
    }

    @Test func `where no key can be used none is found`() throws {
        try addUnusable("a")
        let query: [String: Any] = ["class": "keys", "r_Ref": true]
        for more: [String: Any] in [[:], ["m_Limit": "m_LimitAll"], ["m_Limit": 5], ["r_Attributes": true]] {
            let (status, result) = keychain.find(query.merging(more) { $1 })
            #expect(status == errSecItemNotFound && result == nil)
        }
        keychain.store.refuse(.itemUnreadable, only: .findKey)
        #expect(keychain.find(query).0 == errSecDecode, "a key that does not verify is not absent")
    }

    // MARK: the end of keys that are no items

    /// Waits for the removals that objects left behind.
    private func keyCount(_ expected: Int) async throws -> Int {
        for _ in 0..<500 where keychain.store.keys.count != expected { try await Task.sleep(for: .milliseconds(10)) }
        return keychain.store.keys.count
    }

    @Test func `a key that is no item goes with its last object`() async throws {
        var keys = try (0..<3).map { _ in try make(isPermanent: false) }
        #expect(keychain.store.keys.count == 3)
        let publicKey = try #require(SecKeyCopyPublicKey(keys[0]))
        var other: SecKey? = keys[2]
        keys = []
        #expect(try await keyCount(1) == 1)
        #expect(SecKeyGetBlockSize(publicKey) == 32 && other != nil)
        other = nil
        #expect(try await keyCount(0) == 0)
    }

    /// What makes a key last; the result says by what it is found again.
    enum Keeping: CaseIterable { case permanent, attributes, item, search }

    @Test(arguments: Keeping.allCases) func `a key that can be found again stays`(keeping: Keeping) async throws {
        var key: SecKey? = try make(["labl": "kept"], isPermanent: keeping == .permanent)
        switch keeping {
        case .permanent: break
        case .attributes: _ = SecKeyCopyAttributes(try #require(key))
        case .item: #expect(keychain.add(["v_Ref": try #require(key)]).0 == 0)
        case .search: #expect(keychain.find(["v_Ref": try #require(key)]).0 == errSecItemNotFound)
        }
        key = nil
        // One that goes, and whose end comes after the other's would.
        _ = try make(isPermanent: false)
        #expect(try await keyCount(1) == 1)
        #expect(keychain.store.calls.count { $0 == .removeKey } == 1)
    }

    // MARK: accessibility

    @Test(arguments: ["ck", "aku", "dk"]) func `a key made without an access control shows what it was made with`(
        accessible: String
    ) throws {
        let key = try make(["pdmn": accessible])
        let plain = SecAccessControl(protection: accessible, operations: nil)
        #expect((SecKeyCopyAttributes(key) as? [String: Any])?["accc"] as? SecAccessControl == plain)
        let made = try #require(keychain.store.keys.first)
        #expect(try SecAccessControl(derRepresentation: made.shownAccessControl) == plain)
        #expect(made.accessControl.keyRequirement.isUnrestricted)
    }

    @Test func `the item of a key is not synchronizable`() throws {
        #expect(status { _ = try make(["sync": true]) } == errSecParam)
        #expect(keychain.store.keys.isEmpty && keychain.store.rows.isEmpty)
        let key = try make(isPermanent: false)
        #expect(keychain.add(["v_Ref": key, "sync": true]).0 == errSecParam)
        #expect(keychain.store.rows.isEmpty)
        #expect(keychain.add(["v_Ref": key, "sync": false]).0 == 0)
    }

    @Test func `a software key is stored by its reference and comes back as it was`() throws {
        let parameters = [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 384] as [CFString: Any]
        let key = try #require(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
        #expect(keychain.add(["v_Ref": key, "labl": "software"]).0 == 0)
        #expect(keychain.add(["v_Ref": key]).0 == errSecDuplicateItem)
        let found = try #require(keychain.find(["class": "keys", "labl": "software", "r_Ref": true]).1 as? SecKey)
        #expect(
            SecKeyCopyExternalRepresentation(found, nil) as Data? == SecKeyCopyExternalRepresentation(key, nil) as Data?
        )
        #expect(keychain.find(["v_Ref": key]).0 == 0)
        #expect(keychain.delete(["class": "genp", "v_Ref": key]) == errSecParam)
        #expect(keychain.delete(["v_Ref": key]) == 0)
    }
}
