import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import ProcessFacts
import Prompting
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// Secrets stay in the daemon: no environment names another prompt, no other process reads its memory, no crash prints
/// it, and no file holds it.
@Suite(.timeLimit(.minutes(10))) struct SecretExposureTests {
    // MARK: environment

    @Test func `the environment chooses neither configuration nor prompt program`() throws {
        let folders = try Stage.folders()
        let trace = folders.root.path("fake-was-run")
        let fake = "#!/bin/sh\ntouch '\(trace)'\n"
        let configuration = """
            prompt.front-ends = pinentry
            prompt.pinentry = \(folders.root.path("ostiary-prompt"))
            prompt.display = :0

            """
        for folder in ["", "/.config"] {
            let path = folders.root.path + folder + "/ostiary"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try folders.write(configuration, to: path + "/ostiaryd.conf")
        }
        for name in ["ostiary-prompt", "pinentry"] { try folders.write(fake, to: folders.root.path(name), mode: 0o700) }
        let hostile = [
            "PATH=\(folders.root.path)", "HOME=\(folders.root.path)", "XDG_CONFIG_HOME=\(folders.root.path)",
            "XDG_CONFIG_DIRS=\(folders.root.path)", "XDG_STATE_HOME=\(folders.root.path)",
            "TMPDIR=\(folders.root.path)",
            "PINENTRY_PROGRAM=\(folders.root.path("pinentry"))", "DISPLAY=:0", "USER=somebody", "LOGNAME=somebody",
            "TSS2_LOG=all+trace", "TSS2_FAPICONF=\(folders.root.path)", "TCTI=cmd:\(folders.root.path("pinentry"))",
            "SWIFT_BACKTRACE=enable=yes,output-to=\(folders.root.path)",
        ]
        let options = ["--runtime-directory", folders.runtime, "--state-directory", folders.state]
        let daemon = try DaemonProcess(
            DaemonStart(in: folders, options: options, environment: hostile), in: folders)
        let stage = try Stage(daemon)
        let id = try stage.beginAuthorizing(in: stage.client.openContext())
        let prompt = try #require(runningPrompts(of: daemon.processID).first)
        if Account.isRoot {
            let environment = try String(contentsOfFile: "/proc/\(prompt)/environ", encoding: .utf8)
            #expect(!environment.contains(folders.root.path))
        }
        stage.terminal.type(Stage.passcode + "\r")
        #expect(try stage.client.answer(to: id).factors == ["passcode"])
        #expect(access(trace, F_OK) != 0)
        #expect(try stage.client.status().stateDirectory == folders.state)
    }

    // MARK: memory

    @Test func `another process of the same user reads nothing of the daemon`() throws {
        let folders = try DaemonFolders()
        let asUser = Account.isRoot ? Account.asNobody : []
        var program = DaemonStart.program
        if Account.isRoot {
            // Root sees everything; so daemon and reader run as somebody else.
            for name in ["ostiaryd", "ostiary-prompt"] {
                try FileManager.default.copyItem(atPath: Build.program(name), toPath: folders.root.path(name))
            }
            program = folders.root.path("ostiaryd")
            for path in [folders.root.path("run"), folders.root.path("state")] {
                #expect(chown(path, Account.nobody, Account.nobody) == 0)
            }
            #expect(chmod(folders.root.path, 0o755) == 0)
            #expect(chmod(folders.configuration, 0o644) == 0)
        }
        let daemon = try DaemonProcess(
            DaemonStart(in: folders, program: program, environment: ["MARKER=visible"], under: asUser), in: folders)
        let other = try SpawnedProcess(
            (asUser + ["/bin/sleep"])[0], Array((asUser + ["/bin/sleep", "600"]).dropFirst()),
            environment: ["MARKER=visible"])
        try eventually("the other one runs") {
            ProcessStatus(of: other.processID) != nil && comm(other.processID) == "sleep"
        }
        func canOpen(_ name: String, of processID: pid_t) throws -> Bool {
            let command = asUser + ["/bin/sh", "-c", "exec 3< /proc/\(processID)/\(name)"]
            return try SpawnedProcess(command[0], Array(command.dropFirst())).wait() == .exited(0)
        }
        for name in ["environ", "maps", "mem", "auxv", "pagemap", "fd/0"] {
            #expect(try !canOpen(name, of: daemon.processID), "\(name)")
        }
        // An ordinary process of that user can be read, so it is not the system that forbids it to all.
        for name in ["environ", "maps", "fd/0"] { #expect(try canOpen(name, of: other.processID), "\(name)") }
    }

    private func comm(_ processID: pid_t) -> String {
        (try? String(contentsOfFile: "/proc/\(processID)/comm", encoding: .utf8))?.trimmingCharacters(in: .newlines)
            ?? ""
    }

    @Test(arguments: [SIGSEGV, SIGABRT, SIGILL, SIGTRAP, SIGQUIT])
    func `a crash with secrets in memory prints nothing of them and leaves no core`(_ signal: CInt) throws {
        let folders = try Stage.folders()
        let options = "SWIFT_BACKTRACE=enable=yes,color=no,interactive=no,registers=all,images=all,timeout=5s"
        let daemon = try DaemonProcess(in: folders, environment: DaemonStart.environment + [options])
        let stage = try Stage(daemon)
        let context = try stage.authorizedContext()
        #expect(try stage.client.ask(.readSecret(stage.right, in: context)).tail == Array(Stage.secret.utf8))
        // Half of an answer is in the prompt.
        _ = try stage.beginAuthorizing(in: context)
        stage.terminal.type(String(Stage.passcode.prefix(8)))
        #expect(daemon.kill(signal) == .killed(signal: signal, leftCore: false))
        let lines = daemon.standardError.split(separator: "\n")
        #expect(lines.allSatisfy { $0.contains("ostiaryd") && $0.contains("notice") }, "\(lines)")
        try expectNoMarker(in: folders)
        try eventually("the prompt is gone and the terminal as before") { stage.terminal.isAsBefore }
        #expect(!stage.terminal.screen.contains("corr"))
    }

    // MARK: files

    @Test func `no file holds a passcode or a secret in the clear`() throws {
        let stage = try Stage()
        let context = try stage.authorizedContext()
        #expect(try stage.client.ask(.readSecret(stage.right, in: context)).tail == Array(Stage.secret.utf8))
        let wrong = try stage.beginAuthorizing(in: context)
        for text in ["marker-wrong-one", "marker-wrong-two", "marker-wrong-three"] {
            stage.terminal.answer("Passcode: ", with: text)
        }
        #expect(try stage.client.answer(to: wrong).refusal == .authenticationFailed)
        try makeRightWithPassword(stage, context)
        try changePasscode(stage)
        #expect(
            try stage.client.ask(.createRight("other", .passcode, hasSecret: true), tail: Array("marker-replaced".utf8))
                .right != nil)
        #expect(
            try stage.client.ask(
                .createRight("other", .passcode, hasSecret: true, replace: true), tail: Array("marker-replacing".utf8)
            ).right != nil)
        try expectNoMarker(in: stage.folders)
        #expect(stage.daemon.kill(SIGKILL) == .killed(signal: SIGKILL, leftCore: false))
        try expectNoMarker(in: stage.folders)
        let next = try stage.daemon.restarted()
        #expect(next.stop() == .exited(0))
        try expectNoMarker(in: stage.folders)
    }

    private func makeRightWithPassword(_ stage: Stage, _ context: UInt64) throws {
        let rule = try Requirement(anyOf: [.applicationPassword])
        let id = try stage.client.send(.createRight("with password", rule), descriptor: stage.terminal.slave.number)
        stage.terminal.answer("New item password: ", with: "marker-item-password")
        stage.terminal.answer("Repeat new item password: ", with: "marker-item-password")
        let right = try #require(try stage.client.answer(to: id).right).rightID
        let credential = WireRequest.OneOf_Body.setCredential(.with { $0.contextID = context })
        #expect(try stage.client.ask(credential, tail: Array("marker-item-password".utf8)).isDone)
        #expect(try stage.client.ask(.authorize(right, in: context)).factors == ["application-password"])
    }

    private func changePasscode(_ stage: Stage) throws {
        let id = try stage.client.send(.passcode(.change), descriptor: stage.terminal.slave.number)
        stage.terminal.answer("Passcode: ", with: Stage.passcode)
        stage.terminal.answer("New passcode: ", with: "marker-new-passcode")
        stage.terminal.answer("Repeat new passcode: ", with: "marker-new-passcode")
        #expect(try stage.client.answer(to: id).isDone)
    }

    /// Looks through every file of the daemon, its standard error included, for what must not be there: as it is, and
    /// as hexadecimal or Base64 text.
    private func expectNoMarker(in folders: DaemonFolders, _ location: SourceLocation = #_sourceLocation) throws {
        let files = try folders.files()
        #expect(files.keys.contains { $0.hasSuffix("audit.log") } && files.keys.contains("state/ostiary/vault.sqlite"))
        for marker in ["marker-", "correct horse"] {
            let bytes = Data(marker.utf8)
            let hexadecimal = bytes.map { String($0, radix: 16) }.joined()
            let forms = [bytes, Data(hexadecimal.utf8), Data(bytes.base64EncodedString().prefix(8).utf8)]
            for (name, contents) in files {
                for form in forms where contents.range(of: form) != nil {
                    Issue.record("\(name) holds \(marker)", sourceLocation: location)
                }
            }
        }
    }
}
