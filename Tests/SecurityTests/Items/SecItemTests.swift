import AccessControl
import Foundation
import OstiaryClient
import OstiaryMessages
import Security
import SeededRandomness
import Testing

/// The grammar of the four calls, status by status, on a keychain of the test's own.
@Suite struct SecItemTests {
    private let keychain = Keychain()

    private let password: [String: Any] = [
        "class": "genp", "acct": "me", "svce": "example", "v_Data": Data("secret".utf8),
    ]

    private func accessControl(_ flags: SecAccessControlCreateFlags = .userPresence, _ protection: CFString = "aku")
        -> SecAccessControl
    {
        SecAccessControlCreateWithFlags(nil, protection, flags, nil)!
    }

    // MARK: keys and classes

    /// Names an item of a class that is not Apple's.
    private static let freeReference = Data(Array("free".utf8) + [UInt8](repeating: 0, count: 16))

    @Test(
        arguments: [
            (["class": "genp", "colour": "red"], errSecParam), (["class": "genp", "kcls": 1], errSecNoSuchAttr),
            (["class": "inet", "svce": "x"], errSecNoSuchAttr), (["class": "cert", "atag": "x"], errSecNoSuchAttr),
            (["class": "genp", "zzzz": 1], errSecNoSuchAttr), (["class": "nope"], errSecNoSuchClass),
            (["class": "free"], errSecNoSuchClass), (["class": "free", ".abc": "d"], errSecNoSuchClass),
            (["class": "genp", ".abc": "d"], errSecNoSuchAttr), (["class": "genp", ".a": "b"], errSecParam),
            (["v_PersistentRef": freeReference], errSecParam),
            (["class": 5], errSecParam), (["acct": "me"], errSecParam), ([:], errSecParam),
            (["class": "genp", "clip": true], errSecParam),
            (["class": "genp", "m_Nonsense": 1], errSecParam), (["class": "genp", "r_Nonsense": true], errSecParam),
            (["class": "genp", "u_Nonsense": 1], errSecParam), (["class": "genp", "v_Nonsense": 1], errSecParam),
            (["class": "genp", "r_Data": 1], errSecParam), (["class": "genp", "r_Data": "true"], errSecParam),
            (["class": "genp", "v_Data": 1], errSecParam), (["class": "genp", "v_Data": NSNull()], errSecParam),
            (["class": "genp", "accc": "text"], errSecParam), (["class": "genp", "accc": NSNull()], errSecParam),
            (["class": "genp", "acct": [1, 2]], errSecParam), (["class": "genp", "acct": NSNull()], errSecParam),
            (["class": "genp", "cdat": "yesterday"], errSecParam), (["class": "genp", "crtr": 1.5], errSecParam),
            (["class": "genp", "crtr": Data()], errSecParam), (["class": "genp", "pdmn": "sometimes"], errSecParam),
            (["class": "genp", "pdmn": 3], errSecParam), (["class": "genp", "agrp": Data([0xff])], errSecParam),
            (["class": "genp", "sync": "perhaps"], errSecParam), (["class": "genp", "sync": 2], errSecParam),
            (["class": "genp", "v_Ref": "text"], errSecParam), (["class": "genp", "u_AuthCtx": "text"], errSecParam),
            (["class": "genp", "u_ItemList": [1]], errSecParam), (["class": "genp", "u_CredRef": Data()], errSecParam),
            (["class": "genp", "u_AuthUI": "x"], errSecParam), (["class": "genp", "u_NoAuthUI": 1], errSecParam),
            (["class": "genp", "u_OpPrompt": 1], errSecParam),
        ] as [([String: any Sendable], OSStatus)])
    func `a query that breaks the grammar is refused by all four calls before the store is asked`(
        query: [String: any Sendable], status: OSStatus
    ) {
        #expect(keychain.add(query).0 == status)
        #expect(keychain.find(query).0 == status)
        #expect(keychain.update(query, [:]) == status)
        #expect(keychain.delete(query) == status)
        #expect(keychain.store.calls.isEmpty)
    }

    @Test func `a query has at most 128 keys`() {
        var query: [String: Any] = ["class": "genp"]
        for number in 1...127 { query["fspi.\(number)"] = number }
        #expect(keychain.find(query).0 == errSecItemNotFound)
        query["fspi.128"] = 1
        #expect(keychain.find(query).0 == errSecParam)
    }

