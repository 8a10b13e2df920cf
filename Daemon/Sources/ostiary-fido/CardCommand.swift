/// A command to a card (ISO/IEC 7816-4, 5.1). Its data goes in pieces of at most 255 bytes, which every card takes.
struct CardCommand {
    /// Class, instruction and two parameters.
    private let header: [UInt8]
    private let data: [UInt8]
    /// The bytes that the answer may have; 0 stands for 256.
    private let expectedCount: UInt8

    private static let applet: [UInt8] = [0xA0, 0x00, 0x00, 0x06, 0x47, 0x2F, 0x00, 0x01]
    /// CTAP 2.1, 11.3.5.2: this side knows to ask again when the key needs more time.
    private static let knowsStatus: UInt8 = 0x80
    private static let cancels: UInt8 = 0x11

    private static let pieceByteCount = 255
    private static let chaining: UInt8 = 0x10

    private init(_ header: [UInt8], _ data: [UInt8] = [], expectedCount: UInt8 = 0) {
        (self.header, self.data, self.expectedCount) = (header, data, expectedCount)
    }

    /// SELECT of the applet of FIDO (CTAP 2.1, 11.3.3).
    static let selection = CardCommand([0x00, 0xA4, 0x04, 0x00], applet)

    /// NFCCTAP_MSG: a command of CTAP 2 (CTAP 2.1, 11.3.5.1).
    static func message(_ message: [UInt8]) -> CardCommand { CardCommand([0x80, 0x10, knowsStatus, 0x00], message) }

    /// NFCCTAP_GETRESPONSE: asks again, or asks to end (CTAP 2.1, 11.3.5.2 and 11.3.5.4).
    static func status(cancelling: Bool) -> CardCommand {
        CardCommand([0x80, 0x11, cancelling ? cancels : 0x00, 0x00])
    }

    /// GET RESPONSE: the rest of an answer.
    static func rest(_ count: UInt8) -> CardCommand { CardCommand([0x00, 0xC0, 0x00, 0x00], expectedCount: count) }

    /// A command of FIDO U2F as libfido2 makes it: with a length of three bytes.
    init?(extended bytes: [UInt8]) {
        guard bytes.count >= 7, bytes[4] == 0 else { return nil }
        let count = Int(bytes[5]) << 8 | Int(bytes[6])
        guard bytes.count >= 7 + count else { return nil }
        self.init(Array(bytes[..<4]), Array(bytes[7..<7 + count]))
    }

    /// The commands to send one after the other. Each but the last has the answer 9000.
    var pieces: [[UInt8]] {
        guard !data.isEmpty else { return [header + [expectedCount]] }
        return stride(from: 0, to: data.count, by: Self.pieceByteCount).map { start in
            let piece = data[start...].prefix(Self.pieceByteCount)
            let isLast = start + piece.count == data.count
            let first = isLast ? header[0] : header[0] | Self.chaining
            return [first] + header[1...] + [UInt8(piece.count)] + piece + (isLast ? [expectedCount] : [])
        }
    }
}

/// The answer of a card to one command.
struct CardAnswer {
    let data: ArraySlice<UInt8>
    private let first: UInt8
    private let second: UInt8

    /// 256 bytes and the status word.
    static let maximumByteCount = 258

    init?(_ bytes: [UInt8]) {
        guard (2...Self.maximumByteCount).contains(bytes.count) else { return nil }
        data = bytes.dropLast(2)
        (first, second) = (bytes[bytes.count - 2], bytes[bytes.count - 1])
    }

    var statusWord: [UInt8] { [first, second] }
    var isSuccess: Bool { (first, second) == (0x90, 0x00) }
    /// The key needs more time; `data` says what for.
    var isStatus: Bool { (first, second) == (0x91, 0x00) }
    /// How many bytes are left, 0 for 256 or more; nil when none are.
    var restCount: UInt8? { first == 0x61 ? second : nil }
}
