package import DoorSupport
package import SecretMemory

/// A credential in docker's form: an object of JSON with the texts `ServerURL`, `Username` and `Secret`.
///
/// The secret is read from and written to memory for secrets alone, so this is a reader of its own: an object without objects inside.
package struct DockerCredential: Sendable {
    package var serverURL = ""
    package var username = ""
    package var secret: Secret

    package init(serverURL: String, username: String, secret: Secret) {
        (self.serverURL, self.username, self.secret) = (serverURL, username, secret)
    }

    /// Reads docker's object. Members that are not known are passed over, if they are texts, numbers, booleans or null.
    ///
    /// - Throws: `malformedInput`.
    package init(parsing input: borrowing SecretBytes) throws(DoorFailure) {
        secret = Secret(SecretBytes(zeroed: 0))
        var reader = JSONReader()
        try reader.expect("{", in: input)
        if try !reader.take("}", in: input) { try readMembers(&reader, input) }
        try reader.finish(input)
    }

    private mutating func readMembers(
        _ reader: inout JSONReader, _ input: borrowing SecretBytes
    ) throws(DoorFailure) {
        var given: Set<String> = []
        repeat {
            let name = try Self.text(reader.string(in: input), "a name")
            try reader.expect(":", in: input)
            guard given.insert(name).inserted else { throw .malformedInput("a member of the object is given twice") }
            switch name {
            case "ServerURL": serverURL = try Self.text(reader.string(in: input), name)
            case "Username": username = try Self.text(reader.string(in: input), name)
            case "Secret": secret = try reader.string(in: input)
            default: try reader.pass(input)
            }
        } while try reader.take(",", in: input)
        try reader.expect("}", in: input)
    }

    private static func text(_ secret: Secret, _ name: String) throws(DoorFailure) -> String {
        let bytes = unsafe secret.bytes.withUnsafeBytes { unsafe Array($0) }
        guard bytes.count <= CredentialLimits.nameByteCount else { throw .malformedInput("\(name) is too long") }
        guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
            throw .malformedInput("\(name) is no text")
        }
        return text
    }

    /// The object on one line.
    package func document() -> SecretBytes {
        var text = SecretText()
        text.append("{\"ServerURL\":\"")
        text.append(escaping: serverURL)
        text.append("\",\"Username\":\"")
        text.append(escaping: username)
        text.append("\",\"Secret\":\"")
        text.append(escaping: secret.bytes)
        text.append("\"}\n")
        return text.finish()
    }

    /// The object that lists the users of all servers, on one line.
    package static func list(_ users: [String: String]) -> SecretBytes {
        var text = SecretText()
        text.append("{")
        for (index, (server, user)) in users.sorted(by: { $0.key < $1.key }).enumerated() {
            text.append(index == 0 ? "\"" : ",\"")
            text.append(escaping: server)
            text.append("\":\"")
            text.append(escaping: user)
            text.append("\"")
        }
        text.append("}\n")
        return text.finish()
    }
}

extension SecretText {
    fileprivate mutating func append(escaping text: String) {
        for byte in text.utf8 { append(escaping: byte) }
    }

    fileprivate mutating func append(escaping secret: borrowing SecretBytes) {
        for index in 0..<secret.count { append(escaping: unsafe secret.withUnsafeBytes { unsafe $0[index] }) }
    }

    private mutating func append(escaping byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            append(UInt8(ascii: "\\"))
            append(byte)
        case ..<0x20:
            append("\\u00")
            append(byte < 0x10 ? "0" : "1")
            append(String(byte & 0xF, radix: 16))
        default: append(byte)
        }
    }
}

/// Reads tokens of JSON (RFC 8259) out of memory for secrets.
private struct JSONReader {
    private var place = 0

    private func peek(_ input: borrowing SecretBytes) -> UInt8? {
        let place = place
        guard place < input.count else { return nil }
        return unsafe input.withUnsafeBytes { unsafe $0[place] }
    }

    private mutating func skipBlanks(_ input: borrowing SecretBytes) {
        while let byte = peek(input), [0x20, 0x09, 0x0A, 0x0D].contains(byte) { place += 1 }
    }

    /// Whether the next token is this mark, which is then behind.
    mutating func take(_ mark: Character, in input: borrowing SecretBytes) throws(DoorFailure) -> Bool {
        skipBlanks(input)
        guard let byte = peek(input) else { throw Self.ended }
        guard byte == mark.asciiValue else { return false }
        place += 1
        return true
    }

    mutating func expect(_ mark: Character, in input: borrowing SecretBytes) throws(DoorFailure) {
        guard try take(mark, in: input) else { throw .malformedInput("it is no object of JSON") }
    }

    /// Nothing but blanks follows.
    mutating func finish(_ input: borrowing SecretBytes) throws(DoorFailure) {
        skipBlanks(input)
        guard peek(input) == nil else { throw .malformedInput("something follows the object of JSON") }
    }

    /// Passes a value over that is no object and no array.
    mutating func pass(_ input: borrowing SecretBytes) throws(DoorFailure) {
        skipBlanks(input)
        if peek(input) == UInt8(ascii: "\"") {
            _ = try string(in: input)
            return
        }
        let begin = place
        while let byte = peek(input), Self.isOfWord(byte) { place += 1 }
        guard place > begin else { throw .malformedInput("a member of the object is no text") }
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "E"),
            UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    mutating func string(in input: borrowing SecretBytes) throws(DoorFailure) -> Secret {
        try expect("\"", in: input)
        var text = SecretText()
        while true {
            guard let byte = peek(input) else { throw Self.ended }
            place += 1
            switch byte {
            case UInt8(ascii: "\""): return Secret(text.finish())
            case UInt8(ascii: "\\"): try unescape(in: input, into: &text)
            case ..<0x20: throw .malformedInput("a text holds a control character")
            default: text.append(byte)
            }
        }
    }

    private mutating func unescape(
        in input: borrowing SecretBytes, into text: inout SecretText
    ) throws(DoorFailure) {
        guard let byte = peek(input) else { throw Self.ended }
        place += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): try appendScalar(in: input, to: &text)
        default: throw .malformedInput("a text holds an unknown escape")
        }
    }

    /// A character beyond the first 65,536 is written as a pair of surrogates.
    private mutating func appendScalar(
        in input: borrowing SecretBytes, to text: inout SecretText
    ) throws(DoorFailure) {
        var value = try fourDigits(in: input)
        if (0xD800..<0xDC00).contains(value) {
            guard peek(input) == UInt8(ascii: "\\") else { throw Self.surrogate }
            place += 1
            guard peek(input) == UInt8(ascii: "u") else { throw Self.surrogate }
            place += 1
            let low = try fourDigits(in: input)
            guard (0xDC00..<0xE000).contains(low) else { throw Self.surrogate }
            value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(value) else { throw Self.surrogate }
        for unit in UTF8.encode(scalar)! { text.append(unit) }
    }

    private mutating func fourDigits(in input: borrowing SecretBytes) throws(DoorFailure) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = peek(input) else { throw Self.ended }
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw .malformedInput("a text holds an unknown escape")
            }
            place += 1
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    private static let ended = DoorFailure.malformedInput("the object of JSON is cut off")
    private static let surrogate = DoorFailure.malformedInput("a text holds half a character")
}
