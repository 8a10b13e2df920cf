import CCommandLaunch
import Glibc
import SecretMemory
import UnixSocket

/// A command that is about to start, and the one owner of its C value.
@safe
final class CommandLaunch {
    private let launch: OpaquePointer

    /// - Parameter arguments: how many of this process's last arguments are the command's. They are passed on byte for byte.
    init(_ path: String, lastArguments count: Int) {
        unsafe launch = ostiary_launch_new(path)
        for index in (Int(CommandLine.argc) - count)..<Int(CommandLine.argc) {
            // SAFETY: the runtime keeps the arguments, each of which ends with a zero byte, as long as the process lives.
            if let argument = unsafe CommandLine.unsafeArgv[index] {
                unsafe ostiary_launch_add_argument(launch, argument)
            }
        }
    }

    deinit { unsafe ostiary_launch_free(launch) }

    func set(_ variable: String, to value: String) { unsafe ostiary_launch_set_variable(launch, variable, value) }

    func pass(_ descriptor: CInt) { unsafe ostiary_launch_pass(launch, descriptor) }

    func mount(at folder: String) { unsafe ostiary_launch_mount(launch, folder) }

    func addVariable(_ secret: RequestedSecret) {
        unsafe ostiary_launch_add_secret_variable(launch, secret.name, secret.value.count)
    }

    func addFile(_ secret: RequestedSecret, at path: String) {
        unsafe ostiary_launch_add_secret_file(launch, path, secret.value.count)
    }

    /// Starts the command and hands it the secrets; returns when it executes.
    ///
    /// - Parameter secrets: those that were added, the variables before the files.
    /// - Throws: `commandNotStarted`, `privateMount`.
    func start(handing secrets: [RequestedSecret]) throws(CommandError) -> Started {
        var started = try fork()
        let socket = started.socket
        for secret in secrets {
            // A child that failed has closed its end, and says why.
            do throws(SystemCallError) {
                try unsafe secret.value.withUnsafeBytes { (bytes) throws(SystemCallError) in
                    try unsafe socket.send(bytes)
                }
            } catch { break }
            secret.forget()
        }
        do { try started.hear() } catch {
            started.reap()
            throw error
        }
        return started
    }

    private func fork() throws(CommandError) -> Started {
        var ends: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw .commandNotStarted(SystemCallError("socketpair"))
        }
        let own = UnixSocket(owning: Descriptor(owning: ends[0]))
        let other = Descriptor(owning: ends[1])
        let id = unsafe ostiary_launch_start(launch, other.number)
        guard id > 0 else { throw .commandNotStarted(SystemCallError("fork")) }
        return Started(id: id, socket: own)
    }

    /// The process of the command.
    struct Started: ~Copyable {
        let id: Int32
        fileprivate let socket: UnixSocket
        /// The files of the command's mount.
        private(set) var files = MountedSecrets()

        fileprivate init(id: Int32, socket: UnixSocket) { (self.id, self.socket) = (id, socket) }

        /// Reads the child's reports until it executes the command or ends.
        fileprivate mutating func hear() throws(CommandError) {
            while let kind = try byte() {
                guard kind == OSTIARY_LAUNCH_OPENED else { throw try failure() }
            }
        }

        /// The next byte, whose descriptor is kept; nil at the end.
        private mutating func byte() throws(CommandError) -> Int? {
            var byte: UInt8 = 0
            do throws(SystemCallError) {
                let file = try unsafe withUnsafeMutableBytes(of: &byte) { (buffer) throws(SystemCallError) -> CInt? in
                    let received = try unsafe socket.receive(into: buffer, expecting: .descriptor)
                    return received.count == 0 ? nil : received.descriptor
                }
                guard let file else { return nil }
                if file >= 0 { files.add(Descriptor(owning: file)) }
                return Int(byte)
            } catch { throw .commandNotStarted(error) }
        }

        /// An int in this machine's order, which is that of its least byte first.
        private mutating func number() throws(CommandError) -> Int {
            var value = 0
            for place in 0..<MemoryLayout<CInt>.size { value |= (try byte() ?? 0) << (8 * place) }
            return value
        }

        private mutating func failure() throws(CommandError) -> CommandError {
            let (step, code) = (try number(), try number())
            func error(_ call: String) -> SystemCallError {
                SystemCallError(call, subject: "", code: CInt(truncatingIfNeeded: code))
            }
            return switch step {
            case OSTIARY_LAUNCH_NAMESPACE: .privateMount(error("unshare"))
            case OSTIARY_LAUNCH_IDENTITY: .privateMount(error("uid_map"))
            case OSTIARY_LAUNCH_MOUNT: .privateMount(error("mount"))
            case OSTIARY_LAUNCH_FILE: .privateMount(error("write"))
            case OSTIARY_LAUNCH_EXECUTE: .commandNotStarted(error("execve"))
            default: .commandNotStarted(error("read"))
            }
        }

        /// Takes the end of a child that did not become the command.
        fileprivate func reap() {
            var status: CInt = 0
            while unsafe waitpid(id, &status, 0) < 0, errno == EINTR {}
        }
    }
}
