import Foundation
import GRDB
import Glibc
import StoreTestSupport
import Synchronization
import Vault

@testable import Broker

/// Pieces of everything that is wrapped in a store: what must not be found any more once it was replaced.
struct OldWraps {
    private static let pieceByteCount = 32
    private let pieces: Set<Data>

    private static let columns = [
        ("key_pairs", "wrapped_private_half"), ("passcode_records", "sealed_private_half"), ("objects", "slots"),
        ("objects", "payload"), ("objects", "key_blob"), ("log_epochs", "wrapped_seed"),
        ("items", "attribute_record"), ("items", "wrapped_secret"), ("items", "payload"),
    ]

    var count: Int { pieces.count }

    /// The wraps of the store in a state folder, whoever has it open.
    init(in stateDirectory: String) throws {
        let queue = try DatabaseQueue(path: stateDirectory + "/vault.sqlite")
        let values = try queue.read { database in
            try Self.columns.flatMap { table, column in
                try Data.fetchAll(database, sql: "SELECT \(column) FROM \(table) WHERE \(column) IS NOT NULL")
            }
        }
        pieces = Set(values.flatMap(Self.cut))
    }

    private init(pieces: Set<Data>) { self.pieces = pieces }

    private static func cut(_ value: Data) -> [Data] {
        stride(from: 0, through: value.count - pieceByteCount, by: pieceByteCount).map {
            Data(value[value.startIndex + $0..<value.startIndex + $0 + pieceByteCount])
        }
    }

    /// Those that the store does not hold any more.
    func withoutThose(in stateDirectory: String) throws -> OldWraps {
        OldWraps(pieces: pieces.subtracting(try OldWraps(in: stateDirectory).pieces))
    }

    /// Those that lie in one piece in the files; a page's end may cut others in two.
    func foundWhole(in stateDirectory: String) throws -> OldWraps {
        let contents = try Self.contents(of: stateDirectory)
        return OldWraps(pieces: pieces.filter { piece in contents.contains { Self.lies(piece, in: $0) } })
    }

    // There are thousands of pieces, and Foundation's search takes a tenth of the time of all tests of the broker.
    private static func lies(_ piece: Data, in content: Data) -> Bool {
        content.withUnsafeBytes { content in
            piece.withUnsafeBytes { piece in
                var place = 0
                while place + piece.count <= content.count {
                    let rest = UnsafeRawBufferPointer(rebasing: content[place...])
                    guard let found = memchr(rest.baseAddress!, CInt(piece[0]), rest.count - piece.count + 1) else {
                        break
                    }
                    if memcmp(found, piece.baseAddress!, piece.count) == 0 { return true }
                    place = content.baseAddress!.distance(to: found) + 1
                }
                return false
            }
        }
    }

    /// How many pieces occur anywhere in the files of a state folder: database, journal, free pages.
    func traces(in stateDirectory: String) throws -> Int {
        try foundWhole(in: stateDirectory).count
    }

    private static func contents(of stateDirectory: String) throws -> [Data] {
        try FileManager.default.contentsOfDirectory(atPath: stateDirectory).map {
            try Data(contentsOf: URL(fileURLWithPath: stateDirectory + "/" + $0))
        }
    }
}

/// Copies a state folder at a certain commit, as a crash there would leave it.
final class StateCopier: WriteObserver {
    private let state = Mutex((directory: "", label: "", copy: nil as TestFolder?))

    func copyState(of directory: String, at label: String) {
        state.withLock { $0 = (directory, label, nil) }
    }

    var copy: TestFolder? { state.withLock { $0.copy } }

    func willCommit(_ label: String) {}

    func didCommit(_ label: String) {
        state.withLock { state in
            guard label == state.label, state.copy == nil else { return }
            state.copy = try? BrokerFixture.copyOfState(state.directory)
        }
    }
}
