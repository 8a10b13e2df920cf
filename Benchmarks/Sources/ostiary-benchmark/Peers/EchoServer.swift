import ArgumentParser
import Crypto
import Foundation
import Glibc
import UnixSocket

/// The floor: a process that reads as many bytes as a signing request has and answers with as many as its reply, with
/// nothing in between, or with a signature that nobody is asked for: the least that any process apart can do.
struct EchoServer: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "echo", shouldDisplay: false)

    /// Frame of a signing request: header 8, message 70, digest 32.
    static let requestByteCount = 110
    /// Frame of its reply: header 8, message 5, signature in DER 70 to 72.
    static let replyByteCount = 84

    @Argument var socketPath: String
    @Flag(help: "Sign before each answer.") var signs = false

    func run() throws {
        let (key, digest) = (P256.Signing.PrivateKey(), SHA256.hash(data: Data("what is signed over and over".utf8)))
        let listener = try UnixSocket.listen(at: socketPath)
        while true {
            let connection = try listener.accept()
            let bytes = ExactBytes(connection, capacity: Self.requestByteCount)
            do {
                while true {
                    try bytes.receive(Self.requestByteCount)
                    if signs { _ = try key.signature(for: digest).derRepresentation }
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
