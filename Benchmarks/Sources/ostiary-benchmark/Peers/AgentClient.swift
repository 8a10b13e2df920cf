import Crypto
import Foundation
import UnixSocket

/// A client of ssh-agent that does no more than it must: it writes a request made once and reads the answer
/// (draft-miller-ssh-agent, sections 3 and 4.5).
final class AgentClient {
    private static let signRequest: UInt8 = 13
    private static let signResponse: UInt8 = 14

    private let bytes: ExactBytes
    private let request: [UInt8]
    private let key: P256.Signing.PublicKey
    private let message: Data

    /// - Parameter publicKeyPath: what `ssh-keygen` wrote beside the private key that the agent holds.
    init(connectingTo path: String, publicKeyPath: String, message: Data) throws {
        bytes = ExactBytes(try UnixSocket.connect(to: path), capacity: 4096)
        let fields = try String(contentsOfFile: publicKeyPath, encoding: .utf8).split(whereSeparator: \.isWhitespace)
        guard fields.count > 1, let blob = Data(base64Encoded: String(fields[1])) else { throw Malformed() }
        // RFC 5656 section 3.1: name of the key type, name of the curve, point.
        var reader = StringReader(blob)
        _ = try (reader.next(), reader.next())
        key = try P256.Signing.PublicKey(x963Representation: reader.next())
        self.message = message
        let body = [Self.signRequest] + Self.string(blob) + Self.string(message) + Self.number(0)
        request = Self.number(body.count) + body
    }

    /// One signature; its bytes are not copied.
    func sign() throws {
        try request.withUnsafeBytes { try bytes.send($0) }
        var count = try bytes.receiveSome(at: 0)
        while count < 5 || count < 4 + responseByteCount { count += try bytes.receiveSome(at: count) }
        guard bytes.buffer[4] == Self.signResponse else { throw Malformed() }
    }

    /// Throws unless the last answer is a signature of the message.
    func verifyLast() throws {
        var response = StringReader(Data(bytes.buffer[5..<4 + responseByteCount]))
        // RFC 5656 section 3.1.2: name of the key type, then r and s as multiple-precision integers.
        var signature = StringReader(try response.next())
        _ = try signature.next()
        var integers = StringReader(try signature.next())
        let raw = try Self.scalar(integers.next()) + Self.scalar(integers.next())
        let parsed = try P256.Signing.ECDSASignature(rawRepresentation: raw)
        guard key.isValidSignature(parsed, for: message) else { throw Malformed() }
    }

    private var responseByteCount: Int {
        min(bytes.buffer[..<4].reduce(0) { $0 << 8 | Int($1) }, bytes.buffer.count - 4)
    }

    private static func number(_ value: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    private static func string(_ value: Data) -> [UInt8] { number(value.count) + value }

    /// An integer of any length as 32 bytes.
    private static func scalar(_ integer: Data) -> Data {
        let digits = integer.drop { $0 == 0 }
        return Data(count: max(32 - digits.count, 0)) + digits
    }

    struct Malformed: Error, CustomStringConvertible {
        var description: String { "ssh-agent's answer is not a signature by its key" }
    }

    /// Reads strings behind 32-bit lengths (RFC 4251 section 5).
    private struct StringReader {
        private var rest: Data

        init(_ bytes: Data) { rest = bytes }

        mutating func next() throws -> Data {
            guard rest.count >= 4 else { throw Malformed() }
            let count = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(4)
            guard rest.count >= count else { throw Malformed() }
            defer { rest = rest.dropFirst(count) }
            return Data(rest.prefix(count))
        }
    }
}
