import ExactNames
import Foundation
import Testing

@testable import Vault

/// The examples of `Documentation/formats/vault.md`.
@Suite("The documented examples of a vault")
struct VaultFormatTests {
    private let store = VaultID(bytes: Data(repeating: 0x11, count: 16))!
    private let user = UserRecord(
        id: VaultID(bytes: Data(repeating: 0x22, count: 16))!, uid: 1000, name: "alice", created: 1_700_000_000)

    @Test func `the authenticated bytes of a row are the documented ones`() {
        let bytes = user.row(owner: store, generation: 1).authenticatedBytes(store: store)
        #expect(
            bytes.hexadecimal == """
                01057573657273111111111111111111111111111111111111111111111111111111111111111100000010222222222222222222\
                22222222222222000000000000000100030100000000000003e80300000005616c69636501000000006553f100
                """)
    }

    @Test func `attributes have a second version with the constraints of an SSH key, and only then`() throws {
        func encoded(_ constraints: Data) -> Data {
            ObjectAttributes(
                group: "g", identifier: "i", applicationLabel: Data([7]), created: 1, flags: 2,
                sshConstraints: constraints
            ).encoded
        }
        let plain = "00000001670000000169000000010700000000000000010000000" + "2"
        #expect(encoded(Data()).hexadecimal == "01" + plain)
        #expect(encoded(Data([1, 4])).hexadecimal == "02" + plain + "000000020104")
        for constraints in [Data(), Data([1, 4])] {
            let bytes = encoded(constraints)
            #expect(try ObjectAttributes(encoded: bytes).sshConstraints == constraints)
            for other in (0..<bytes.count).map({ bytes.prefix($0) }) + [bytes + [0]] {
                #expect(throws: MalformedRow.self) { try ObjectAttributes(encoded: other) }
            }
        }
        // A second spelling of attributes without constraints.
        #expect(throws: MalformedRow.self) {
            try ObjectAttributes(encoded: Data([2]) + encoded(Data()).dropFirst() + Data(count: 4))
        }
    }

    private static let code = RowCode(high: 0xaaaa_aaaa_aaaa_aaaa, low: 0xbbbb_bbbb_bbbb_bbbb)

    private var listed: ListedRow {
        ListedRow(key: Array(user.id.bytes), entry: ListEntry(generation: 1, code: Self.code, tag: []))
    }

    private var bucket: SealedRow {
        ListBucket.row(0, of: ListID(owner: store, table: .users), generation: 1, listing: [listed])
    }

    @Test func `the bucket of a list is the documented one`() throws {
        #expect(bucket.table == .lists && bucket.key == Data([3, 0, 0]))
        #expect(
            try bytes(bucket).hexadecimal == """
                0100000001001022222222222222222222222222222222\
                0000000000000001aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbb0000
                """)
        #expect(try ListBucket.rows(bucket) == [listed])
    }

    @Test(arguments: 0..<49) func `no truncation of a bucket decodes, nor one with more behind it`(count: Int) throws {
        var row = bucket
        let whole = try bytes(row)
        #expect(whole.count == 49)
        row.columns = [.blob(whole.prefix(count))]
        #expect(throws: MalformedRow.self) { try ListBucket.rows(row) }
        row.columns = [.blob(whole + Data(count: count + 1))]
        #expect(throws: MalformedRow.self) { try ListBucket.rows(row) }
    }

    @Test func `identifiers are in the order of their bytes`() {
        let zeros = [UInt8](repeating: 0, count: VaultID.byteCount)
        let ordered = (0..<VaultID.byteCount).reversed().flatMap { place in
            [UInt8(1), 0x80, 0xff].map { value in
                var bytes = zeros
                bytes[place] = value
                return VaultID(bytes: Data(bytes))!
            }
        }
        #expect(ordered.reversed().sorted() == ordered)
    }

    @Test func `a list that names a row twice does not decode`() {
        #expect(throws: MalformedRow.self) { try Manifest([listed, listed], of: .users) }
    }

    @Test func `the number of a bucket is one of the list's`() throws {
        #expect(try ListBucket.number(Data([10, 0x0f, 0xff]), of: .items) == 4095)
        for key in [[10, 0x10, 0], [6, 0, 0], [10, 0], [10, 0, 0, 0], []] as [[UInt8]] {
            #expect(throws: MalformedRow.self) { try ListBucket.number(Data(key), of: .items) }
        }
        #expect(try ListBucket.number(Data([7, 0x0f, 0xff]), of: .objects) == 4095)
        #expect(throws: MalformedRow.self) { try ListBucket.number(Data([6, 0, 1]), of: .attemptCounters) }
    }

    private var root: Root {
        var root = Root()
        root.counter = 5
        root.lists[ListID(owner: store, table: .users)] = Data(repeating: 0xcc, count: 32)
        return root
    }

    @Test func `the root is the documented one`() throws {
        let row = root.row(store: store)
        #expect(row.table == .roots && row.key.isEmpty && row.generation == 5)
        #expect(
            try bytes(row).hexadecimal == "02000000011111111111111111111111111111111103"
                + String(repeating: "cc", count: 32))
        #expect(try Root(row) == root)
        let rest = try bytes(row).dropFirst()
        for version: UInt8 in [0, 1, 4] {
            var other = row
            other.columns = [.blob(Data([version]) + rest)]
            #expect(throws: MalformedRow.self) { try Root(other) }
        }
    }

    @Test func `the tag of an object is the documented one`() throws {
        let place = ObjectPlace(kind: .enclaveKey, group: 0x6666_6666_6666_6666)
        let tag = ObjectTag(name: Data(repeating: 0x55, count: 32), place: place)
        #expect(Data(tag.bytes).hexadecimal == String(repeating: "55", count: 32) + "026666666666666666")
        #expect(ObjectTag(tag.bytes) == tag)
        #expect(ObjectTag(Array(tag.bytes.prefix(32))) == nil)
        #expect(VaultID(bytes: Data([0xab, 0xcd] + Array(repeating: 0, count: 14)))?.bucket == 0xabc)
    }

    @Test func `an object's entry with another tag does not decode`() throws {
        func manifest(_ tag: [UInt8]) throws -> Manifest {
            let entry = ListEntry(generation: 1, code: Self.code, tag: tag)
            return try Manifest([ListedRow(key: Array(user.id.bytes), entry: entry)], of: .objects)
        }
        #expect(try manifest([]).count(of: .right) == 1)
        let whole = [UInt8](repeating: 1, count: 41)
        #expect(try manifest(whole).count(of: .right) == 1)
        #expect(try manifest(whole).count(of: .enclaveKey) == 0)
        for count in [1, 16, 31, 32, 33, 40, 42] {
            #expect(throws: MalformedRow.self) { try manifest(Array(repeating: 1, count: count)) }
        }
        #expect(throws: MalformedRow.self) { try manifest(whole[..<32] + [9] + whole[33...]) }
    }

    @Test(arguments: 0..<54) func `no truncation of the root decodes, nor one with more behind it`(count: Int) throws {
        var row = root.row(store: store)
        let whole = try bytes(row)
        #expect(whole.count == 54)
        row.columns = [.blob(whole.prefix(count))]
        #expect(throws: MalformedRow.self) { try Root(row) }
        row.columns = [.blob(whole + Data(count: count + 1))]
        #expect(throws: MalformedRow.self) { try Root(row) }
    }

    @Test func `a root of unknown tables or with a list twice does not decode`() throws {
        var row = root.row(store: store)
        let whole = Array(try bytes(row))
        row.columns = [.blob(Data(whole[..<21] + [99] + whole[22...]))]
        #expect(throws: MalformedRow.self) { try Root(row) }
        row.columns = [.blob(Data([2, 0, 0, 0, 2] + whole[5...] + whole[5...]))]
        #expect(throws: MalformedRow.self) { try Root(row) }
    }

    private func bytes(_ row: SealedRow) throws -> Data {
        guard case .blob(let bytes)? = row.columns.first, row.columns.count == 1 else { throw MalformedRow() }
        return bytes
    }
}
