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

    @Test func `the entries of a manifest are the documented ones`() throws {
        var manifest = Manifest(table: .users, owner: store)
        manifest.list(user.id.bytes, generation: 1, tag: Data())
        #expect(
            manifest.row.columns == [
                .blob(Data([1, 0, 0, 0, 1, 0, 16] + user.id.bytes + [0, 0, 0, 0, 0, 0, 0, 1, 0]))
            ])
        #expect(try Manifest(manifest.row, table: .users) == manifest)
    }

    @Test(arguments: 0..<32) func `no truncation of a manifest decodes`(count: Int) {
        var manifest = Manifest(table: .users, owner: store)
        manifest.list(user.id.bytes, generation: 1, tag: Data())
        var row = manifest.row
        guard case .blob(let entries) = row.columns[0], entries.count == 32 else {
            Issue.record("the manifest has another size")
            return
        }
        row.columns = [.blob(entries.prefix(count))]
        #expect(throws: MalformedRow.self) { try Manifest(row, table: .users) }
    }
}
