import Foundation
import Glibc
import OstiaryMessages
import PromptProtocol

/// The files whose code runs in this process: the program and its libraries.
///
/// Their owners are inside the process: a library that somebody else can change reads every secret that the daemon has.
struct LoadedCode: Equatable {
    /// Files that are where they were when they were loaded, in the order of the first mapping.
    private(set) var paths: [String] = []
    /// Files that were removed or replaced since they were loaded.
    private(set) var replaced: [String] = []

    /// - Parameter maps: what `/proc/PID/maps` says (proc(5)). Only mappings that can be executed count.
    init(maps: String) {
        let mark = " (deleted)"
        for line in maps.split(separator: "\n") {
            // Addresses, permissions, offset, device, inode, path. A path may have spaces, and no line break.
            let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            guard fields.count == 6, fields[1].contains("x") else { continue }
            let path = fields[5].drop { $0 == " " }
            // Anything else is the kernel's, such as `[vdso]`.
            guard path.hasPrefix("/") else { continue }
            if path.hasSuffix(mark) {
                let former = String(path.dropLast(mark.count))
                if !replaced.contains(former) { replaced.append(former) }
            } else if !paths.contains(String(path)) {
                paths.append(String(path))
            }
        }
    }

    /// What this process runs now.
    ///
    /// - Returns: nil when the kernel does not tell.
    static func ofThisProcess() -> LoadedCode? {
        // Not `String(contentsOfFile:)`, which stops at the first short read.
        guard let file = FileHandle(forReadingAtPath: "/proc/self/maps"), let bytes = try? file.readToEnd() else {
            return nil
        }
        let code = LoadedCode(maps: String(decoding: bytes, as: UTF8.self))
        return code.paths.isEmpty && code.replaced.isEmpty ? nil : code
    }

    /// Why others than root and the user could change what runs: one reason for each file that they could.
    func distrust(userID: UInt32) -> [ProgramDistrust] {
        paths.compactMap { path in
            do throws(ProgramDistrust) { try ProgramTrust.verifyFile(path, userID: userID) } catch { return error }
            return nil
        }
    }
}

extension LoadedCode? {
    /// What the doctor says about it.
    func finding(userID: UInt32) -> WireFinding {
        guard let self else {
            return .problem(
                "libraries", "/proc/self/maps cannot be read, so nobody knows which code the daemon runs.",
                advice: "Mount /proc, and restart the daemon.")
        }
        var (distrust, replaced) = (self.distrust(userID: userID), self.replaced)
        // A file that is not where it was loaded from is nobody's to change any more.
        distrust.removeAll { reason in
            guard case .missing(let path) = reason else { return false }
            replaced.append(path)
            return true
        }
        if let first = distrust.first {
            let others = distrust.count == 1 ? "" : " The same is true of \(distrust.count - 1) more."
            return .problem(
                "libraries", "The daemon runs code that others can change: \(first).\(others)",
                advice: "Make root or yourself its owner, and remove write access for group and others. "
                    + "Then restart the daemon.")
        }
        if let first = replaced.first {
            return .notice(
                "libraries", "The daemon still runs code of \(first), which was removed or replaced since it started.",
                advice: "Restart the daemon.")
        }
        return .ok(
            "libraries", "Only root and this user can change the \(self.paths.count) files that the daemon runs."
        )
    }
}
