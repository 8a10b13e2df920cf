import AccessControl
import CanonicalEncoding
import Crypto
import ExactNames
import Foundation
import OstiaryMessages
import SecretMemory
import StoreKeys
import StoreTestSupport
import Testing
import Vault

@testable import BrokerTestSupport
@testable import ProtectedObjects
@testable import Refusals

/// The examples of `Documentation/formats/items.md`, and the limits of a record.
@Suite("Encrypted attributes") struct FreeItemFormatTests {
    private static func attributes(_ values: ItemValues, of itemClass: ItemClass) throws -> ItemAttributes {
        var attributes = try ItemAttributes(TestClient.attributes(values), of: itemClass)
        attributes.shownAccessControl = Data([0xaa])
        return attributes
    }

    private static func bytes(_ text: String) -> Data {
        let digits = text.filter { !$0.isWhitespace }
        return Data(
            stride(from: 0, to: digits.count, by: 2).map { UInt8(digits.dropFirst($0).prefix(2), radix: 16)! })
    }

    private static let documented = """
        02 02
        0008 2e73657276696365 02 00000003 6ec3a9
        0004 6c61626c 02 00000001 61
        00000001 aa
        """

    @Test func `free attributes have the documented bytes`() throws {
        let attributes = try Self.attributes([".service": .text("né"), "labl": .text("a")], of: .freeform)
        #expect(attributes.encoded(of: .freeform) == Self.bytes(Self.documented))
        #expect(try ItemAttributes(encoded: Self.bytes(Self.documented), of: .freeform) == attributes)
    }

    @Test func `other classes have the bytes that they always had`() throws {
        let former = Self.bytes("01 01 61636374 02 00000003 6ec3a9 00000001 aa")
        for itemClass in [ItemClass.genericPassword, .internetPassword] {
            let attributes = try Self.attributes(["acct": .text("né")], of: itemClass)
            #expect(attributes.encoded(of: itemClass) == former)
            #expect(try ItemAttributes(encoded: former, of: itemClass) == attributes)
        }
    }

