import DetachedThreads
import Foundation
import Glibc
import OstiaryClient
import SSHAgent
import SSHKeyFiles
import SecretMemory
import Synchronization
import UnixSocket

/// Has OpenSSH's `ssh-add` decrypt a key file: it asks for the passphrase itself, and gives the key to a socket that this command serves
/// for it alone. Decrypting needs a key derivation (bcrypt_pbkdf) that no library of this program has.
struct KeyHandover {
    /// The key of a file with a passphrase. Blocks while ssh-add asks.
    static func key(from path: String) throws -> SSHPrivateKey {
        try checkProgram()
        let folder = try PrivateFolder()
        defer { folder.remove() }
        let listener = try listen(folder.path + "/agent")
        let child = try start(path, socket: folder.path + "/agent")
        let received = ReceivedKey()
        let isStarted = DetachedThread.start { receive(from: listener, child.id, into: received) }
        let status = child.waitForStatus()
        listener.shutdown()
        guard isStarted else { throw failure(path, "the system gives no thread") }
        received.waitForEnd()
        guard status == 0, let key = received.take() else {
            throw failure(path, "ssh-add did not open it. Was the passphrase wrong?")
        }
        return try key.get()
    }

    private static func failure(_ path: String, _ cause: String) -> CommandError {
        .sshKey("\(path.quotedName) was not imported: \(cause)")
    }

    /// OpenSSH's own, as Debian installs it. Never one of PATH: an attacker who can write to a folder there would get passphrase and key.
    private static let program = "/usr/bin/ssh-add"

    private static func checkProgram() throws {
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw CommandError.sshKey(
                "The key has a passphrase, and OpenSSH's \(program), which opens such keys, is not installed. Install it (Debian: "
                    + "openssh-client), or remove the passphrase with `ssh-keygen -p` where you can.")
        }
    }

    private static func listen(_ path: String) throws -> UnixSocket {
        do { return try UnixSocket.listen(at: path) } catch {
            throw CommandError.sshKey("No socket for ssh-add can be made (\(error)). Nothing was imported.")
        }
    }

    private static func start(_ path: String, socket: String) throws -> ChildProcess {
        var environment = ProcessInfo.processInfo.environment
        environment["SSH_AUTH_SOCK"] = socket
        do {
            // -k: the plain key alone, without certificates beside the file.
            return try ChildProcess(
                program: program, arguments: ["ssh-add", "-q", "-k", "--", path],
                environment: environment.map { "\($0)=\($1)" },
                descriptors: [STDIN_FILENO, STDERR_FILENO, STDERR_FILENO],
                leadsSession: false, workingDirectory: FileManager.default.currentDirectoryPath)
        } catch { throw CommandError.commandNotStarted(error) }
    }

    /// Answers the first connection of ssh-add until that is closed.
    private static func receive(from listener: UnixSocket, _ process: Int32, into received: ReceivedKey) {
        defer { received.end() }
        // ssh-add tells the person itself if it gets no answer.
        guard let connection = try? listener.accept(), let peer = try? connection.peerCredentials(),
            peer.processID == process, peer.userID == geteuid()
        else { return }
        while let message = try? message(from: connection) {
            let isTaken = received.take(message)
            // SSH_AGENT_SUCCESS and SSH_AGENT_FAILURE with their lengths (RFC 9987, section 3.1).
            let answer: [UInt8] = [0, 0, 0, 1, isTaken ? 6 : 5]
            do { try unsafe answer.withUnsafeBytes { bytes in try unsafe connection.send(bytes) } } catch { return }
        }
    }

    private static func message(from connection: UnixSocket) throws -> SecretBytes? {
        guard let head = try bytes(4, from: connection) else { return nil }
        let count = unsafe head.withUnsafeBytes { bytes in unsafe bytes.reduce(0) { $0 << 8 | Int($1) } }
        guard (1...KeyFileLimits.fileByteCount).contains(count) else { return nil }
        return try bytes(count, from: connection)
    }

    private static func bytes(_ count: Int, from connection: UnixSocket) throws -> SecretBytes? {
        var secret = SecretBytes(zeroed: count)
        var filled = 0
        while filled < count {
            let received = try unsafe secret.withUnsafeMutableBytes { (buffer) throws(SystemCallError) in
                try unsafe connection.receive(
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), expecting: []
                ).count
            }
            guard received > 0 else { return nil }
            filled += received
        }
        return secret
    }
}

/// The key that ssh-add gave.
private final class ReceivedKey: Sendable {
    private let result = Mutex<Result<SSHPrivateKey, KeyFileError>?>(nil)
    private let hasEnded = DispatchSemaphore(value: 0)

    /// Takes a message; false if it brings no key, or one more.
    func take(_ message: consuming SecretBytes) -> Bool {
        var reader = SecretReader(message)
        guard let number = try? reader.readByte(), [17, 25].contains(number) else { return false }
        let contents = reader.rest()
        let key: Result<SSHPrivateKey, KeyFileError>
        do throws(KeyFileError) {
            key = .success(try KeyAddition(contents, isConstrained: number == 25).key.key)
        } catch { key = .failure(error) }
        return result.withLock { result in
            guard result == nil else { return false }
            result = key
            return true
        }
    }

    func take() -> Result<SSHPrivateKey, KeyFileError>? { result.withLock { $0 } }
    func end() { hasEnded.signal() }
    func waitForEnd() { hasEnded.wait() }
}

/// A folder that this user alone may enter.
private struct PrivateFolder {
    let path: String

    init() throws {
        let parent = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        var template = Array("\(parent)/ostiary-import-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else {
            throw CommandError.unwritableOutput(SystemCallError("mkdtemp", subject: parent))
        }
        path = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func remove() {
        unsafe unlink(path + "/agent")
        unsafe rmdir(path)
    }
}
