import ArgumentParser
import Glibc
import UnixSocket

/// The floor: a process that reads as many bytes as a signing request has and answers with as many as its reply, with
/// nothing in between.
struct EchoServer: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "echo", shouldDisplay: false)

    /// Frame of a signing request: header 8, message 70, digest 32.
    static let requestByteCount = 110
    /// Frame of its reply: header 8, message 5, signature in DER 70 to 72.
    static let replyByteCount = 84

    @Argument var socketPath: String

    func run() throws {
        let listener = try UnixSocket.listen(at: socketPath)
        while true {
            let connection = try listener.accept()
            let bytes = ExactBytes(connection, capacity: Self.requestByteCount)
            do {
                while true {
                    try bytes.receive(Self.requestByteCount)
                    try bytes.send(Self.replyByteCount)
                }
            } catch {}  // The client went away.
        }
    }
}

/// The client's side of the floor.
final class EchoClient {
    private let bytes: ExactBytes

    init(connectingTo path: String) throws {
        bytes = ExactBytes(try UnixSocket.connect(to: path), capacity: EchoServer.requestByteCount)
    }

    func roundTrip() throws {
        try bytes.send(EchoServer.requestByteCount)
        try bytes.receive(EchoServer.replyByteCount)
    }
}
