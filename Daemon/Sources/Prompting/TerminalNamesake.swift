import Foundation
import Glibc

/// Looks for a second terminal with the same number.
///
/// `/proc/PID/stat` names a process's controlling terminal by number. A program can mount a devpts of its own, so that
/// its terminal has the number of another program's terminal. It could then pass the other terminal as its own. But a
/// terminal controls one session only. So if two sessions have a terminal with one number, there are two terminals.
enum TerminalNamesake {
    /// Whether a process of the user, in another session than `caller`, has a controlling terminal of the same number.
    ///
    /// Processes of other users do not count: they could otherwise block all questions to this user. Processes of
    /// containers do not count either: containers number their terminals from 0, and those terminals have no file here.
    static func exists(of caller: ProcessStatus, userID: UInt32) -> Bool {
        let names: [String]
        // If the processes cannot be listed, assume that one has such a terminal.
        do { names = try FileManager.default.contentsOfDirectory(atPath: "/proc") } catch { return true }
        return names.contains { name in
            guard let processID = Int32(name), isOf(userID, processID), let status = ProcessStatus(of: processID) else {
                return false
            }
            return status.terminalDevice == caller.terminalDevice && status.session != caller.session && !status.isDead
                && !isInContainer(processID)
        }
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
