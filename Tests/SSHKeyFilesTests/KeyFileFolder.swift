import DetachedThreads
import Foundation
import Glibc
import IndependentTools
import SSHFormats
import SSHKeyFiles
import SecretMemory
import Synchronization
import Testing
import UnixSocket

/// Keys that OpenSSH itself makes, in a folder of a test's own.
final class KeyFileFolder {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("ostiary keys \(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    /// Makes a key with `ssh-keygen`, and returns the file's bytes.
    @discardableResult
    func make(_ name: String, _ type: String, passphrase: String = "", options: [String] = []) throws -> Data {
        try run(
            "ssh-keygen",
            ["-q", "-t", type, "-N", passphrase, "-C", "comment of \(name)", "-f", path(name)] + options)
        return try Data(contentsOf: url.appendingPathComponent(name))
    }

    func publicKey(_ name: String) throws -> SSHPublicKey {
        try SSHPublicKey(line: String(contentsOfFile: path(name) + ".pub", encoding: .utf8))
    }

    @discardableResult
    func run(_ program: String, _ arguments: [String]) throws -> Data {
        let outcome = try IndependentTool.run(program, arguments)
        guard outcome.status == 0 else {
            throw ToolFailed(words: "\(program) \(arguments): \(outcome.diagnostics)")
        }
        return outcome.output
    }

    /// The first message that `ssh-add` sends to its agent.
    func addition(_ arguments: [String]) throws -> (number: UInt8, contents: Data) {
        let socket = path("agent")
        unlink(socket)
        let listener = try UnixSocket.listen(at: socket)
        let received = ReceivedMessage()
        let isStarted = DetachedThread.start { received.receive(from: listener) }
        try #require(isStarted)
        _ = try IndependentTool.run("env", ["SSH_AUTH_SOCK=\(socket)", "ssh-add", "-q"] + arguments)
        listener.shutdown()
        let message = try #require(received.wait())
        return (message[0], message.dropFirst().withUnsafeBytes { Data($0) })
    }
}

/// OpenSSH's program did not do its part.
struct ToolFailed: Error {
    let words: String
}

/// One message to an agent, which is answered with success.
private final class ReceivedMessage: Sendable {
    private let message = Mutex<Data?>(nil)
    private let hasEnded = DispatchSemaphore(value: 0)

    func receive(from listener: UnixSocket) {
        defer { hasEnded.signal() }
        guard let connection = try? listener.accept(), let head = try? bytes(4, connection) else { return }
        let count = head.reduce(0) { $0 << 8 | Int($1) }
        guard let body = try? bytes(count, connection) else { return }
        message.withLock { $0 = body }
        try? [0, 0, 0, 1, 6].map { UInt8($0) }.withUnsafeBytes { try connection.send($0) }
    }

    private func bytes(_ count: Int, _ connection: UnixSocket) throws -> Data {
        var bytes = Data(count: count)
        var filled = 0
        while filled < count {
            let received = try bytes.withUnsafeMutableBytes { buffer in
                try connection.receive(
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), expecting: []
                ).count
            }
            guard received > 0 else { throw SSHFormatError.truncated }
            filled += received
        }
        return bytes
    }

    func wait() -> Data? {
        hasEnded.wait()
        return message.withLock { $0 }
    }
}

extension OpenSSHKeyFile {
    init(_ bytes: Data) throws(KeyFileError) { try self.init(SecretBytes(bytes)) }
}

/// The key of a file without a passphrase.
func openedKey(_ bytes: Data) throws(KeyFileError) -> CommentedKey { try OpenSSHKeyFile(bytes).open() }
