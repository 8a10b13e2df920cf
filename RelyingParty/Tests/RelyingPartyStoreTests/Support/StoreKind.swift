import Foundation
import RelyingParty
import RelyingPartyPostgreSQL
import RelyingPartySQLite
import Testing

typealias Store = ChallengeStore & CredentialStore

/// The stores that the contract holds for.
enum StoreKind: String, CaseIterable, Sendable {
    case memory, file, postgreSQL

    /// Runs `body` with `count` stores on the same data, as `count` servers have them.
    func withStores<Output>(
        _ count: Int = 1, maximumChallengeCount: Int = 200_000, _ body: ([any Store]) async throws -> Output
    ) async throws -> Output {
        switch self {
        case .memory:
            let store = try SQLiteStore(inMemoryWithMaximumChallengeCount: maximumChallengeCount)
            return try await body([any Store](repeating: store, count: count))
        case .file:
            return try await Self.withFile { path in
                try await body(
                    (0..<count).map { _ in try SQLiteStore(path: path, maximumChallengeCount: maximumChallengeCount) })
            }
        case .postgreSQL:
            let connection = try await PostgreSQLServer.shared.get().newDatabase()
            var stores: [any Store] = []
            for _ in 0..<count {
                stores.append(
                    try await PostgreSQLStore(
                        connection: connection, maximumChallengeCount: maximumChallengeCount))
            }
            return try await body(stores)
        }
    }

    static func withFile<Output>(_ body: (String) async throws -> Output) async throws -> Output {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(folder.appendingPathComponent("store.sqlite").path)
    }
}

/// Challenges and credentials by number.
enum Example {
    static let date = Date(timeIntervalSince1970: 1_800_000_000)

    static func challenge(_ number: Int, expiration: Date = date + 300) -> OpenChallenge {
        OpenChallenge(
            value: Data("challenge \(number)".utf8), purpose: .assertion, account: Data([1]), session: nil,
            allowedCredentials: [], verification: .preferred, expiration: expiration)
    }

    static func credential(_ number: Int, account: UInt8 = 1, counter: UInt32 = 0) -> CredentialRecord {
        CredentialRecord(
            id: Data("credential \(number)".utf8), userHandle: Data([account]), publicKey: Data([2, 3]),
            signatureCounter: counter, isUserVerified: true, isBackupEligible: false, isBackedUp: false,
            transports: ["internal", "usb"])
    }

    static func use(_ number: Int, counter: UInt32, isBackedUp: Bool = false) -> CredentialUse {
        CredentialUse(credentialID: credential(number).id, signatureCounter: counter, isBackedUp: isBackedUp)
    }

    /// Expects the content of ``FormerSchema``, and that the store takes new content.
    static func expectFormerContent(_ store: some Store, counter: UInt32) async throws {
        let record = try #require(try await store.credential(credential(1).id))
        #expect(record.publicKey == Data([2, 3]) && record.signatureCounter == counter - 1 && record.isUserVerified)
        #expect(record.aaguid == nil && record.creation == nil && record.isDiscoverable == nil)
        #expect(try await store.accept(use(1, counter: counter)) == .accepted)
        let open = try await store.take(challenge(1).value, at: date)
        #expect(open == (counter == 8 ? challenge(1) : nil))
        try await store.add(challenge(2), at: date)
        #expect(try await store.take(challenge(2).value, at: date) == challenge(2))
        #expect(try await store.rename(record.id, of: record.userHandle, to: "old one"))
        #expect(try await store.credential(record.id)?.nickname == "old one")
    }
}
