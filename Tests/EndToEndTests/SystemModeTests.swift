import DaemonTestSupport
import Foundation
import Glibc
import Testing

/// Where the administrator asks for the system's daemon, in `/etc/ostiary/client.conf`.
@Suite("A machine in system mode", .serialized, .timeLimit(.minutes(10)))
struct SystemModeTests {
    /// Runs the command where `/etc` is a folder with that configuration, and with what a program reads to start.
    private func ostiary(
        _ arguments: [String], configuredBy text: String, in daemon: PrivateDaemon
    ) throws -> UnattendedRun {
        let folder = daemon.path("etc")
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: folder + "/ostiary", withIntermediateDirectories: true)
        for name in ["passwd", "group", "nsswitch.conf", "ld.so.cache"]
        where FileManager.default.fileExists(atPath: "/etc/" + name) {
            try FileManager.default.copyItem(atPath: "/etc/" + name, toPath: "\(folder)/\(name)")
        }
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/ostiary/client.conf"))
        let script = "mount --bind \"$1\" /etc && shift && exec \"$@\""
        let command = ["sh", folder, BuiltProgram.named("ostiary").path] + arguments
        return try UnattendedRun(
            URL(fileURLWithPath: "/usr/bin/unshare"), ["--mount", "/bin/sh", "-c", script] + command, in: daemon)
    }

    @Test(.enabled(if: getuid() == 0, "only root can mount without namespaces of its own"), arguments: [true, false])
    func `a user's daemon is not asked in the system daemon's place, nor started`(isRunning: Bool) throws {
        let daemon = try PrivateDaemon()
        // The way to the daemon is open, so it is the configuration that keeps the program from it.
        #expect(try ostiary(["status"], configuredBy: "mode = user\n", in: daemon).status == 0)
        if !isRunning { daemon.kill() }
        for arguments in [["status"], ["right", "list"], ["lock"]] {
            let run = try ostiary(arguments, configuredBy: "mode = system\n", in: daemon)
            #expect(run.status != 0)
            #expect(run.output.contains("asks for the system daemon"), "\(run.output)")
        }
        let garbled = try ostiary(["status"], configuredBy: "mode = systemd\n", in: daemon)
        #expect(garbled.status != 0 && garbled.output.contains("client.conf"))
        #expect(FileManager.default.fileExists(atPath: daemon.runtimeDirectory + "/ostiaryd.socket") == isRunning)
    }
}
