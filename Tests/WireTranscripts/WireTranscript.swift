import Foundation
public import UnixSocket

/// A conversation of a program and a daemon of one version, byte by byte.
///
/// A test plays one of the two sides. The other side is the code of today, which must send the same bytes as then.
public struct WireTranscript: Sendable {
    public enum Side: String, Sendable { case program, daemon }

    struct Frame: Sendable {
        let side: Side
        /// The number of its first line in the file.
        let line: Int
        let message: [TranscriptPart]
        let tail: [TranscriptPart]
    }

    let frames: [Frame]

    /// The former versions that are still spoken.
    public static let versions: [UInt32] = [7, 8, 9]

    /// The recorded connection of a version.
    public static func ofProtocol(_ version: UInt32) throws -> WireTranscript {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("protocol-\(version).txt")
        return try WireTranscript(String(contentsOf: file, encoding: .utf8))
    }

    /// Reads the form that the file itself describes.
    public init(_ text: String) throws {
        var entries: [(line: Int, text: String)] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.isEmpty || line.drop(while: { $0 == " " }).hasPrefix("#") { continue }
            if line.hasPrefix(" "), !entries.isEmpty {
                entries[entries.count - 1].text += line
            } else {
                entries.append((index + 1, String(line)))
            }
        }
        frames = try entries.map { entry in try Frame(entry.text, line: entry.line) }
    }

    /// Sends the frames of `side`, and compares those that come with the frames of the other side.
    ///
    /// - Parameter values: the bytes of the named cuts. Those that are given are sent in place of the recorded ones, and
    ///   those that come are added.
    /// - Throws: ``TranscriptMismatch`` for the first frame with other bytes.
    public func play(_ side: Side, on socket: UnixSocket, values: inout [String: [UInt8]]) throws {
        for frame in frames {
            if frame.side == side {
                let (message, tail) = (frame.message.bytes(&values), frame.tail.bytes(&values))
                try RawFrame(message: message, tail: tail).send(on: socket)
            } else {
                let received = try RawFrame.next(on: socket)
                guard frame.message.match(received.message, &values), frame.tail.match(received.tail, &values) else {
                    throw TranscriptMismatch(line: frame.line, message: received.message, tail: received.tail)
                }
            }
        }
    }
}

/// A frame came that is not the recorded one.
public struct TranscriptMismatch: Error, CustomStringConvertible {
    let line: Int
    let message: [UInt8]
    let tail: [UInt8]

    public var description: String {
        "instead of the frame of line \(line) came \(Self.digits(message)) and the tail \(Self.digits(tail))"
    }

    private static func digits(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

/// A line that the file's own description does not allow.
struct MalformedTranscript: Error { let text: String }

extension WireTranscript.Frame {
    fileprivate init(_ text: String, line: Int) throws {
        var tokens = text.split(separator: " ")[...]
        guard let first = tokens.popFirst(), let side = WireTranscript.Side(rawValue: String(first)) else {
            throw MalformedTranscript(text: text)
        }
        let parts = tokens.split(separator: "|", omittingEmptySubsequences: false)
        guard parts.count <= 2 else { throw MalformedTranscript(text: text) }
        self.init(
            side: side, line: line, message: try parts[0].map { try TranscriptPart($0) },
            tail: try parts.dropFirst().joined().map { try TranscriptPart($0) })
    }
}
