import SecretMemory
package import UnixSocket

/// The bytes between age and its plugin.
package protocol StanzaStream: Sendable {
    /// Waits for bytes and puts them into `buffer`; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemCallError) -> Int
    /// Writes all of `bytes`.
    func write(_ bytes: UnsafeRawBufferPointer) throws(SystemCallError)
}

/// Reads stanzas one after the other. Its part of the stream is wiped with it.
struct StanzaReader: ~Copyable {
    private let stream: any StanzaStream
    private var buffer = SecretBytes(zeroed: 4096)
    private var unread = 0..<0

    init(_ stream: any StanzaStream) { self.stream = stream }

    /// The next stanza. After an error the stream is at no known place: read no more of it.
    mutating func next() throws -> Stanza {
        let words = try words()
        return Stanza(words, body: try body())
    }

    private mutating func words() throws -> [String] {
        var line: [UInt8] = []
        while let byte = try nextByte(), byte != Self.newline {
            guard line.count < StanzaLimits.lineByteCount else { throw StanzaError.tooLarge }
            line.append(byte)
        }
        guard !isAtEnd else { throw StanzaError.ended(isWithin: !line.isEmpty) }
        var parts = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)[...]
        guard let first = parts.popFirst(), first.elementsEqual("->".utf8), !parts.isEmpty,
            parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy { (33...126).contains($0) } })
        else { throw StanzaError.firstLine }
        return parts.map { String(decoding: $0, as: UTF8.self) }
    }

    /// The lines up to the first one that is shorter than a full one.
    private mutating func body() throws -> SecretBytes {
        var body = GrowingSecret()
        var (decoder, column) = (Base64.Decoder(), 0)
        while let character = try nextByte() {
            guard character != Self.newline else {
                guard column < Stanza.columnCount else {
                    column = 0
                    continue
                }
                guard decoder.isComplete else { throw StanzaError.body }
                return body.finish()
            }
            column += 1
            guard column <= Stanza.columnCount else { throw StanzaError.body }
            switch decoder.take(character) {
            case .byte(let byte):
                guard body.count < StanzaLimits.bodyByteCount else { throw StanzaError.tooLarge }
                body.append(byte)
            case .nothing: break
            case .refused: throw StanzaError.body
            }
        }
        throw StanzaError.ended(isWithin: true)
    }

    private static let newline = UInt8(ascii: "\n")
    private var isAtEnd = false

    /// Nil at the end of the stream.
    private mutating func nextByte() throws -> UInt8? {
        if unread.isEmpty {
            let stream = stream
            let count = try unsafe buffer.withUnsafeMutableBytes { (bytes) throws(SystemCallError) in
                try unsafe stream.read(into: bytes)
            }
            unread = 0..<count
            isAtEnd = count == 0
        }
        guard let position = unread.popFirst() else { return nil }
        return unsafe buffer.withUnsafeBytes { unsafe $0[position] }
    }
}

/// A secret whose size is not known before its end.
private struct GrowingSecret: ~Copyable {
    private var bytes = SecretBytes(zeroed: 64)
    private(set) var count = 0

    mutating func append(_ byte: UInt8) {
        if count == bytes.count { bytes = SecretBytes(joining: bytes, SecretBytes(zeroed: bytes.count)) }
        let position = count
        unsafe bytes.withUnsafeMutableBytes { unsafe $0[position] = byte }
        count += 1
    }

    consuming func finish() -> SecretBytes {
        let count = count
        return bytes.prefix(count)
    }
}
