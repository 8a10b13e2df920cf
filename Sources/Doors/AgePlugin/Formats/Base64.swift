/// Base64 without padding characters (RFC 4648, section 4), as age writes it. Each byte sequence has one text: bits that are left over
/// are zero.
///
/// It works character by character, so that a body that is secret need not lie in memory that is not wiped.
enum Base64 {
    /// The bytes of a text that holds no secret. Nil when it is none, or not the one that an encoder writes.
    static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var (decoder, bytes) = (Decoder(), [UInt8]())
        for character in text {
            switch decoder.take(character) {
            case .byte(let byte): bytes.append(byte)
            case .nothing: break
            case .refused: return nil
            }
        }
        return decoder.isComplete ? bytes : nil
    }

    /// The text of bytes that are no secret.
    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        encode(bytes) { text.append($0) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Calls `put` with each character of the text of `bytes`.
    static func encode(_ bytes: some Sequence<UInt8>, _ put: (UInt8) -> Void) {
        var (bits, count) = (UInt32(0), 0)
        for byte in bytes {
            bits = bits << 8 & 0xffff | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                put(alphabet[Int(bits >> count & 63)])
            }
        }
        if count > 0 { put(alphabet[Int(bits << (6 - count) & 63)]) }
    }

    /// The number of characters for so many bytes.
    static func characterCount(ofByteCount count: Int) -> Int { (count * 4 + 2) / 3 }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Reads a text one character at a time.
    struct Decoder {
        enum Step: Equatable {
            case byte(UInt8)
            /// The character completed no byte.
            case nothing
            /// It is no character of the alphabet.
            case refused
        }

        private var bits: UInt32 = 0
        private var count = 0

        mutating func take(_ character: UInt8) -> Step {
            guard let value = Self.value(of: character) else { return .refused }
            bits = bits << 6 & 0xffff | value
            count += 6
            guard count >= 8 else { return .nothing }
            count -= 8
            defer { bits &= 1 << count - 1 }
            return .byte(UInt8(bits >> count & 0xff))
        }

        /// Whether the text may end here: with less than a character left over, and its bits zero.
        var isComplete: Bool { count < 6 && bits == 0 }

        private static func value(of character: UInt8) -> UInt32? {
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
            case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
            case UInt8(ascii: "+"): 62
            case UInt8(ascii: "/"): 63
            default: nil
            }
        }
    }
}
