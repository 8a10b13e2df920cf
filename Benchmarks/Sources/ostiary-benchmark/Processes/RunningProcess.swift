import Foundation
import Glibc
import UnixSocket

/// What the kernel counts of a process (proc_pid_status(5)).
struct RunningProcess {
    let id: pid_t

    /// How often its threads were scheduled in that time, by their names.
    func contextSwitches(duringSeconds seconds: Int) throws -> [String: Int] {
        try Self.contextSwitches(of: [self], duringSeconds: seconds)[0]
    }

    /// The same for several processes in the same time.
    static func contextSwitches(of processes: [Self], duringSeconds seconds: Int) throws -> [[String: Int]] {
        let before = try processes.map { try $0.contextSwitches() }
        sleep(UInt32(seconds))
        return try zip(processes, before).map { process, before in
            try process.contextSwitches().reduce(into: [:]) { $0[$1.key] = $1.value - before[$1.key, default: 0] }
        }
    }

    private func contextSwitches() throws -> [String: Int] {
        let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/task")
        return try tasks.reduce(into: [:]) { counts, task in
            let lines = try Self.lines("/proc/\(id)/task/\(task)/status")
            let name = lines.first { $0.hasPrefix("Name:") }?.split(separator: "\t").last.map(String.init) ?? ""
            let numbers = lines.filter { $0.contains("voluntary_ctxt_switches:") }
                .compactMap { $0.split(separator: "\t").last.flatMap { Int($0) } }
            counts[name, default: 0] += numbers.reduce(0, +)
        }
    }

    /// Resident memory in megabytes (10^6 bytes).
    func residentMegabytes() throws -> Double {
        let file = "/proc/\(id)/status"
        let line = try Self.lines(file).first { $0.hasPrefix("VmRSS:") }
        guard let kibibytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Double($0) })
        else {
            throw SystemCallError("read", subject: file, code: EIO)
        }
        return kibibytes * 1024 / 1e6
    }

    private static func lines(_ file: String) throws -> [Substring] {
        try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    }
}
