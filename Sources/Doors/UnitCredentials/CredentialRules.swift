package import DoorSupport
package import OstiaryClient

/// Which unit gets which item under which credential's id: lines of `UNIT CREDENTIAL = ITEM`, empty lines, and comments that begin with
/// `#`. Strict: one wrong line, and no unit gets anything. Nothing is a pattern.
package struct CredentialRules: Sendable {
    private let items: [UnitRequest: ItemReference]
    private let path: String

    /// More than a thousand rules.
    static let byteCount = 64 * 1024

    /// The item that a unit gets.
    ///
    /// - Throws: `noRule`.
    package func item(for request: UnitRequest) throws(DoorFailure) -> ItemReference {
        guard let item = items[request] else { throw .noRule(request, path) }
        return item
    }

    package var count: Int { items.count }

    // MARK: the lines

    /// - Parameter path: for the words of failures.
    package init(parsing bytes: [UInt8], path: String) throws(DoorFailure) {
        guard bytes.count <= Self.byteCount else {
            throw .rulesUnusable("\(path) has more than \(Self.byteCount) bytes. Make it shorter.")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .rulesUnusable("\(path) is not text in UTF-8. Correct it.")
        }
        var items: [UnitRequest: ItemReference] = [:]
        for (index, line) in text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            func wrong(_ reason: String) -> DoorFailure { .rulesUnusable("\(path), line \(index + 1): \(reason)") }
            let trimmed = Self.trimmed(line)
            if trimmed.isEmpty || trimmed.first == "#" { continue }
            guard let (request, item) = Self.rule(trimmed) else {
                throw wrong("expected `UNIT CREDENTIAL = ITEM`, such as `backup.service key = backup`.")
            }
            guard items.updateValue(item, forKey: request) == nil else {
                throw wrong("\(request.unit) has a rule for \(request.credential) already. Remove one of them.")
            }
        }
        (self.items, self.path) = (items, path)
    }

    private typealias Scalars = Substring.UnicodeScalarView

    private static func rule(_ line: Scalars) -> (UnitRequest, ItemReference)? {
        // A control character belongs to no name, and could hide a part of a line from its reader.
        guard let mark = line.firstIndex(of: "="),
            line.allSatisfy({ $0 == "\t" || $0.properties.generalCategory != .control })
        else { return nil }
        let names = line[..<mark].split { $0 == " " || $0 == "\t" }.map { String($0) }
        guard names.count == 2, let item = ItemReference(String(trimmed(line[line.index(after: mark)...]))) else {
            return nil
        }
        do { return (try UnitRequest(unit: names[0], credential: names[1]), item) } catch { return nil }
    }

    private static func trimmed(_ text: Scalars) -> Scalars {
        func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\t" }
        guard let begin = text.firstIndex(where: { !isBlank($0) }), let end = text.lastIndex(where: { !isBlank($0) })
        else {
            return text[text.endIndex...]
        }
        return text[begin...end]
    }
}
