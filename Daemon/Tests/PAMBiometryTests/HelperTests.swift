import Foundation
import Glibc
import PAMProtocol
import PAMTestSupport
import PromptProtocol
import StoreTestSupport
import TerminalTestSupport
import Testing

@testable import PAMBiometry

/// `ostiary-pam` itself, with the real libpam.
@Suite(.timeLimit(.minutes(10))) struct HelperTests {
    let services: PAMServices

    init() throws { services = try PAMServices() }

    // MARK: requests

    @Test(arguments: [[0], [1, 0, 0], [2, 0, 0], [UInt8](repeating: 1, count: 5000)] as [[UInt8]])
    func `what is no request is refused`(_ bytes: [UInt8]) throws {
        let helper = try HelperProcess(bytes)
        #expect(helper.reports() == [.result(.badRequest)])
        #expect(helper.process.wait() == .exited(0))
    }

    @Test func `without a request it ends with the daemon`() throws {
        let helper = try HelperProcess(nil)
        helper.hangUp()
        #expect(helper.process.wait() == .exited(0))
    }

    @Test(arguments: [
        "", "auth required pam_permit.so\nauth required pam_permit.so\n", "@include common-auth\n",
        "auth include common-auth\n", "auth substack common-auth\n", "auth sufficient pam_permit.so\n",
        "account required pam_permit.so\n",
    ])
    func `it refuses a service file by itself`(_ text: String) throws {
        try services.write(text)
        #expect(try HelperProcess(services).reports() == [.result(.serviceRefused)])
    }

    @Test func `it refuses a service file that others can write to`() throws {
        try services.write("auth required pam_permit.so\n")
        #expect(try HelperProcess(services).reports() == [.result(.recognized)])
        try #require(chmod(services.folder.path("face"), 0o666) == 0)
        #expect(try HelperProcess(services).reports() == [.result(.serviceRefused)])
    }

    @Test func `it refuses a service without a file, and never takes libpam's fallback`() throws {
        try services.write("auth required pam_permit.so\n", to: "other")
        #expect(try HelperProcess(services).reports() == [.result(.serviceRefused)])
        #expect(try HelperProcess(services, service: "other").reports() == [.result(.serviceRefused)])
        #expect(try HelperProcess(services, service: "../x").reports() == [.result(.serviceRefused)])
    }

    // MARK: the process

    @Test func `a program of a module has the daemon's environment and no descriptor`() throws {
        try services.writeStarter(
            "env | grep -v '^\\(SHLVL\\|PWD\\|_\\)=' | sort > \(services.folder.path)/environment; "
                + "readlink /proc/$$/fd/{0,1,2} | sort -u > \(services.folder.path)/standard; "
                + "ls /proc/$$/fd > \(services.folder.path)/descriptors")
        #expect(try services.recognize(bus: "/run/bus") == .success(.recognized))
        let environment = try services.contents("environment").split(separator: "\n")
        let bus = "DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/bus"
        #expect(environment == [bus[...], "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin", "SWIFT_BACKTRACE=enable=no"])
        #expect(try services.contents("standard") == "/dev/null")
        // 255 is the shell's script. A pipe behind `ls` would be the shell's for a moment.
        #expect(try services.contents("descriptors").split(separator: "\n").sorted() == ["0", "1", "2", "255"])
    }

    @Test func `a module gains no rights, and its memory cannot be dumped`() throws {
        try services.writeScript(
            "grep NoNewPrivs /proc/$PPID/status > \(services.folder.path)/rights; "
                + "grep 'core file' /proc/$PPID/limits > \(services.folder.path)/core; "
                + "stat -c %u /proc/$PPID/environ > \(services.folder.path)/owner")
        try #require(chmod(services.folder.path, 0o1777) == 0)
        // The kernel gives what belongs to a process that cannot be dumped to root.
        let userID: UInt32? = getuid() == 0 ? 65534 : nil
        #expect(try HelperProcess(services, asUser: userID).reports() == [.result(.recognized)])
        #expect(try services.contents("rights") == "NoNewPrivs:\t1")
        #expect(try services.contents("core").split(separator: " ").prefix(6).suffix(2) == ["0", "0"])
        #expect(try services.contents("owner") == "0")
    }

    @Test(.enabled(if: getuid() == 0, "only root can be another user"))
    func `it authenticates the user as whom it runs`() throws {
        try services.writeScript("echo $PAM_USER $PAM_SERVICE $PAM_TYPE")
        #expect(
            try HelperProcess(services, asUser: 65534).reports()
                == [.info(DisplayText("nobody face auth")), .result(.recognized)])
        #expect(try HelperProcess(services, asUser: 54321).reports() == [.result(.userUnknown)])
    }

    @Test(.enabled(if: getuid() == 0, "only root can be another user"))
    func `a helper that runs as a user refuses another user's name`() throws {
        try services.writeScript("echo $PAM_USER")
        let own = [PAMReport.info(DisplayText("nobody")), .result(.recognized)]
        #expect(try HelperProcess(services, of: "nobody", asUser: 65534).reports() == own)
        for name in ["root", "daemon", "Nobody", "nobody "] {
            #expect(try HelperProcess(services, of: name, asUser: 65534).reports() == [.result(.otherUser)])
        }
        // Root authenticates anybody.
        #expect(try HelperProcess(services, of: "nobody").reports() == own)
    }

    // MARK: texts

    @Test func `texts are harmless and bounded`() throws {
        try services.writeScript(
            "printf 'look \\033[2J\\033]0;x\\007at\\342\\200\\256 it\\n'; printf '\\377\\n'; printf 'x%.0s' {1..2000}")
        let reports = try HelperProcess(services).reports()
        let long = String(repeating: "x", count: 299) + "…"
        // pam_exec splits what a program prints at 512 bytes at the latest.
        #expect(
            reports.prefix(3) == [
                .info(DisplayText("look [2J]0;xat it")), .info(DisplayText("\u{FFFD}")), .info(DisplayText(long)),
            ])
        #expect(!reports.contains(nil))
        #expect(reports.last == .result(.recognized))
    }

    // MARK: ends

    @Test func `it ends with the daemon, and what its module has started ends too`() throws {
        try services.writeStarter("sleep 1000")
        let helper = try HelperProcess(services)
        let message = try #require(helper.nextMessage())
        guard case .info(let text)? = PAMReport(decoding: message), let program = pid_t(text.string) else {
            throw NoText()
        }
        #expect(isRunning(program))
        helper.hangUp()
        #expect(helper.process.wait() == .killed(signal: SIGKILL, leftCore: false))
        try eventually("it ended") { !isRunning(program) }
    }

    struct NoText: Error {}

    @Test func `it ends when the daemon sends more than a request`() throws {
        try services.writeStarter("sleep 1000")
        let helper = try HelperProcess(services)
        _ = try #require(helper.nextMessage())
        helper.send([1])
        #expect(helper.process.wait() == .killed(signal: SIGKILL, leftCore: false))
    }

    @Test func `it ends with a daemon that is killed`() throws {
        let folder = services.folder.path
        try services.writeStarter("cd \(folder); echo $PPID $$ > new; mv new processes; sleep 1000")
        let daemon = try SpawnedProcess(
            Build.program("pam-asker"), [Build.program("ostiary-pam"), "face", services.folder.path, "\(getuid())"])
        var processes: [pid_t] = []
        try eventually("the module runs") {
            processes = ((try? services.contents("processes")) ?? "").split(separator: " ").compactMap { pid_t($0) }
            return processes.count == 2
        }
        #expect(processes.allSatisfy(isRunning))
        daemon.signal(SIGKILL)
        #expect(daemon.wait() == .killed(signal: SIGKILL, leftCore: false))
        try eventually("helper and module ended") { !processes.contains(where: isRunning) }
    }
}
