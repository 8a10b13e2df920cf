import Foundation

/// DER as a test writes it, also where it breaks the rules.
enum DERText {
    static func node(_ tag: UInt8, _ content: Data) -> Data { Data([tag]) + length(content.count) + content }

    static func sequence(_ contents: Data...) -> Data { node(0x30, contents.reduce(Data(), +)) }

    /// Hexadecimal digits and blanks. Parentheses behind a byte make it a tag, with the length of what they hold: `30(02(01) 0500)`.
    static func written(_ text: String) -> Data {
        var rest = Array(text)[...]
        return content(&rest)
    }

    private static func content(_ rest: inout ArraySlice<Character>) -> Data {
        var bytes = Data()
        while let first = rest.popFirst(), first != ")" {
            guard first != " " else { continue }
            guard let second = rest.popFirst(), let byte = UInt8(String([first, second]), radix: 16) else {
                preconditionFailure("no hexadecimal digits")
            }
            guard rest.first == "(" else {
                bytes.append(byte)
                continue
            }
            rest = rest.dropFirst()
            bytes += node(byte, content(&rest))
        }
        return bytes
    }

    private static func length(_ count: Int) -> Data {
        guard count >= 0x80 else { return Data([UInt8(count)]) }
        let bytes = (0..<4).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }.drop { $0 == 0 }
        return Data([0x80 | UInt8(bytes.count)]) + Data(bytes)
    }
}
