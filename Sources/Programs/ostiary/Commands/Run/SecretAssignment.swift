import ArgumentParser
import OstiaryClient
import SecretMemory

/// `NAME=ITEM`: the item of a secret, and the variable that leads the command to it.
struct SecretAssignment: ExpressibleByArgument, Equatable {
    let name: String
    let item: ItemReference

    /// Nil unless the name is one that a shell can use, and the text behind it names an item.
    init?(argument: String) {
        guard let mark = argument.utf8.firstIndex(of: UInt8(ascii: "=")),
            Self.isName(argument.utf8[..<mark]),
            let item = ItemReference(String(argument[argument.utf8.index(after: mark)...]))
        else { return nil }
        (name, self.item) = (String(argument[..<mark]), item)
    }

    /// Far longer than a name is; file names have at most 255 bytes.
    private static let nameByteCount = 128

    private static func isName(_ bytes: Substring.UTF8View) -> Bool {
        guard let first = bytes.first, bytes.count <= nameByteCount, isLetter(first) else { return false }
        return bytes.allSatisfy { isLetter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"): true
        default: false
        }
    }
}

/// A secret on its way to the command.
final class RequestedSecret {
    /// How the command gets it.
    enum Delivery {
        /// Through a pipe that the command inherits; the variable is `/dev/fd/N`.
        case descriptor
        /// In a file of a mount that the command and its children alone see; the variable is its path.
        case file
        /// As the variable's value.
        case environment
    }

    let name: String
    let item: ItemReference
    let delivery: Delivery
    /// Empty before it was read, and after it was handed over.
    private(set) var value = SecretBytes(zeroed: 0)

    init(_ assignment: SecretAssignment, _ delivery: Delivery) {
        (name, item, self.delivery) = (assignment.name, assignment.item, delivery)
    }

    /// Takes a copy of the item's data.
    ///
    /// - Throws: `unfitForEnvironment`.
    func set(_ data: borrowing SecretBytes) throws(CommandError) {
        let hasZero = unsafe data.withUnsafeBytes { unsafe $0.contains(0) }
        guard delivery != .environment || !hasZero else { throw .unfitForEnvironment(name: name) }
        value = SecretBytes(copying: data)
    }

    func forget() { value = SecretBytes(zeroed: 0) }
}
