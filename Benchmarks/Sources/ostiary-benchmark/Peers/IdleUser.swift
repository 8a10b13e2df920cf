import AccessControl
import ArgumentParser
import Foundation
import OstiaryMessages
import OstiaryWire
import UnixSocket

/// A user's program that keeps a right and stays connected. It writes a line then, and ends with its standard input.
///
/// It speaks the protocol itself, because a client takes no daemon of another user for its own.
struct IdleUser: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "idle-user", shouldDisplay: false)

    @Option var socket: String

    func run() throws {
        let connection = try UnixSocket.connect(to: socket)
        var frames = FrameReader(socket: connection)
        let greeting = try frames.next(WireGreeting.self).message
        let hello = WireHello.with {
            $0.protocolVersion = WireLimits.protocolVersion
            $0.nonce = greeting.nonce
        }
        let accessControl = AccessControl(availability: .always, using: .unrestricted)
        let right = WireCreateRightRequest.with {
            $0.identifier = "kept"
            $0.accessControl = Data(accessControl.canonicalBytes)
        }
        let requests: [WireRequest.OneOf_Body] = [.hello(hello), .createRight(right)]
        for (index, body) in requests.enumerated() {
            let request = WireRequest.with {
                $0.id = UInt64(index) + 1
                $0.body = body
            }
            try FrameWriter.send(request, on: connection)
            if case .failure(let failure)? = try frames.next(WireReply.self).message.body {
                throw Refused(words: failure.explanation)
            }
        }
        try FileHandle.standardOutput.write(contentsOf: Data("connected\n".utf8))
        _ = try FileHandle.standardInput.readToEnd()
        withExtendedLifetime(connection) {}
    }

    struct Refused: Error, CustomStringConvertible {
        let words: String
        var description: String { "the daemon refused: \(words)" }
    }
}
