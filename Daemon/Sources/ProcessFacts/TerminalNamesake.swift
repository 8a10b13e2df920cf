import Foundation
import Glibc

/// Looks for a second terminal with the same number.
///
/// `/proc/PID/stat` names a process's controlling terminal by number. A program can mount a devpts of its own, so that
/// its terminal has the number of another program's terminal. It could then pass the other terminal as its own. But a
/// terminal controls one session only. So if two sessions have a terminal with one number, there are two terminals.
enum TerminalNamesake {
    /// Looks for a process of the user, in another session than `caller`, whose controlling terminal has the same number and may be
    /// the one of the caller's question.
    ///
    /// Processes of other users do not count: they could otherwise block all questions to this user. Processes of
    /// containers do not count either: containers number their terminals from 0, and those terminals have no file here. Nor
    /// does a process that plainly uses another terminal of that number, see ``usesAnother(_:than:)``.
    ///
    /// - Parameter terminal: the question's terminal, by its own name.
    static func search(for caller: ProcessStatus, userID: UInt32, besides terminal: TerminalFact) throws(FactFailure)
        -> Int32?
    {
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: "/proc") } catch { throw .unreadable }
        return names.lazy.compactMap { Int32($0) }.first { processID in
            guard isOf(userID, processID), let status = ProcessStatus(of: processID) else { return false }
            return status.terminalDevice == caller.terminalDevice && status.session != caller.session && !status.isDead
                && !isInContainer(processID) && !usesAnother(processID, than: terminal)
        }
    }

    /// Whether the process has a terminal open that has the number of `terminal` and lies in another devpts, and not `terminal` itself.
    ///
    /// Programs in a sandbox have a devpts of its own. The session of `terminal` has `terminal` open, so this excuses no
    /// process of that session.
    private static func usesAnother(_ processID: Int32, than terminal: TerminalFact) -> Bool {
        let folder = "/proc/\(processID)/fd"
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return false }
        var hasAnother = false
        for name in names {
            var file = stat()
            // A descriptor that was closed meanwhile says nothing, and one that cannot be examined may be `terminal`.
            guard unsafe stat("\(folder)/\(name)", &file) == 0 else {
                if errno == ENOENT { continue }
                return false
            }
            guard file.st_mode & S_IFMT == S_IFCHR, file.st_rdev == dev_t(terminal.number) else { continue }
            if UInt64(file.st_dev) == terminal.file.device { return false }
            hasAnother = true
        }
        return hasAnother
    }

    private static func isOf(_ userID: UInt32, _ processID: Int32) -> Bool {
        var status = stat()
        return unsafe stat("/proc/\(processID)", &status) == 0 && status.st_uid == userID
    }

    /// Whether the process is in a lower process namespace, where it has another id (`NSpid` of proc_pid_status(5)).
    private static func isInContainer(_ processID: Int32) -> Bool {
        guard let text = try? String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8) else { return false }
        let line = text.split(separator: "\n").first { $0.hasPrefix("NSpid:") }
        return (line?.split(separator: "\t").count ?? 0) > 2
    }
}