    @Test func `a record of one version is none of a class of the other`() throws {
        let former = Self.bytes("01 01 61636374 02 00000003 6ec3a9 00000001 aa")
        #expect(throws: CanonicalEncodingError.truncated) { try ItemAttributes(encoded: former, of: .freeform) }
        for itemClass in ItemClass.allCases where itemClass != .freeform {
            #expect(throws: CanonicalEncodingError.truncated) {
                try ItemAttributes(encoded: Self.bytes(Self.documented), of: itemClass)
            }
        }
    }

    @Test func `no truncation and no surplus byte is read`() throws {
        let whole = Self.bytes(Self.documented)
        for count in 0..<whole.count {
            #expect(throws: CanonicalEncodingError.self, "\(count)") {
                try ItemAttributes(encoded: whole.prefix(count), of: .freeform)
            }
        }
        #expect(throws: CanonicalEncodingError.trailingBytes) {
            try ItemAttributes(encoded: whole + [0], of: .freeform)
        }
    }

    @Test func `a name that is no text is not read`() {
        let broken = Self.bytes("02 01 0002 2eff 02 00000000 00000000")
        #expect(throws: CanonicalEncodingError.invalidText) { try ItemAttributes(encoded: broken, of: .freeform) }
    }

    @Test func `names lie in the order of their bytes, whatever people see`() throws {
        let names = [".cafe\u{301}x", ".caf\u{e9}", ".a", ".Z", ".~"]
        let values = Dictionary(uniqueKeysWithValues: names.map { ($0, WireAttribute.OneOf_Value.text("")) })
        let encoded = try Self.attributes(values, of: .freeform).encoded(of: .freeform)
        var reader = CanonicalReader(Array(encoded.dropFirst(2)))
        var read: [[UInt8]] = []
        for _ in names {
            read.append(try reader.read(length: UInt16.self))
            _ = (try reader.read(UInt8.self), try reader.read(length: UInt32.self))
        }
        #expect(read == names.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) })
    }

    @Test func `the terms of a free attribute and of a program are digests of the documented bytes`() {
        let keys = StoreKeys(RootSecret())
        let (store, owner) = (VaultID(), VaultID())
        let digests = ItemDigests(keys, storeID: store, owner: owner)
        let key = SymmetricKey(data: keys.digest(store.bytes + owner.bytes, label: "ostiary.items.search.v1"))
        func term(_ bytes: String) -> UInt64 {
            HMAC<SHA256>.authenticationCode(for: Self.bytes(bytes), using: key).prefix(8)
                .reduce(0) { $0 << 8 | UInt64($1) }
        }
        #expect(
            digests.term(".a", .text("b"), of: .freeform) == term("03 05 00000002 2e61 00000001 62"))
        #expect(digests.term(".ab", .text(""), of: .freeform) == term("03 05 00000003 2e6162 00000000"))
        #expect(digests.term(ofProgram: "/a") == term("04 00000002 2f61"))
        #expect(digests.termForPrograms == term("04 00000000"))
    }

    // MARK: another store's

    /// An item of another store, as it would send it.
    private static func head(_ attributes: Data, _ rule: [UInt8], hasData: Bool = false) -> [UInt8] {
        var writer = CanonicalWriter()
        writer.write(fixed: "free".utf8)
        writer.write(attributes, length: UInt32.self)
        writer.write(rule, length: UInt32.self)
        writer.write(flag: hasData)
        return writer.takeBytes()
    }

    private static let pdmn = "0004 70646d6e 02 00000002 616b"

    private func refusal(_ head: [UInt8]) -> Refusal? {
        do {
            _ = try ItemDraft(transferred: head, data: SecretBytes(zeroed: 0))
            return nil
        } catch { return error }
    }

    @Test func `an item of another store is checked as a program's is`() throws {
        let rule = try AccessControl.item(.unrestricted).canonicalBytes
        let good = Self.bytes("02 02 0002 2e61 02 00000000 \(Self.pdmn) 00000000")
        #expect(refusal(Self.head(good, rule)) == nil)
        let cases: [(String, String)] = [
            // A free attribute without a name, and one that is a number.
            ("02 02 0001 2e 02 00000000 \(Self.pdmn) 00000000", "item.attribute-name"),
            ("02 02 0002 2e61 03 00000008 0000000000000000 \(Self.pdmn) 00000000", "item.value"),
            // A name twice, names in another order, an attribute of passwords, and version 1.
            ("02 03 0002 2e61 02 00000000 0002 2e61 02 00000000 \(Self.pdmn) 00000000", "migrate.malformed"),
            ("02 02 \(Self.pdmn) 0002 2e61 02 00000000 00000000", "migrate.malformed"),
            ("02 02 0004 61636374 02 00000000 \(Self.pdmn) 00000000", "item.attribute"),
            ("01 01 70646d6e 02 00000002 616b 00000000", "migrate.malformed"),
            // A kind that there is not, programs that nobody can be, and programs without a rule.
            ("02 02 0004 6b696e64 03 00000008 0200000000000000 \(Self.pdmn) 00000000", "item.kind"),
            ("02 02 0004 6f6e6c79 02 00000001 61 \(Self.pdmn) 00000000", "item.only-needs-rule"),
            ("02 02 0004 6f6e6c79 02 00000002 6120 \(Self.pdmn) 00000000", "item.only"),
        ]
        for (text, cause) in cases {
            #expect(refusal(Self.head(Self.bytes(text), rule))?.cause == cause, "\(text)")
        }
        let asking = try AccessControl.item(.passcode).canonicalBytes
        #expect(refusal(Self.head(Self.bytes(cases[7].0), asking)) == nil)
    }

    @Test func `an item with more attributes than a request can have moves whole`() throws {
        let values = Dictionary(
            uniqueKeysWithValues: (0..<64).map { (".\($0)", WireAttribute.OneOf_Value.text("\($0)")) })
        var attributes = try ItemAttributes(TestClient.attributes(values), of: .freeform)
        attributes["pdmn"] = .text("ak")
        attributes["labl"] = .text("a label")
        let rule = try AccessControl.item(.unrestricted)
        let draft = ItemDraft(
            itemClass: .freeform, attributes: attributes, accessControl: rule, keyID: nil,
            data: SecretBytes(zeroed: 0), applicationPassword: nil)
        let sent = draft.transferred
        let received = try ItemDraft(transferred: sent, data: draft.copiedData())
        let (again, attributesAgain, data) = (received.transferred, received.attributes, received.copiedData().count)
        #expect(again == sent && attributesAgain == attributes && data == 0)
        #expect(sent.last == 1, "empty data is data")
    }
}
