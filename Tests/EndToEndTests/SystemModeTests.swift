import DaemonTestSupport
import Foundation
import Glibc
import Testing

/// Where the administrator asks for the system's daemon, in `/etc/ostiary/client.conf`.
@Suite(
    "A machine in system mode", .serialized, .timeLimit(.minutes(10)),
    .enabled(if: getuid() == 0, "only root can mount without namespaces of its own"))
struct SystemModeTests {
    private static let ostiary = BuiltProgram.named("ostiary")

    /// The processes of `ostiaryd` in the daemon's folders.
    private func processes(of daemon: PrivateDaemon) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").count { name in
            guard Int(name) != nil, let line = FileManager.default.contents(atPath: "/proc/\(name)/cmdline") else {
                return false
            }
            return String(decoding: line, as: UTF8.self).contains(daemon.stateDirectory)
        }
    }

    @Test(arguments: [true, false])
    func `a user's daemon is not asked in the machine's daemon's place, nor started`(isRunning: Bool) throws {
        let daemon = try PrivateDaemon()
        // The way to the daemon is open, so it is the configuration that keeps the program from it.
        let inUserMode = try ConfiguredMachine(clientConfiguration: "mode = user\n", beside: daemon)
        #expect(try inUserMode.run(Self.ostiary, ["status"]).status == 0)
        if !isRunning { daemon.kill() }
        let machine = try ConfiguredMachine(clientConfiguration: "mode = system\n", beside: daemon)
        for arguments in [["status"], ["right", "list"], ["lock"]] {
            let run = try machine.run(Self.ostiary, arguments)
            #expect(run.status == 1)
            #expect(
                run.output == """
                    ostiary: No daemon answers at /run/ostiary/ostiaryd.socket (connect /run/ostiary/ostiaryd.socket: \
                    No such file or directory); see `systemctl status ostiaryd.socket`. /etc/ostiary/client.conf asks for \
                    the machine's daemon, and no other daemon is used instead.

                    """)
        }
        let doctor = try machine.run(Self.ostiary, ["doctor"])
        #expect(doctor.status == 1 && doctor.output.contains("Only an administrator can do"), "\(doctor.output)")
        let garbled = try ConfiguredMachine(clientConfiguration: "mode = systemd\n", beside: daemon)
            .run(Self.ostiary, ["status"])
        #expect(garbled.status != 0 && garbled.output.contains("client.conf"))
        #expect(FileManager.default.fileExists(atPath: daemon.runtimeDirectory + "/ostiaryd.socket") == isRunning)
        #expect(try processes(of: daemon) == (isRunning ? 1 : 0))
    }

    @Test func `root's daemon at the system's socket is asked, whatever the environment says`() throws {
        let (own, system) = (try PrivateDaemon(), try PrivateDaemon())
        let machine = try ConfiguredMachine(
            clientConfiguration: "mode = system\n", systemDaemonIn: system.runtimeDirectory, beside: own)
        let run = try machine.run(Self.ostiary, ["status", "--json"])
        #expect(run.status == 0, "\(run.output)")
        let document = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
        #expect(document?["stateDirectory"] as? String == system.stateDirectory)
    }

    @Test func `commands about a user's own daemon refuse`() throws {
        let daemon = try PrivateDaemon()
        daemon.kill()
        let machine = try ConfiguredMachine(clientConfiguration: "mode = system\n", beside: daemon)
        for arguments in [["test-daemon", "--", "touch", daemon.path("begun")], ["enclave", "move", "software"]] {
            let run = try machine.run(Self.ostiary, arguments)
            #expect(run.status == 3)
            #expect(
                run.output.hasPrefix(
                    "ostiary: /etc/ostiary/client.conf asks for the machine's daemon (mode = system). Nothing was "),
                "\(run.output)")
        }
        #expect(!FileManager.default.fileExists(atPath: daemon.path("begun")))
        #expect(try processes(of: daemon) == 0)
    }
}
