import DaemonTestSupport
import Foundation
import IndependentTools
import Security
import Testing

extension ItemEndToEndTests {
    /// The acceptance cases of a damaged store, by their numbers. Somebody else writes its database while no daemon
    /// runs; the daemon that starts on it answers the keychain's calls.
    @Suite struct StoreCases {
        private let keychain: KeychainUnderTest
        private let first = Query.genericPassword("first")
        private let second = Query.genericPassword("second")
        private let everything: [CFString: Any] = [kSecClass: kSecClassGenericPassword]

        init() throws { keychain = try KeychainUnderTest() }

        private var database: String { keychain.daemon.stateDirectory + "/vault.sqlite" }

        /// Runs SQL on the database of a daemon that is not running, and starts the daemon again.
        private func tamper(_ sql: String) throws {
            keychain.daemon.kill()
            let script = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])"
            let outcome = try IndependentTool.run("python3", ["-c", script, database, sql])
            guard outcome.status == 0 else { throw TestSupportError(outcome.diagnostics) }
            try keychain.daemon.start()
        }

        private func data(_ query: [CFString: Any]) -> Data? { keychain.finding(query.returningData).result as? Data }

        @Test(arguments: [100, 8192]) func `case 53: a database of garbage is not available, and stays as it is`(
            size: Int
        ) throws {
            #expect(keychain.add(first.holdingSecret) == errSecSuccess)
            keychain.daemon.kill()
            let garbage = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 1) })
            for name in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: database + name) }
            try garbage.write(to: URL(fileURLWithPath: database))
            #expect(throws: TestSupportError.self) { try keychain.daemon.start() }
            #expect(keychain.find(first) == errSecNotAvailable)
            #expect(keychain.add(second.holdingSecret) == errSecNotAvailable)
            #expect(keychain.delete(first) == errSecNotAvailable)
            #expect(try Data(contentsOf: URL(fileURLWithPath: database)) == garbage)
        }

        @Test func `case 55: an item whose attributes were destroyed is refused, never absent, until it is deleted`()
            throws
        {
            #expect(keychain.add(first.holdingSecret) == errSecSuccess)
            try tamper("UPDATE items SET attribute_record = zeroblob(length(attribute_record))")
            #expect(keychain.add(second.holdingSecret) == errSecSuccess)
            let (status, result) = keychain.finding(first.returningData)
            #expect(status == errSecDecode && result == nil)
            #expect(keychain.finding(everything.all.returningAttributes).status == errSecDecode)
            #expect(data(second) == Query.data, "no other item is touched")
            #expect(keychain.delete(first) == errSecSuccess)
            #expect(keychain.delete(first) == errSecItemNotFound)
            #expect(keychain.find(everything.all) == errSecSuccess)
        }

        @Test func `case 55: without the keys of its classes no item is said to be absent`() throws {
            #expect(keychain.add(first.holdingSecret) == errSecSuccess)
            #expect(throws: TestSupportError.self) { try tamper("DELETE FROM key_pairs") }
            #expect(keychain.find(first) == errSecNotAvailable)
            #expect(keychain.add(first.holdingSecret) == errSecNotAvailable)
        }

        @Test func `case 56: an item whose row is gone cannot be added again until it is deleted`() throws {
            #expect(keychain.add(first.holdingSecret) == errSecSuccess)
            try tamper("DELETE FROM items")
            #expect(keychain.finding(first.returningData).status == errSecDecode)
            #expect(keychain.add(first.holdingSecret) == errSecDuplicateItem)
            #expect(keychain.delete(first) == errSecSuccess)
            #expect(keychain.add(first.holdingSecret) == errSecSuccess)
            #expect(data(first) == Query.data)
            #expect(keychain.delete(first) == errSecSuccess)
            #expect(keychain.find(first) == errSecItemNotFound)
        }

        @Test func `case 57: an item whose attributes were destroyed is not updated`() throws {
            #expect(keychain.add(first.holdingSecret) == errSecSuccess)
            try tamper("UPDATE items SET attribute_record = zeroblob(length(attribute_record))")
            #expect(keychain.add(second.holdingSecret) == errSecSuccess)
            #expect(keychain.update(first, [kSecAttrComment: "changed"]) == errSecDecode)
            #expect(keychain.update(everything, [kSecAttrComment: "changed"]) == errSecDecode)
            let other = keychain.finding(second.returningAttributes).result as? [String: Any]
            #expect(other != nil && other?["icmt"] == nil, "an update changes all that match, or none")
        }

        @Test func `case 58: items whose secrets were swapped are both refused`() throws {
            #expect(keychain.add(first.with([kSecValueData: Data("one".utf8)])) == errSecSuccess)
            #expect(keychain.add(second.with([kSecValueData: Data("two".utf8)])) == errSecSuccess)
            #expect(data(first) == Data("one".utf8))
            try tamper(
                """
                CREATE TEMP TABLE former AS SELECT * FROM items;
                UPDATE items SET
                    payload = (SELECT payload FROM former WHERE former.row_key <> items.row_key),
                    wrapped_secret = (SELECT wrapped_secret FROM former WHERE former.row_key <> items.row_key);
                """)
            for item in [first, second] {
                let (status, result) = keychain.finding(item.returningData)
                #expect(status == errSecDecode && result == nil)
            }
        }
    }
}
