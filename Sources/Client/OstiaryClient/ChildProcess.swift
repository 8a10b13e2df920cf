@_implementationOnly import CLinuxShims
import Glibc
package import UnixSocket

/// A program that this process started.
package struct ChildProcess: Sendable {
    package let id: Int32

    /// Starts a program, as ``ProgramStart`` does.
    package init(
        program: String, arguments: [String], environment: [String], descriptors: [CInt], leadsSession: Bool,
        workingDirectory: String = "/"
    ) throws(SystemCallError) {
        id = try ProgramStart.spawn(
            program: program, arguments: arguments, environment: environment, descriptors: descriptors,
            leadsSession: leadsSession, workingDirectory: workingDirectory)
    }

    /// Waits for the end and leaves the process to be reaped, so that its number stays its own.
    package func waitForEnd() {
        var information = unsafe siginfo_t()
        while unsafe waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    }

    /// Waits for the end: the exit status, or as in a shell 128 and the number of the signal that ended it.
    @discardableResult
    package func waitForStatus() -> CInt {
        var status: CInt = 0
        while unsafe waitpid(id, &status, 0) < 0 { guard errno == EINTR else { return 1 } }
        let signal = status & 0x7f
        return signal == 0 ? status >> 8 & 0xff : 128 + signal
    }

    /// Asks the program to end, and ends it the hard way when it has not ended after so many milliseconds.
    package func end(patience milliseconds: CInt) {
        kill(id, SIGTERM)
        let handle = ostiary_open_process(id)
        if handle >= 0 {
            var ended = pollfd(fd: handle, events: Int16(POLLIN), revents: 0)
            while unsafe poll(&ended, 1, milliseconds) < 0, errno == EINTR {}
            close(handle)
            if ended.revents == 0 { kill(id, SIGKILL) }
        }
        waitForStatus()
    }
}

/// A pipe for the report of a program that is started.
package final class ReportPipe {
    private let reading: Descriptor
    private var writingEnd: Descriptor?
    /// For the program.
    package var writing: CInt { writingEnd?.number ?? -1 }

    package init() throws(SystemCallError) {
        var ends: [CInt] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw SystemCallError("pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        reading = Descriptor(owning: ends[0])
        writingEnd = Descriptor(owning: ends[1])
    }

    /// Everything that was written, up to `limit` bytes, once all programs that have the writing end closed it.
    package func readAll(limit: Int = 4096) -> String {
        writingEnd = nil
        var bytes = [UInt8](repeating: 0, count: limit)
        var count = 0
        while count < limit {
            let got = unsafe bytes.withUnsafeMutableBytes {
                unsafe read(reading.number, $0.baseAddress! + count, limit - count)
            }
            guard got > 0 else { break }
            count += got
        }
        return String(decoding: bytes[..<count], as: UTF8.self).withoutOuterBlanks
    }
}
