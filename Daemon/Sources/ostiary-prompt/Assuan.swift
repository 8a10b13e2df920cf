import PromptProtocol
import SecretBuffers

/// The few parts of Assuan, the line protocol of pinentry, that a prompt speaks (libassuan's manual, "Server responses" and
/// "Client requests"; pinentry's manual, "Protocol").
enum Assuan {
    /// Longest line with its end.
    static let lineByteCount = 1002

    /// Most bytes of an argument, escaped, behind the command `name`.
    static func argumentByteCount(of name: String) -> Int { lineByteCount - 2 - name.utf8.count - 1 }

    /// How many bytes `text` takes in an argument.
    static func escapedByteCount(_ text: some StringProtocol) -> Int { text.utf8.reduce(0) { $0 + escape($1).count } }

    /// A command line with its argument escaped: `%`, CR and LF as `%` and two hexadecimal digits, cut before the line
    /// would become too long.
    static func command(_ name: String, _ argument: String = "") -> [UInt8] {
        var line = Array(name.utf8)
        if !argument.isEmpty { line.append(UInt8(ascii: " ")) }
        for character in argument {
            let escaped = character.utf8.flatMap(escape)
            guard line.count + escaped.count < lineByteCount - 1 else { break }
            line += escaped
        }
        return line + [UInt8(ascii: "\n")]
    }

    private static func escape(_ byte: UInt8) -> [UInt8] {
        switch byte {
        case UInt8(ascii: "%"): Array("%25".utf8)
        case UInt8(ascii: "\r"): Array("%0D".utf8)
        case UInt8(ascii: "\n"): Array("%0A".utf8)
        default: [byte]
        }
    }

    /// The meaning of a line from the server.
    enum Response: Equatable {
        case ok
        /// libgpg-error's code without its source.
        case error(code: UInt16)
        /// Data from this byte of the line on, still escaped.
        case data(offset: Int)
        /// Status and comment lines, which may come at any time.
        case other
    }

    /// Reads one line without its end; nil when it is none that a server may send here (`INQUIRE` included).
    static func parse(_ line: UnsafeRawBufferPointer) -> Response? {
        if unsafe line.elementsEqual("OK".utf8) || line.starts(with: "OK ".utf8) { return .ok }
        if unsafe line.starts(with: "D ".utf8) { return .data(offset: 2) }
        if unsafe line.starts(with: "S ".utf8) || line.first == UInt8(ascii: "#") { return .other }
        guard unsafe line.starts(with: "ERR ".utf8) else { return nil }
        let digits = unsafe line.dropFirst(4).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard unsafe (1...10).contains(digits.count) else { return nil }
        let number = unsafe digits.reduce(UInt64(0)) { $0 * 10 + UInt64($1 - UInt8(ascii: "0")) }
        return .error(code: UInt16(truncatingIfNeeded: number))
    }

    /// Appends the escaped data of a line to `secret`; false when an escape is broken or the secret is too long.
    static func decode(_ escaped: Slice<UnsafeRawBufferPointer>, into secret: inout SecretLine) -> Bool {
        var index = unsafe escaped.startIndex
        while unsafe index < escaped.endIndex {
            var byte = unsafe escaped[index]
            index += 1
            if byte == UInt8(ascii: "%") {
                guard unsafe index + 1 < escaped.endIndex, let high = unsafe nibble(escaped[index]),
                    let low = unsafe nibble(escaped[index + 1])
                else { return false }
                byte = high << 4 | low
                index += 2
            }
            guard secret.append(byte) else { return false }
        }
        return true
    }

    private static func nibble(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

/// Cuts a server's bytes into lines, in memory that is wiped, because a line may hold the secret.
struct AssuanLines: ~Copyable {
    private var buffer = SecretBytes(zeroed: Assuan.lineByteCount)
    private var count = 0

    /// Takes the next line's bytes up to and without LF, and calls `body` with them; nil when no line is complete yet.
    mutating func takeLine<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        let filled = count
        let taken: (result: Result, rest: Int)? = unsafe buffer.withUnsafeMutableBytes { buffer in
            guard let end = unsafe buffer[..<filled].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            let result = unsafe body(UnsafeRawBufferPointer(rebasing: buffer[..<end]))
            let rest = filled - end - 1
            for index in 0..<rest { unsafe buffer[index] = unsafe buffer[end + 1 + index] }
            for index in rest..<filled { unsafe buffer[index] = 0 }
            return (result, rest)
        }
        guard let taken else { return nil }
        count = taken.rest
        return taken.result
    }

    /// Lets `read` append bytes; false when it brings none, or when the line is too long already.
    mutating func fill(_ read: (UnsafeMutableRawBufferPointer) -> Int) -> Bool {
        let filled = count
        guard filled < buffer.count else { return false }
        let added = unsafe buffer.withUnsafeMutableBytes {
            unsafe read(UnsafeMutableRawBufferPointer(rebasing: $0[filled...]))
        }
        guard added > 0 else { return false }
        count += added
        return true
    }
}