    @Test func `keys that are no strings are refused, and those that are may be of any kind`() {
        let odd: [AnyHashable: Any] = ["class": "genp", 5: 6]
        #expect(throws: (any Error).self) {
            try ItemCalls(service: keychain.store).find(odd as CFDictionary, isResultWanted: false)
        }
        let bridged = NSDictionary(objects: ["genp" as NSString], forKeys: ["class" as NSString])
        #expect(throws: OstiaryError(.init(.notFound), "")) {
            try ItemCalls(service: keychain.store).find(bridged, isResultWanted: false)
        }
        let constants: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "me"]
        #expect(throws: OstiaryError(.init(.notFound), "")) {
            try ItemCalls(service: keychain.store).find(constants as CFDictionary, isResultWanted: false)
        }
    }

    @Test func `the mark of the data-protection keychain is accepted in every place`() {
        #expect(keychain.add(password.merging(["nleg": true]) { $1 }).0 == 0)
        #expect(keychain.update(["class": "genp", "nleg": true], ["nleg": true, "icmt": "x"]) == 0)
        #expect(keychain.delete(["class": "genp", "nleg": false]) == 0)
    }

    // MARK: values

    @Test func `values keep their type, and match by their bytes`() throws {
        let query: [String: Any] = [
            "class": "keys", "atag": Data("tag".utf8), "labl": "label" as NSString, "kcls": "1",
            "type": kSecAttrKeyTypeEC,
            "bsiz": "256" as NSString, "perm": true, "klbl": "text", "v_Data": NSData(data: Data([1])),
        ]
        #expect(keychain.add(query).0 == 0)
        let row = try #require(keychain.store.rows.first)
        #expect(row.item.attributes["atag"] == .data(Data("tag".utf8)))
        #expect(row.item.attributes["labl"] == .text("label"))
        #expect(row.item.attributes["kcls"] == .number(1))
        #expect(row.item.attributes["type"] == .number(73))
        #expect(row.item.attributes["bsiz"] == .number(256))
        #expect(row.item.attributes["perm"] == .number(1))
        #expect(row.item.attributes["klbl"] == .data(Data("text".utf8)))
        #expect(row.data == Data([1]))
        #expect(keychain.find(["class": "keys", "atag": "tag"]).0 == 0)
    }

    @Test(arguments: [
        ("", ItemAttributeValue.text("")), ("007", .text("007")), ("+7", .text("+7")), ("7", .number(7)),
        ("htps", .text("htps")), ("99999999999999999999", .text("99999999999999999999")),
    ])
    func `a number that is given as text is a number if it reads back the same`(text: String, value: ItemAttributeValue)
    {
        #expect(keychain.add(["class": "inet", "port": text]).0 == 0)
        #expect(keychain.store.rows.first?.item.attributes["port"] == value)
    }

    @Test func `a number becomes four bytes where an attribute is data`() {
        #expect(keychain.add(["class": "keys", "klbl": 258]).0 == 0)
        #expect(keychain.store.rows.first?.item.attributes["klbl"] == .data(Data([2, 1, 0, 0])))
    }

    @Test(arguments: [Data("other".utf8), "other"] as [any Sendable])
    func `data in a query that looks for items filters nothing`(data: any Sendable) {
        #expect(keychain.add(password).0 == 0)
        let query: [String: Any] = ["class": "genp", "v_Data": data]
        #expect(keychain.find(query).0 == 0)
        #expect(keychain.update(query, ["icmt": "x"]) == 0)
        #expect(keychain.store.rows.first?.data == Data("secret".utf8))
        #expect(keychain.delete(query) == 0)
    }

    @Test(arguments: ["", "text", "grün 🔑"])
    func `text as the data of a new item is stored as UTF-8`(text: String) throws {
        for given in [text, text as NSString] as [Any] {
            #expect(keychain.add(password.merging(["v_Data": given, "acct": "\(type(of: given))"]) { $1 }).0 == 0)
        }
        #expect(keychain.store.rows.map(\.data) == [Data(text.utf8), Data(text.utf8)])
        #expect(keychain.find(["class": "genp", "r_Data": true]).1 as? Data == Data(text.utf8))
    }

    @Test func `more data than a message takes is refused`() {
        let query = password.merging(["v_Data": Data(count: WireLimits.tailByteCount + 1)]) { $1 }
        #expect(keychain.add(query).0 == errSecDataTooLarge)
        #expect(keychain.store.calls.isEmpty)
    }

    // MARK: adding

    @Test func `an add without return flags returns nothing, and the dates are the store's`() {
        let old = Date(timeIntervalSince1970: 0)
        let (status, result) = keychain.add(password.merging(["cdat": old, "mdat": old]) { $1 })
        #expect(status == 0)
        #expect(result == nil)
        #expect(keychain.store.rows.first?.item.attributes["cdat"] == .date(ItemStoreDouble.date))
        #expect(keychain.add(password).0 == errSecDuplicateItem)
    }

    @Test(arguments: [("genp", "ak"), ("inet", "ak"), ("keys", "ak")])
    func `an item is readable while unlocked unless it says otherwise`(itemClass: String, accessible: String) throws {
        #expect(keychain.add(["class": itemClass]).0 == 0)
        let item = keychain.store.rows.first?.item
        #expect(item?.attributes["pdmn"] == .text(accessible))
        #expect(item?.attributes["sync"] == .number(0))
        #expect(item?.accessControl == (try accessControl([], "ak").canonical()))
        #expect(item?.accessControl?[.change] == .unrestricted)
        #expect(item?.shownAccessControl.isEmpty == true)
    }

    @Test(
        arguments: [
            ["m_Limit": "m_LimitOne"], ["v_PersistentRef": Data(count: 20)], ["u_AuthUI": "u_AuthUIS"],
            ["sync": "syna"],
            ["tkid": "com.apple.setoken"], ["ggrp": "g", "sync": true],
        ] as [[String: any Sendable]])
    func `what a new item cannot have is refused`(extra: [String: any Sendable]) {
        #expect(keychain.add(["class": "keys"].merging(extra) { $1 }).0 == errSecParam)
        #expect(keychain.store.calls.isEmpty)
    }

    @Test func `an access control excludes an accessibility and synchronizing, whatever it says`() {
        for flags in [SecAccessControlCreateFlags(), .userPresence] {
            let given = password.merging(["accc": accessControl(flags)]) { $1 }
            #expect(keychain.add(given.merging(["pdmn": "aku"]) { $1 }).0 == errSecParam)
            #expect(keychain.add(given.merging(["pdmn": "ck"]) { $1 }).0 == errSecParam)
            #expect(keychain.add(given.merging(["sync": true]) { $1 }).0 == errSecParam)
            #expect(keychain.update(["class": "genp"], ["accc": accessControl(flags), "sync": true]) == errSecParam)
        }
        #expect(keychain.store.calls.isEmpty)
        #expect(keychain.add(password.merging(["accc": accessControl()]) { $1 }).0 == 0)
        let item = keychain.store.rows.first?.item
        #expect(item?.attributes["pdmn"] == .text("aku"))
        #expect(item?.accessControl?.keyRequirement.factors == [.biometry, .passcode])
    }

    // MARK: results

    private func added(_ extra: [String: Any] = [:]) { #expect(keychain.add(password.merging(extra) { $1 }).0 == 0) }

    @Test func `one part is returned by itself`() throws {
        added()
        #expect(keychain.find(["class": "genp", "r_Data": true]).1 as? Data == Data("secret".utf8))
        #expect((keychain.find(["class": "genp", "r_PersistentRef": true]).1 as? Data)?.count == 20)
        let attributes = try #require(
            keychain.find(["class": "genp", "r_Attributes": kCFBooleanTrue!]).1 as? [String: Any])
        #expect(attributes["acct"] as? String == "me")
        #expect(attributes["sync"] as? Int == 0)
        #expect(attributes["musr"] as? Data == Data())
        #expect(attributes["cdat"] as? Date == ItemStoreDouble.date)
        #expect(attributes["accc"] is SecAccessControl)
        for absent in ["v_Data", "v_Ref", "v_PersistentRef", "class", "UUID", "persistref", "sha1"] {
            #expect(attributes[absent] == nil, "\(absent)")
        }
    }

    @Test func `a password's reference names it in every call`() throws {
        for account in ["me", "you", "they"] { added(["acct": account]) }
        let (status, result) = keychain.find(["class": "genp", "acct": "me", "r_Ref": true])
        #expect(status == 0)
        let item = try #require(result as? SecKeychainItem)
        #expect(CFGetTypeID(item) == SecKeychainItemGetTypeID())
        #expect(keychain.find(["v_Ref": item, "r_Ref": true]).1 as? SecKeychainItem == item)
        #expect(keychain.update(["class": "genp", "v_Ref": item], ["acct": "myself"]) == 0)
        let attributes = keychain.find(["v_Ref": item, "r_Attributes": true]).1 as? [String: Any]
        #expect(attributes?["acct"] as? String == "myself")
        #expect(keychain.delete(["v_Ref": item]) == 0)
        #expect(keychain.find(["v_Ref": item]).0 == errSecItemNotFound)
        #expect(keychain.delete(["v_Ref": item]) == errSecItemNotFound)
        #expect(keychain.store.rows.count == 2)
    }

    @Test func `a password's reference takes nothing beside it that says otherwise`() throws {
        for account in ["me", "you"] { added(["acct": account]) }
        let item = try #require(keychain.find(["class": "genp", "acct": "me", "r_Ref": true]).1)
        let other = try #require(keychain.find(["class": "genp", "acct": "you", "r_PersistentRef": true]).1)
        #expect(keychain.add(["v_Ref": item, "acct": "new"]).0 == errSecParam)
        for more in [["acct": "me"], ["class": "inet"], ["v_PersistentRef": other], ["m_ItemList": [item]]]
            as [[String: Any]]
        {
            #expect(keychain.find(more.merging(["v_Ref": item]) { $1 }).0 == errSecParam)
            #expect(keychain.delete(more.merging(["v_Ref": item]) { $1 }) == errSecParam)
        }
        #expect(keychain.store.rows.count == 2)
    }

    @Test func `all references of passwords are returned`() {
        for account in ["me", "you"] { added(["acct": account]) }
        let (status, result) = keychain.find(["class": "genp", "r_Ref": true, "m_Limit": "m_LimitAll"])
        #expect(status == 0)
        #expect((result as? [SecKeychainItem])?.count == 2)
        let added = keychain.add(["class": "genp", "acct": "they", "v_Data": Data(), "r_Ref": true]).1
        #expect(added is SecKeychainItem)
    }

    // MARK: lists of items

    @Test func `a list of items is all that a query is about`() throws {
        for account in ["me", "you", "they"] { added(["acct": account]) }
        let found = keychain.find(["class": "genp", "r_Ref": true, "m_Limit": "m_LimitAll"])
        let items = try #require(found.1 as? [SecKeychainItem])
        let reference = try #require(
            keychain.find(["class": "genp", "acct": "they", "r_PersistentRef": true]).1 as? Data)
        func accounts(_ list: [Any], limit: Any = "m_LimitAll") -> [String]? {
            let query: [String: Any] = ["class": "genp", "m_ItemList": list, "r_Attributes": true, "m_Limit": limit]
            return (keychain.find(query).1 as? [[String: Any]])?.compactMap { $0["acct"] as? String }
        }
        #expect(accounts([items[1], items[0]]) == ["you", "me"])
        #expect(accounts([reference, items[0], reference]) == ["they", "me"])
        #expect(accounts([items[0], items[1], items[2]], limit: 2) == ["me", "you"])
        #expect(keychain.find(["class": "genp", "m_ItemList": [Any]()]).0 == errSecItemNotFound)
        #expect(keychain.find(["class": "inet", "m_ItemList": items]).0 == errSecItemNotFound)
        #expect(keychain.update(["class": "genp", "m_ItemList": [items[0]]], ["icmt": "x"]) == 0)
        #expect(keychain.store.rows.map(\.item.attributes["icmt"]) == [.text("x"), nil, nil])
        #expect(keychain.update(["class": "genp", "m_ItemList": items], ["icmt": "y"]) == errSecUnimplemented)
        #expect(keychain.delete(["class": "genp", "m_ItemList": [items[1], items[1]], "m_Limit": 1]) == 0)
        #expect(accounts([items[1], items[2]]) == ["they"])
        #expect(keychain.delete(["class": "genp", "m_ItemList": [Any]()]) == errSecItemNotFound)
        #expect(keychain.delete(["class": "inet", "m_ItemList": items]) == errSecItemNotFound)
        #expect(keychain.store.rows.count == 2)
    }

    @Test func `keys are listed as themselves`() throws {
        let keys = try (0..<2).map { _ in try Keys.curve(256) }
        for key in keys { #expect(keychain.add(["v_Ref": key]).0 == 0) }
        let query: [String: Any] = ["class": "keys", "m_ItemList": [keys[1]], "r_Ref": true]
        #expect(keychain.find(query).1 as? SecKey == keys[1])
        #expect(keychain.find(query.merging(["klbl": Data([1])]) { $1 }).0 == errSecItemNotFound)
        #expect(keychain.delete(["class": "keys", "m_ItemList": [keys[1]]]) == 0)
        #expect(keychain.find(["class": "keys", "r_Ref": true]).1 as? SecKey == keys[0])
    }

    @Test(arguments: [1, "me", [1], ["me"], [Data()], [NSNull()]] as [any Sendable])
    func `what is no list of items is refused`(list: any Sendable) {
        added()
        #expect(keychain.find(["class": "genp", "m_ItemList": list]).0 == errSecParam)
        #expect(keychain.update(["class": "genp", "m_ItemList": list], ["icmt": "x"]) == errSecParam)
        #expect(keychain.delete(["class": "genp", "m_ItemList": list]) == errSecParam)
        #expect(keychain.add(["class": "genp", "acct": "new", "m_ItemList": list]).0 == errSecParam)
        #expect(keychain.find(["class": "idnt", "m_ItemList": list]).0 == errSecUnimplemented)
        #expect(keychain.store.rows.count == 1)
    }

    // MARK: what keys are for

    @Test func `a stored key keeps what it can be used for, and is found by it`() throws {
        let privateKey = try Keys.curve(256)
        let publicKey = try Keys.publicKey(privateKey)
        #expect(keychain.add(["v_Ref": privateKey]).0 == 0)
        #expect(keychain.add(["v_Ref": publicKey, "vrfy": false]).0 == 0)
        #expect(keychain.find(["class": "keys", "sign": true, "r_Ref": true]).1 as? SecKey == privateKey)
        #expect(keychain.find(["class": "keys", "encr": true, "r_Ref": true]).1 as? SecKey == publicKey)
        #expect(keychain.find(["class": "keys", "vrfy": true]).0 == errSecItemNotFound)
        let attributes = try #require(
            keychain.find(["class": "keys", "kcls": 1, "r_Attributes": true]).1 as? [String: Any])
        let uses = ["encr", "decr", "drve", "sign", "vrfy", "snrc", "vyrc", "wrap", "unwp"].map {
            attributes[$0] as? Bool
        }
        #expect(uses == [false, true, true, true, false, false, false, false, true])
        #expect(keychain.find(["v_Ref": publicKey, "r_Ref": true]).1 as? SecKey == publicKey)
    }

    @Test func `several parts are returned as exactly these entries`() throws {
        added()
        let two = try #require(
            keychain.find(["class": "genp", "r_Data": true, "r_PersistentRef": true]).1 as? [String: Any])
        #expect(Set(two.keys) == ["v_Data", "v_PersistentRef"])
        let four = try #require(
            keychain.find([
                "class": "genp", "r_Data": true, "r_PersistentRef": true, "r_Attributes": true, "r_Ref": true,
            ]).1 as? [AnyHashable: Any])
        #expect(four["class"] as? String == "genp")
        #expect(four["v_Data"] as? Data == Data("secret".utf8))
        #expect(four["acct"] as? String == "me")
    }

    @Test func `an item without data has empty data, and no entry for it`() throws {
        #expect(keychain.add(["class": "genp", "acct": "me"]).0 == 0)
        #expect(keychain.find(["class": "genp", "r_Data": true]).1 as? Data == Data())
        let both = try #require(
            keychain.find(["class": "genp", "r_Data": true, "r_Attributes": true]).1 as? [String: Any])
        #expect(both["v_Data"] == nil)
    }

    @Test func `several items are an array even if there is one, and in the order of their making`() throws {
        added()
        #expect(
            keychain.find(["class": "genp", "r_Data": true, "m_Limit": "m_LimitAll"]).1 as? [Data]
                == [Data("secret".utf8)])
        #expect((keychain.find(["class": "genp", "r_Data": true, "m_Limit": 2]).1 as? [Data])?.count == 1)
        added(["acct": "you"])
        let found = keychain.find(["class": "genp", "r_Attributes": true, "m_Limit": kSecMatchLimitAll]).1
        #expect((found as? [[String: Any]])?.compactMap { $0["acct"] as? String } == ["me", "you"])
        #expect(
            (keychain.find(["class": "genp", "r_Attributes": true, "m_Limit": 1]).1 as? NSDictionary)?["acct"]
                as? String == "me")
        #expect(keychain.find(["class": "genp", "svce": "none", "m_Limit": "m_LimitAll", "r_Data": true]).1 == nil)
    }

    @Test(arguments: [0, -1, "m_LimitSome", true, 1.5, NSNull()] as [any Sendable])
    func `a limit that is none is refused`(limit: any Sendable) {
        added()
        #expect(keychain.find(["class": "genp", "m_Limit": limit]).0 == errSecParam)
        #expect(keychain.update(["class": "genp", "m_Limit": limit], ["icmt": "x"]) == errSecParam)
        #expect(keychain.delete(["class": "genp", "m_Limit": limit]) == errSecParam)
        #expect(keychain.store.rows.count == 1)
    }

    @Test func `a search that returns something needs a place for it`() {
        added()
        #expect(keychain.find(["class": "genp", "r_Data": true], isResultWanted: false).0 == errSecParam)
        #expect(keychain.find(["class": "genp", "r_Data": false], isResultWanted: false).0 == 0)
    }

    @Test func `the attributes of an item find it again`() throws {
        added()
        var attributes = try #require(keychain.find(["class": "genp", "r_Attributes": true]).1 as? [String: Any])
        attributes["class"] = "genp"
        attributes["r_Data"] = true
        #expect(keychain.find(attributes).1 as? Data == Data("secret".utf8))
    }

    @Test func `the attributes of an item under an access control are not a query`() throws {
        added(["accc": accessControl()])
        var attributes = try #require(keychain.find(["class": "genp", "r_Attributes": true]).1 as? [String: Any])
        #expect(attributes["accc"] as? SecAccessControl == accessControl())
        attributes["class"] = "genp"
        #expect(keychain.find(attributes).0 == errSecParam)
        attributes["pdmn"] = nil
        #expect(keychain.find(attributes).0 == 0)
    }

    // MARK: persistent references

    @Test func `a persistent reference names its item alone, whatever becomes of it`() throws {
        added(["sync": true])
        let reference = try #require(
            keychain.find(["class": "genp", "sync": "syna", "r_PersistentRef": true]).1 as? Data)
        #expect(reference.prefix(4) == Data("genp".utf8))
        #expect(keychain.update(["v_PersistentRef": reference], ["acct": "you"]) == 0)
        #expect(
            keychain.find(["v_PersistentRef": reference, "class": "genp", "m_Limit": "m_LimitOne", "r_Data": true]).0
                == 0)
        #expect(keychain.find(["v_PersistentRef": reference, "acct": "you"]).0 == errSecParam)
        #expect(keychain.find(["v_PersistentRef": reference, "class": "inet"]).0 == errSecParam)
        #expect(keychain.delete(["v_PersistentRef": reference]) == 0)
        #expect(keychain.find(["v_PersistentRef": reference]).0 == errSecItemNotFound)
    }

    @Test(arguments: [
        Data(), Data("genp".utf8), Data("genp".utf8) + Data(count: 8), Data("genp".utf8) + Data(count: 15),
        Data("genp".utf8) + Data(count: 17), Data("tkpr".utf8) + Data(count: 16),
        Data([0xff, 0xff, 0xff, 0xff]) + Data(count: 16),
    ])
    func `what is no persistent reference is refused`(bytes: Data) {
        #expect(keychain.find(["v_PersistentRef": bytes]).0 == errSecParam)
        #expect(keychain.delete(["v_PersistentRef": bytes]) == errSecParam)
    }

    // MARK: match keys

    @Test(
        arguments: [
            ("m_Policy", 1, errSecUnimplemented), ("m_Issuers", [Data()], errSecUnimplemented),
            ("m_HostOrSubdomainOfHost", "h", errSecUnimplemented), ("m_ItemList", [1], errSecParam),
            ("m_SubjectContains", 1, errSecParam), ("m_EmailAddressIfPresent", 1, errSecParam),
            ("m_TrustedOnly", 1, errSecParam),
            ("m_ValidOnDate", "now", errSecParam), ("m_CaseInsensitive", "yes", errSecParam),
            ("m_SubjectContains", "x", errSecItemNotFound), ("m_ValidOnDate", NSNull(), errSecItemNotFound),
            ("m_TrustedOnly", true, errSecItemNotFound), ("m_CaseInsensitive", true, errSecItemNotFound),
        ] as [(String, any Sendable, OSStatus)])
    func `match keys have their type and their class`(key: String, value: any Sendable, status: OSStatus) {
        #expect(keychain.find(["class": "genp", key: value]).0 == status)
        #expect(keychain.update(["class": "genp", key: value], [:]) == errSecParam)
        #expect(keychain.delete(["class": "genp", key: value]) == errSecParam)
    }

    @Test(arguments: ["m_TrustedOnly", "m_Policy"])
    func `certificates are not found by what cannot be matched`(key: String) {
        #expect(keychain.find(["class": "cert", key: true]).0 == errSecUnimplemented)
    }

    @Test func `a host is matched for internet passwords`() {
        #expect(keychain.find(["class": "inet", "m_HostOrSubdomainOfHost": 1]).0 == errSecParam)
        #expect(keychain.find(["class": "inet", "m_HostOrSubdomainOfHost": "example.com"]).0 == errSecItemNotFound)
        #expect(keychain.store.lastSelection?.hostOrSubdomainOf == "example.com")
    }

    @Test(
        arguments: [
            (nil, ItemSelection.Synchronizable.no), (true, .yes), (false, .no), ("syna", .any), (1, .yes), ("1", .yes),
        ] as [((any Sendable)?, ItemSelection.Synchronizable)])
    func `synchronizable items are found when they are asked for`(
        value: (any Sendable)?, meaning: ItemSelection.Synchronizable
    ) {
        var query: [String: Any] = ["class": "genp"]
        query["sync"] = value
        _ = keychain.find(query)
        #expect(keychain.store.lastSelection?.synchronizable == meaning)
        #expect(keychain.store.lastSelection?.attributes["sync"] == nil)
    }

    // MARK: updating

    @Test(
        arguments: [
            (["v_Data": NSNull()], errSecParam), (["v_Data": "text"], errSecParam),
            (["class": "inet"], errSecParam), (["class": "none"], errSecNoSuchClass), (["class": 1], errSecParam),
            (["r_Data": true], errSecNoSuchAttr), (["m_Limit": 1], errSecNoSuchAttr),
            (["u_CredRef": Data()], errSecNoSuchAttr),
            (["v_Ref": 1], errSecNoSuchAttr), (["v_PersistentRef": Data()], errSecNoSuchAttr),
            (["clip": true], errSecParam),
            (["zzzz": 1], errSecNoSuchAttr), (["srvr": "x"], errSecNoSuchAttr), (["accc": "text"], errSecParam),
            (["pdmn": "x"], errSecParam), (["ggrp": "g"], errSecParam), (["sync": "syna"], errSecParam),
            (["colour": 1], errSecParam),
        ] as [([String: any Sendable], OSStatus)])
    func `an update that breaks the grammar changes nothing`(changes: [String: any Sendable], status: OSStatus) {
        added()
        #expect(keychain.update(["class": "genp"], changes) == status)
        #expect(!keychain.store.calls.contains(.update))
    }

    /// As programs that overwrite what they would have added.
    @Test func `an update may name the class again`() {
        added()
        #expect(keychain.update(["class": "genp"], ["class": "genp", "acct": "me", "v_Data": Data("new".utf8)]) == 0)
        #expect(keychain.store.rows.map(\.data) == [Data("new".utf8)])
    }

    @Test func `what was read is written back`() throws {
        added()
        let query: [String: Any] = ["class": "genp", "r_Data": true, "r_Attributes": true]
        var read = try #require(keychain.find(query).1 as? [String: Any])
        (read["labl"], read["v_Data"]) = ("changed", Data("other".utf8))
        #expect(keychain.update(["class": "genp"], read) == 0)
        let row = try #require(keychain.store.rows.first)
        #expect(row.item.attributes["labl"] == .text("changed") && row.data == Data("other".utf8))
        for constant in ["tomb", "musr", "ggrp"] { #expect(row.item.attributes[constant] == nil) }
    }

    @Test(arguments: ["r_Data", "r_Attributes", "r_Ref", "r_PersistentRef"])
    func `an update and a deletion return nothing, and do not mind being asked`(key: String) {
        added()
        for flag in [true, false] {
            #expect(keychain.update(["class": "genp", key: flag], ["icmt": "changed \(flag)"]) == 0)
            #expect(keychain.store.rows.first?.item.attributes["icmt"] == .text("changed \(flag)"))
        }
        #expect(keychain.update(["class": "genp", key: 1], ["icmt": "x"]) == errSecParam)
        #expect(keychain.delete(["class": "genp", key: 1]) == errSecParam)
        #expect(keychain.delete(["class": "genp", key: true]) == 0)
        #expect(keychain.store.rows.isEmpty)
    }

    @Test(arguments: ["m_LimitOne", "m_LimitAll", 1, 2] as [any Sendable])
    func `updates and deletions are about all that match, whatever limit they name`(limit: any Sendable) {
        for account in ["me", "you"] { added(["acct": account]) }
        #expect(keychain.update(["class": "genp", "m_Limit": limit], ["icmt": "x"]) == 0)
        #expect(keychain.store.rows.map(\.item.attributes["icmt"]) == [.text("x"), .text("x")])
        #expect(keychain.delete(["class": "genp", "m_Limit": limit]) == 0)
        #expect(keychain.store.rows.isEmpty)
    }

    /// It would reach further than it says.
    @Test func `an update or deletion with another match key is refused, beside a limit too`() {
        added()
        for key in ["m_CaseInsensitive", "m_TrustedOnly"] {
            let query: [String: Any] = ["class": "genp", "m_Limit": "m_LimitAll", key: true]
            #expect(keychain.update(query, ["icmt": "x"]) == errSecParam)
            #expect(keychain.delete(query) == errSecParam)
        }
        #expect(keychain.store.rows.count == 1)
    }

    @Test func `an update sets what it names and leaves the rest`() {
        added(["accc": accessControl(), "labl": "label"])
        #expect(
            keychain.update(["class": "genp"], ["musr": Data([1]), "icmt": "comment", "v_Data": Data("new".utf8)]) == 0)
        let row = keychain.store.rows.first
        #expect(row?.data == Data("new".utf8))
        #expect(row?.item.attributes["labl"] == .text("label"))
        #expect(row?.item.attributes["icmt"] == .text("comment"))
        #expect(row?.item.attributes["musr"] == nil)
        #expect(row?.item.accessControl?.keyRequirement.isUnrestricted == false)
        #expect(keychain.update(["class": "genp"], ["pdmn": "ck"]) == 0)
        #expect(keychain.store.rows.first?.item.accessControl?.availability == .afterFirstUnlock)
        #expect(keychain.update(["class": "genp"], [:]) == 0)
        #expect(keychain.update(["class": "inet"], [:]) == errSecItemNotFound)
    }

    // MARK: what the daemon refuses

    @Test(arguments: [
        (WireFailureCode.userCancel, errSecUserCanceled), (.notInteractive, errSecInteractionNotAllowed),
        (.locked, errSecInteractionNotAllowed), (.authenticationFailed, errSecAuthFailed),
        (.userFallback, errSecAuthFailed),
        (.lockedOut, errSecAuthFailed), (.systemCancel, errSecAuthFailed), (.biometryNotEnrolled, errSecAuthFailed),
        (.passcodeNotSet, errSecAuthFailed), (.unknownContext, errSecAuthFailed), (.duplicate, errSecDuplicateItem),
        (.notFound, errSecItemNotFound), (.missingEntitlement, errSecMissingEntitlement),
        (.noSuchAttribute, errSecNoSuchAttr), (.noSuchClass, errSecNoSuchClass), (.itemUnreadable, errSecDecode),
        (.storeUnreadable, errSecNotAvailable), (.diskFull, errSecDiskFull), (.tooLarge, errSecDataTooLarge),
        (.invalidParameter, errSecParam), (.programChanged, errSecMissingEntitlement),
        (.programUnverified, errSecMissingEntitlement),
        (.internal, errSecInternalComponent),
    ])
    func `a refusal of the daemon has its status in all four calls`(failure: WireFailureCode, status: OSStatus) {
        keychain.store.refuse(failure)
        #expect(keychain.add(password).0 == status)
        #expect(keychain.find(["class": "genp"]).0 == status)
        #expect(keychain.update(["class": "genp"], [:]) == status)
        #expect(keychain.delete(["class": "genp"]) == status)
    }

    // MARK: nonsense

    @Test func `random dictionaries neither trap nor reach further than they should`() {
        var random = SeededGenerator(seed: 20260131)
        let keys = [
            "class", "acct", "svce", "pdmn", "accc", "sync", "m_Limit", "r_Data", "v_Data", "v_Ref", "v_PersistentRef",
            "u_AuthCtx", "u_AuthUI", "agrp", "cdat", "port", "clip", "", "é", "fspi", "zzzz", "m_", "nleg",
            "persistref",
        ]
        for _ in 0..<3000 {
            var query: [String: Any] = [:]
            for _ in 0..<Int.random(in: 0...8, using: &random) {
                query[keys.randomElement(using: &random)!] = Self.value(&random)
            }
            _ = keychain.find(query)
            _ = keychain.update(query, query)
            _ = keychain.delete(query)
            let before = keychain.store.rows.count
            if keychain.add(query).0 != 0 { #expect(keychain.store.rows.count == before) }
        }
    }

    private static func value(_ random: inout SeededGenerator) -> Any {
        switch Int.random(in: 0...13, using: &random) {
        case 0: "genp"
        case 1: Int.max
        case 2: Double.nan
        case 3: UInt64.max
        case 4: Data(count: Int.random(in: 0...40, using: &random))
        case 5: NSNull()
        case 6: ["nested": ["deep": [1, 2, 3] as [Any]]] as [String: Any]
        case 7: Date(timeIntervalSinceReferenceDate: .infinity)
        case 8: true
        case 9: "m_LimitAll"
        case 10: UUID()
        case 11: [Any]()
        case 12: Optional<Data>.none as Any
        default: NSObject()
        }
    }
}
