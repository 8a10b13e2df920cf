import Foundation
import OstiaryClient
import OstiaryMessages
import SecretMemory

/// Reads all secrets of a command, under one question where their rules allow it.
struct SecretReading {
    let secrets: [RequestedSecret]
    /// A connection of its own, which ends with this value: while the command runs, nothing is asked of the daemon.
    private let client = OstiaryClient.shared.separate()

    init(_ secrets: [RequestedSecret]) { self.secrets = secrets }

    /// Fills the secrets: all of them or, when this throws, none that anybody gets.
    ///
    /// - Throws: `noItem` and `ambiguousItem` before anybody is asked; the daemon's refusal, such as `locked` and `userCancel`.
    func read(reason: String) throws {
        let ids = try secrets.map(find)
        // In the order that was given, which is that of the question.
        let distinct = ids.indices.filter { ids.firstIndex(of: ids[$0]) == $0 }.map { ids[$0] }
        let use = ItemUse(interaction: Interaction(reason: reason))
        // Two variables may want the same item.
        try client.findItems(ids: distinct, use: use) { item, data in
            for (secret, id) in zip(secrets, ids) where id == item.id {
                switch data {
                case .some(let data): try secret.set(data)
                case .none: throw CommandError.noData
                }
            }
        }
    }

    private func find(_ secret: RequestedSecret) throws -> Data {
        do { return try client.item(secret.item) } catch let error as OstiaryError where error.isFailure(.notFound) {
            throw CommandError.noItem(name: secret.name)
        } catch ItemReferenceError.ambiguous {
            throw CommandError.ambiguousItem(name: secret.name)
        }
    }
}

/// The words of the question: which command gets which secrets.
enum RunReason {
    /// Bytes of the command that are shown; the path comes first.
    private static let commandByteCount = 300
    private static let namesByteCount = 500

    static func text(path: String, arguments: [String], names: [String]) -> String {
        let folder = FileManager.default.currentDirectoryPath
        let program = path.utf8.first == UInt8(ascii: "/") ? path : folder + "/" + path
        let command = clipped(([program] + arguments).joined(separator: " "), to: commandByteCount)
        return "run \(command) with \(clipped(names.joined(separator: ", "), to: namesByteCount))"
    }

    private static func clipped(_ text: String, to count: Int) -> String {
        guard text.utf8.count > count else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            guard shown.utf8.count + String(scalar).utf8.count <= count else { break }
            shown.unicodeScalars.append(scalar)
        }
        return shown + "…"
    }
}
