import OstiaryMessages
import Refusals

/// The keys of free attributes: a dot and a name of the program's choice. The keys of other attributes have four letters and no dot.
enum FreeAttribute {
    private static let mark = UInt8(ascii: ".")

    static func isKey(_ key: String) -> Bool { key.utf8.first == mark }

    /// Throws unless the name behind the dot is one that the Secret Service can have.
    static func requireName(in key: String) throws(Refusal) {
        let name = key.utf8.dropFirst()
        guard 1...ItemRequestLimits.freeNameByteCount ~= name.count, !name.contains(0) else {
            throw Refusal(
                .invalidParameter,
                "The name of a free attribute has 1 to \(ItemRequestLimits.freeNameByteCount) bytes, and none of them is 0.",
                cause: "item.attribute-name")
        }
    }
}
