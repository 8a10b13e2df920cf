import Foundation
import Glibc
import OstiaryClient
import SecretMemory
import UnixSocket

/// The temporary folder of one test daemon: its state, its socket, and the program that answers its questions.
struct TestFolder {
    let path: String
    /// Held as long as the run lasts. It ends with this process, however that ends.
    private let lock: SharedDescriptor

    private static let namePrefix = "ostiary-test-daemon-"

    /// Makes the folder, closed to others. Removes those that killed runs left.
    init() throws {
        let temporary = FileManager.default.temporaryDirectory.path
        Self.removeAbandoned(in: temporary)
        var template = Array((temporary + "/" + Self.namePrefix + "XXXXXX").utf8CString)
        guard unsafe template.withUnsafeMutableBufferPointer({ unsafe mkdtemp($0.baseAddress!) }) != nil else {
            throw CommandError.unwritableOutput(SystemCallError("mkdtemp", subject: "a temporary folder"))
        }
        let made = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        guard let real = unsafe realpath(made, nil) else {
            throw CommandError.unwritableOutput(SystemCallError("realpath", subject: made))
        }
        defer { unsafe free(real) }
        path = unsafe String(cString: real)
        // Waits for another run that looks at this folder right now; that run leaves it, because it is empty.
        do { lock = try Self.lock(path, LOCK_EX) } catch { throw CommandError.unwritableOutput(error) }
    }

    /// Removes the folder with all that is in it.
    func remove() {
        withExtendedLifetime(lock) {
            do { try FileManager.default.removeItem(atPath: path) } catch {
                StandardError.line("ostiary: \(path) is not removed: \(error.localizedDescription)".visibleText)
            }
        }
    }

    // MARK: folders of killed runs

    private static func removeAbandoned(in temporary: String) {
        // A folder that cannot be listed has nothing to remove. mkdtemp(3) tells next whether it can be used.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: temporary)) ?? []
        // As mkdtemp(3) makes them.
        for name in names where name.hasPrefix(namePrefix) && name.utf8.count == namePrefix.utf8.count + 6 {
            Self(abandonedAt: temporary + "/" + name)?.remove()
        }
    }

    /// Nil unless a run of this user was killed there. A run locks its folder before it puts anything into it, so a folder
    /// with contents and without a lock belongs to no run.
    private init?(abandonedAt path: String) {
        guard let lock = try? Self.lock(path, LOCK_EX | LOCK_NB) else { return nil }
        var status = stat()
        guard unsafe fstat(lock.number, &status) == 0, status.st_uid == geteuid() else { return nil }
        guard let contents = try? FileManager.default.contentsOfDirectory(atPath: path), !contents.isEmpty else {
            return nil
        }
        self.path = path
        self.lock = lock
        // The command may have outlived its run; its next call then started a daemon here.
        let location = DaemonLocation(runtimeDirectory: runtimeDirectory, stateDirectory: stateDirectory)
        guard !OwnStore.answers(location.socketPath) else { return nil }
    }

    private static func lock(_ path: String, _ operation: CInt) throws(SystemCallError) -> SharedDescriptor {
        let folder = try Descriptor(
            unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), from: "open", subject: path)
        guard flock(folder.number, operation) == 0 else { throw SystemCallError("flock", subject: path) }
        return SharedDescriptor(folder)
    }

    // MARK: places

    var runtimeDirectory: String { path + "/run/ostiary" }
    var stateDirectory: String { path + "/state/ostiary" }
    var log: String { path + "/ostiaryd.log" }
    var configuration: String { path + "/ostiaryd.conf" }
    private var answerer: String { path + "/answers" }
    private var passcode: String { path + "/passcode" }

    /// The variables that lead programs to this daemon.
    var environment: [String: String] { ["XDG_RUNTIME_DIR": path + "/run", "XDG_STATE_HOME": path + "/state"] }

    // MARK: contents

    /// Writes the configuration and the program that it names. Only this daemon is configured to ask that way.
    ///
    /// - Parameter passcode: the answer to questions for the passcode; without it they are cancelled.
    func fill(_ passcode: borrowing SecretBytes?) throws {
        for folder in ["run", "state"] {
            try FileManager.default.createDirectory(
                atPath: path + "/" + folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        }
        // A display that does not exist: the daemon starts no dialog without one. No terminal is ever asked on.
        try write(
            Data(
                """
                prompt.front-ends = pinentry
                prompt.terminal = never
                prompt.pinentry = \(answerer)
                prompt.display = none

                """.utf8), to: configuration, mode: 0o600)
        try write(Data(Self.answers.utf8), to: answerer, mode: 0o700)
        switch passcode {
        case .none: break
        case .some(let secret): try write(secret: Self.dataLine(secret), to: self.passcode)
        }
    }

    /// A pinentry of the shell's own commands: gives the passcode, agrees to confirmations, and cancels every other
    /// question.
    private static let answers = """
        #!/bin/sh
        prompt=
        echo OK
        while IFS= read -r line; do
            case $line in
            "SETPROMPT "*) prompt=$line ;;
            GETPIN*)
                answer=
                case $prompt in
                *asscode:) [ -f "${0%/*}/passcode" ] && IFS= read -r answer <"${0%/*}/passcode" ;;
                esac
                if [ -z "$answer" ]; then
                    echo "ERR 83886179 cancelled"
                    continue
                fi
                printf '%s\\n' "$answer"
                ;;
            BYE*)
                echo OK
                exit
                ;;
            esac
            echo OK
        done

        """

    /// The line of the Assuan protocol that carries `secret`.
    private static func dataLine(_ secret: borrowing SecretBytes) -> SecretBytes {
        var line = SecretBytes(zeroed: 3 + 3 * secret.count)
        let count = unsafe line.withUnsafeMutableBytes { line in
            var count = 0
            func append(_ bytes: some Sequence<UInt8>) {
                for byte in bytes {
                    unsafe line[count] = byte
                    count += 1
                }
            }
            append("D ".utf8)
            unsafe secret.withUnsafeBytes { secret in
                for index in 0..<secret.count {
                    switch unsafe secret[index] {
                    case UInt8(ascii: "%"): append("%25".utf8)
                    case UInt8(ascii: "\n"): append("%0A".utf8)
                    case UInt8(ascii: "\r"): append("%0D".utf8)
                    case let byte: append(CollectionOfOne(byte))
                    }
                }
            }
            append("\n".utf8)
            return count
        }
        return line.prefix(count)
    }

    private func write(_ bytes: Data, to path: String, mode: mode_t) throws {
        try unsafe bytes.withUnsafeBytes { try unsafe AtomicFile.write($0, to: path, mode: mode, replacing: false) }
    }

    private func write(secret: borrowing SecretBytes, to path: String) throws {
        try unsafe secret.withUnsafeBytes { bytes throws(SystemCallError) in
            try unsafe AtomicFile.write(bytes, to: path, mode: 0o600, replacing: false)
        }
    }
}
