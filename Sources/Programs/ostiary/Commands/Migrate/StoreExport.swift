import Glibc
import OstiaryClient
import OstiaryMessages
import SecretMemory
import UnixSocket

/// The daemon's program while it writes a user's own store to this process.
final class StoreExport {
    private static let headByteCount = WireLimits.messageByteCount
    private static let secretByteCount = WireLimits.tailByteCount
    private static let startByteCount = 9
    /// The program restores the terminal before it ends.
    private static let patience: CInt = 2000

    private let process: ChildProcess
    private let reading: Descriptor
    private var status: CInt?

    /// Starts the program, which asks on this terminal.
    init(of location: UserDaemonLocation) throws {
        let program = try DaemonProgram.find()
        let ends = try PipeEnds()
        process = try ChildProcess(
            program: program,
            arguments: [
                PathName.last(of: program), "--export-store", "--ends-with-parent", "--runtime-directory",
                location.runtimeDirectory, "--state-directory", location.stateDirectory,
            ], environment: DaemonProgram.environment,
            descriptors: [STDIN_FILENO, ends.writer.number, STDERR_FILENO], leadsSession: false)
        reading = ends.reader
    }

    /// The next part; nil when the program has ended.
    func nextPart() throws -> StorePart? {
        guard let start = try bytes(Self.startByteCount) else { return nil }
        func number(at place: Int) -> Int { start[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
        let (headCount, secretCount) = (number(at: 1), number(at: 5))
        guard headCount <= Self.headByteCount, secretCount <= Self.secretByteCount else { throw Self.tooLarge }
        guard let head = try bytes(headCount) else { return nil }
        var secret = SecretBytes(zeroed: secretCount)
        let isWhole = try unsafe secret.withUnsafeMutableBytes { try unsafe fill($0) }
        guard isWhole else { return nil }
        return StorePart(kind: start[0], head: head, secret: secret)
    }

    private static let tooLarge = CommandError.notMigrated(
        "A part of your own store is larger than the daemon takes. Nothing was copied.")

    /// Nil when the program ended before.
    private func bytes(_ count: Int) throws -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let isWhole = try unsafe bytes.withUnsafeMutableBytes { try unsafe fill($0) }
        return isWhole ? bytes : nil
    }

    private func fill(_ bytes: UnsafeMutableRawBufferPointer) throws -> Bool {
        var count = 0
        let stream = StreamDescriptor(number: reading.number)
        while count < bytes.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
            let got = try unsafe stream.read(into: rest, subject: "the daemon's program")
            guard got > 0 else { return false }
            count += got
        }
        return true
    }

    /// Waits for the program's end; whether it wrote all.
    func isComplete() -> Bool {
        let status = process.waitForStatus()
        self.status = status
        return status == 0
    }

    /// Ends the program, if it still runs.
    func end() {
        guard status == nil else { return }
        process.end(patience: Self.patience)
        status = 1
    }
}
