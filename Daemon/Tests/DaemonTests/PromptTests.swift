import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// Questions to a person, from the request on the socket to the answer, on real terminals.
@Suite(.timeLimit(.minutes(10))) struct PromptTests {
    // MARK: who may be asked where

    @Test func `a question is put on the caller's own terminal and answered with what was proved`() throws {
        let stage = try Stage()
        let context = try stage.client.openContext()
        let id = try stage.beginAuthorizing(in: context, reason: "to push a branch")
        for text in [Caller.program, Stage.rightName, "to push a branch"] { #expect(stage.terminal.shows(text)) }
        stage.terminal.type(Stage.passcode + "\r")
        let answer = try stage.client.answer(to: id)
        #expect(answer.factors == ["passcode"])
        #expect(try stage.canSign(in: context))
        #expect(!stage.terminal.screen.contains(Stage.passcode))
        #expect(stage.terminal.isAsBefore)
    }

    @Test func `another terminal is not written to`() throws {
        let stage = try Stage()
        let other = try PseudoTerminal()
        try expectNotInteractive(stage, descriptor: other.slave.number, "prompt.terminal-notControllingTerminal")
        #expect(other.screen.isEmpty)
        #expect(stage.terminal.screen.isEmpty)
    }

    @Test func `what is no terminal, or a terminal's other side, is refused`() throws {
        let stage = try Stage()
        let null = try PseudoTerminal.open("/dev/null")
        try expectNotInteractive(stage, descriptor: null.number, "prompt.terminal-notATerminal")
        try expectNotInteractive(stage, descriptor: stage.terminal.master.number, "prompt.terminal-notATerminal")
        let readOnly = try PseudoTerminal.open(stage.terminal.path, O_RDONLY)
        try expectNotInteractive(stage, descriptor: readOnly.number, "prompt.terminal-notATerminal")
    }

    @Test func `a program in the background is not asked for`() throws {
        let stage = try Stage()
        let terminal = try PseudoTerminal()
        let caller = try Caller(at: stage.folders, on: terminal, .background).greeted()
        let question = try WireRequest.OneOf_Body.authorize(stage.right, in: caller.client.openContext())
        let answer = try caller.client.ask(question, descriptor: terminal.slave.number)
        #expect(answer.refusal == .notInteractive)
        #expect(answer.cause == "prompt.terminal-callerInBackground")
        #expect(!terminal.screen.contains("Passcode"))
    }

    @Test func `without terminal and dialog it is not interactive, at once`() throws {
        let stage = try Stage()
        let begin = ContinuousClock.now
        try expectNotInteractive(stage, descriptor: -1, "prompt.not-interactive")
        #expect(begin.duration(to: .now) < .seconds(20))
        #expect(stage.terminal.screen.isEmpty)
    }

    // MARK: which of them it was

    @Test(.enabled(if: Account.isRoot, Account.needsRoot))
    func `the terminal of another user is named as such, as after su`() throws {
        let stage = try Stage()
        try #require(chown(stage.terminal.path, Account.nobody, gid_t.max) == 0)
        try expectNotInteractive(
            stage, descriptor: stage.terminal.slave.number, "prompt.terminal-otherOwner",
            words: "it belongs to another user. After `su` or `sudo -u`")
        #expect(stage.terminal.screen.isEmpty)
    }

    @Test func `a display that does not answer is named as such`() throws {
        let stage = try Stage(configurationText: "prompt.front-ends = sheet\nprompt.display = :9999\n")
        try expectNotInteractive(
            stage, descriptor: stage.terminal.slave.number, "prompt.display-noAnswer",
            words: "on the display: it does not answer.")
    }

    @Test func `a program without a terminal is told so`() throws {
        try expectNotInteractive(
            Stage(), descriptor: -1, "prompt.not-interactive", words: "the program has no terminal")
    }

    @Test func `a program that does not want to ask is not given a question`() throws {
        let stage = try Stage()
        let question = try WireAuthorizeRequest.with {
            $0.contextID = try stage.client.openContext()
            $0.subject = .rightID(stage.right)
            $0.question.reason = "to test"
            $0.question.interactionNotAllowed = true
        }
        let answer = try stage.client.ask(.authorize(question), descriptor: stage.terminal.slave.number)
        #expect(answer.refusal == .notInteractive)
        #expect(stage.terminal.screen.isEmpty)
    }

    @Test func `a configuration that forbids terminals is kept to`() throws {
        let stage = try Stage(configurationText: "prompt.terminal = never\n")
        try expectNotInteractive(stage, descriptor: stage.terminal.slave.number, "prompt.terminal-forbiddenByPolicy")
    }

    private func expectNotInteractive(
        _ stage: Stage, descriptor: CInt, _ cause: String, words: String = "",
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let context = try stage.client.openContext()
        let answer = try stage.client.ask(.authorize(stage.right, in: context), descriptor: descriptor)
        #expect(answer.refusal == .notInteractive, sourceLocation: location)
        #expect(answer.cause == cause, sourceLocation: location)
        if !words.isEmpty { #expect(answer.failure?.explanation.contains(words) == true, sourceLocation: location) }
        #expect(try !stage.canSign(in: context), sourceLocation: location)
    }

    // MARK: what is typed

    @Test func `typed ahead input is not taken as an answer`() throws {
        let stage = try Stage()
        stage.terminal.type("typed ahead\r")
        _ = try stage.authorizedContext()
        #expect(try stage.client.status().passcode.failedAttempts == 0)
    }

    @Test func `Ctrl-C cancels the question, and the caller goes on`() throws {
        let stage = try Stage()
        let context = try stage.client.openContext()
        let id = try stage.beginAuthorizing(in: context)
        stage.terminal.type("half\u{3}")
        #expect(try stage.client.answer(to: id).refusal == .userCancel)
        #expect(try !stage.canSign(in: context))
        #expect(stage.terminal.isAsBefore)
        #expect(try stage.client.status().passcode.failedAttempts == 0)
    }

    @Test func `three wrong passcodes end a question, and each was counted`() throws {
        let stage = try Stage()
        let context = try stage.client.openContext()
        let id = try stage.client.send(.authorize(stage.right, in: context), descriptor: stage.terminal.slave.number)
        for text in ["wrong", Stage.passcode + " ", Stage.passcode.uppercased()] {
            stage.terminal.answer("Passcode: ", with: text)
        }
        #expect(try stage.client.answer(to: id).refusal == .authenticationFailed)
        #expect(try !stage.canSign(in: context))
        #expect(try stage.client.status().passcode.failedAttempts == 3)
        _ = try stage.authorizedContext()
        #expect(try stage.client.status().passcode.failedAttempts == 0)
    }

    @Test func `after five wrong passcodes not even the right one is asked for, a kill in between or not`() throws {
        let stage = try Stage()
        let first = try stage.client.send(
            .authorize(stage.right, in: stage.client.openContext()), descriptor: stage.terminal.slave.number)
        for _ in 0..<3 { stage.terminal.answer("Passcode: ", with: "wrong") }
        #expect(try stage.client.answer(to: first).refusal == .authenticationFailed)
        #expect(stage.daemon.kill() == .killed(signal: SIGKILL, leftCore: false))
        let next = try Stage(stage.daemon.restarted())
        #expect(try next.client.status().passcode.failedAttempts == 3)
        let second = try next.client.send(
            .authorize(next.right, in: next.client.openContext()), descriptor: next.terminal.slave.number)
        for _ in 0..<2 { next.terminal.answer("Passcode: ", with: "wrong") }
        let answer = try next.client.answer(to: second)
        #expect(answer.refusal == .lockedOut)
        #expect((1...60).contains(answer.failure?.retryAfterSeconds ?? 0))
        #expect(next.daemon.kill() == .killed(signal: SIGKILL, leftCore: false))
        let last = try Stage(next.daemon.restarted())
        let locked = try last.client.ask(
            .authorize(last.right, in: last.client.openContext()), descriptor: last.terminal.slave.number)
        #expect(locked.refusal == .lockedOut)
        #expect(last.terminal.screen.isEmpty)
    }

    @Test func `a weak passcode and one that was mistyped are not set`() throws {
        let daemon = try DaemonProcess(in: DaemonFolders())
        let terminal = try PseudoTerminal()
        let caller = try Caller(at: daemon.folders, on: terminal).greeted()
        let weak = try caller.client.send(.passcode(.set), descriptor: terminal.slave.number)
        for text in ["short", "12345678", "aaaaaaaaaa"] { terminal.answer("New passcode: ", with: text) }
        #expect(try caller.client.answer(to: weak).refusal == .passcodeTooWeak)
        let mistyped = try caller.client.send(.passcode(.set), descriptor: terminal.slave.number)
        for number in 0..<3 {
            terminal.answer("New passcode: ", with: "correct horse")
            terminal.answer("Repeat new passcode: ", with: "correct horse \(number)")
        }
        #expect(try caller.client.answer(to: mistyped).refusal == .passcodeMismatch)
        #expect(try caller.client.status().passcode.isSet == false)
    }

    // MARK: reasons

    @Test func `a reason cannot steer the terminal or pretend to be the prompt`() throws {
        let stage = try Stage()
        let context = try stage.client.openContext()
        let reason = "pay\u{1B}[2J\u{1B}]0;title\u{7} \u{202E}gnp.\u{2066}\r\nPasscode: \u{9B}31m\u{200B}end"
        let id = try stage.beginAuthorizing(in: context, reason: reason)
        stage.terminal.waitFor("Enter: continue")
        let screen = stage.terminal.screen
        for scalar in ["\u{1B}", "\u{7}", "\u{202E}", "\u{2066}", "\u{9B}", "\u{200B}"] {
            #expect(!screen.contains(scalar))
        }
        let lines = screen.split(whereSeparator: \.isNewline)
        #expect(lines.filter { $0.hasPrefix("Passcode:") }.count == 1, "only the field begins like the field")
        #expect(lines.contains { $0.contains(#"pay\u{1b}[2J\u{1b}]0;title\u{7} \u{202e}gnp.\u{2066}"#) })
        #expect(lines.allSatisfy { !$0.contains("gnp") && !$0.contains("end") || $0.hasPrefix("  ") })
        stage.terminal.type("\u{3}")
        #expect(try stage.client.answer(to: id).refusal == .userCancel)
    }

    @Test(arguments: [" ", "\n\t", "\u{200D}\u{FE0F}"])
    func `a reason with nothing to show leaves its line out`(_ reason: String) throws {
        let stage = try Stage()
        let context = try stage.client.openContext()
        let id = try stage.beginAuthorizing(in: context, reason: reason)
        stage.terminal.waitFor("Enter: continue")
        #expect(!stage.terminal.screen.contains("It says"))
        stage.terminal.type("\u{3}")
        #expect(try stage.client.answer(to: id).refusal == .userCancel)
    }

    @Test func `an empty reason is refused`() throws {
        let stage = try Stage()
        let context = try stage.client.openContext()
        let bodies: [WireRequest.OneOf_Body] = [
            .authorize(stage.right, in: context, reason: ""),
            .passcode(
                .with {
                    $0.action = .change; $0.question = .reason("")
                }),
            .evaluatePolicy(
                .with {
                    $0.contextID = context; $0.policy = 2; $0.question = .reason("")
                }),
        ]
        for body in bodies {
            #expect(try stage.client.ask(body, descriptor: stage.terminal.slave.number).refusal == .emptyReason)
        }
        #expect(stage.terminal.screen.isEmpty)
    }

    // MARK: ends that nobody typed

    @Test(arguments: [SIGKILL, SIGTERM, SIGSEGV])
    func `a prompt that is killed is no answer, and the terminal is as before`(_ signal: CInt) throws {
        let stage = try Stage()
        let context = try stage.client.openContext()
        let id = try stage.beginAuthorizing(in: context)
        stage.terminal.type("half a passcode")
        for prompt in runningPrompts(of: stage.daemon.processID) { #expect(kill(prompt, signal) == 0) }
        #expect(try stage.client.answer(to: id).refusal == .systemCancel)
        #expect(stage.terminal.isAsBefore)
        #expect(try !stage.canSign(in: context))
        #expect(!stage.daemon.standardError.contains("half"))
    }

    enum Withdrawal: CaseIterable { case cancel, deauthorize, closeContext }

    @Test(arguments: Withdrawal.allCases)
    func `a program can take its question back`(_ withdrawal: Withdrawal) throws {
        let stage = try Stage()
        let context = try stage.client.openContext()
        let id = try stage.beginAuthorizing(in: context)
        let body: WireRequest.OneOf_Body =
            switch withdrawal {
            case .cancel: .cancel(.with { $0.requestID = id })
            case .deauthorize: .deauthorize(.with { $0.contextID = context })
            case .closeContext: .closeContext(.with { $0.contextID = context })
            }
        #expect(try stage.client.ask(body).isDone)
        #expect(try stage.client.answer(to: id).refusal == .appCancel)
        #expect(stage.terminal.isAsBefore)
        #expect(runningPrompts(of: stage.daemon.processID).isEmpty)
    }

    @Test func `another connection cannot cancel a question`() throws {
        let stage = try Stage()
        let id = try stage.beginAuthorizing(in: stage.client.openContext())
        #expect(try stage.daemon.client().ask(.cancel(.with { $0.requestID = id })).isDone)
        stage.terminal.type(Stage.passcode + "\r")
        #expect(try stage.client.answer(to: id).factors == ["passcode"])
    }

    // MARK: several at once

    @Test func `questions on one terminal are shown one at a time, in the order in which they came`() throws {
        let stage = try Stage()
        let first = try stage.beginAuthorizing(in: stage.client.openContext())
        stage.terminal.clearScreen()
        let waiting = try (0..<2).map { _ in
            let question = try WireRequest.OneOf_Body.authorize(stage.right, in: stage.client.openContext())
            let id = try stage.client.send(question, descriptor: stage.terminal.slave.number)
            #expect(stage.terminal.staysSilent())
            return id
        }
        #expect(runningPrompts(of: stage.daemon.processID).count == 1)
        stage.terminal.type(Stage.passcode + "\r")
        #expect(try stage.client.answer(to: first).factors == ["passcode"])
        stage.terminal.waitFor("Passcode: ")
        stage.terminal.clearScreen()
        stage.terminal.type("\u{3}")
        #expect(try stage.client.answer(to: waiting[0]).refusal == .userCancel)
        stage.terminal.answer("Passcode: ", with: Stage.passcode)
        #expect(try stage.client.answer(to: waiting[1]).factors == ["passcode"])
    }

    @Test func `questions on different terminals are shown at the same time`() throws {
        let stage = try Stage()
        let first = try stage.beginAuthorizing(in: stage.client.openContext())
        let terminal = try PseudoTerminal()
        let caller = try Caller(at: stage.folders, on: terminal).greeted()
        let question = try WireRequest.OneOf_Body.authorize(stage.right, in: caller.client.openContext())
        let other = try caller.client.send(question, descriptor: terminal.slave.number)
        terminal.waitFor("Passcode: ")
        #expect(runningPrompts(of: stage.daemon.processID).count == 2)
        terminal.type(Stage.passcode + "\r")
        #expect(try caller.client.answer(to: other).factors == ["passcode"])
        stage.terminal.type("\u{3}")
        #expect(try stage.client.answer(to: first).refusal == .userCancel)
    }

    @Test func `a question that is withdrawn before its turn is never shown`() throws {
        let stage = try Stage()
        let first = try stage.beginAuthorizing(in: stage.client.openContext())
        stage.terminal.clearScreen()
        let context = try stage.client.openContext()
        let waiting = try stage.client.send(
            .authorize(stage.right, in: context), descriptor: stage.terminal.slave.number)
        #expect(stage.terminal.staysSilent())
        #expect(try stage.client.ask(.closeContext(.with { $0.contextID = context })).isDone)
        #expect(try stage.client.answer(to: waiting).refusal == .appCancel)
        stage.terminal.type(Stage.passcode + "\r")
        #expect(try stage.client.answer(to: first).factors == ["passcode"])
        #expect(!stage.terminal.shows("Passcode"))
    }

    /// How many requests a connection may have under way is tested with the broker: a question that the queue refuses gives
    /// its place back at some moment.
    @Test func `a program has a limited number of questions under way, and each id once`() throws {
        let stage = try Stage()
        let context = try stage.client.openContext()
        let first = try stage.beginAuthorizing(in: context)
        let question = WireRequest.OneOf_Body.authorize(stage.right, in: context)
        // Also a request that is answered at once may not use the id of one that waits.
        for body in [question, .status] {
            try stage.client.send(body, id: first)
            #expect(try stage.client.answer(to: first).refusal == .malformed)
        }
        let others = try (0..<15).map { _ in try stage.client.send(question, descriptor: stage.terminal.slave.number) }
        #expect(try stage.client.ask(question).refusal == .tooMany)
        #expect(try stage.client.openContext() > 0, "what is answered at once goes on")
        #expect(try stage.daemon.client().log().isEmpty == false, "another connection has places of its own")
        #expect(try stage.client.ask(.closeContext(.with { $0.contextID = context })).isDone)
        for id in [first] + others { #expect(try stage.client.answer(to: id).refusal == .appCancel || id != first) }
        #expect(try stage.client.log().isEmpty == false, "there is room again")
    }

    @Test func `after three cancelled questions a program has to wait before it may ask again`() throws {
        let stage = try Stage()
        let context = try stage.client.openContext()
        for _ in 0..<3 {
            let id = try stage.beginAuthorizing(in: context)
            stage.terminal.clearScreen()
            stage.terminal.type("\u{3}")
            #expect(try stage.client.answer(to: id).refusal == .userCancel)
            stage.terminal.clearScreen()
        }
        let answer = try stage.client.ask(.authorize(stage.right, in: context), descriptor: stage.terminal.slave.number)
        #expect(answer.refusal == .cooldown)
        #expect((1...30).contains(answer.failure?.retryAfterSeconds ?? 0))
        #expect(stage.terminal.screen.isEmpty)
        // A new connection is the same program.
        let terminal = try PseudoTerminal()
        let again = try Caller(at: stage.folders, on: terminal).greeted().client
        let question = try WireRequest.OneOf_Body.authorize(stage.right, in: again.openContext())
        #expect(try again.ask(question, descriptor: terminal.slave.number).refusal == .cooldown)
    }

    // MARK: pinentry

    @Test(arguments: ["/usr/bin/pinentry-tty", "/usr/bin/pinentry-curses"])
    func `a pinentry that the configuration names asks instead`(_ program: String) throws {
        let stage = try Stage(configurationText: "prompt.front-ends = pinentry\nprompt.pinentry = \(program)\n")
        var size = winsize(ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0)
        #expect(ioctl(stage.terminal.slave.number, UInt(TIOCSWINSZ), &size) == 0)
        let context = try stage.client.openContext()
        let id = try stage.client.send(.authorize(stage.right, in: context), descriptor: stage.terminal.slave.number)
        stage.terminal.waitFor("Passcode:")
        #expect(stage.terminal.screen.contains(Stage.rightName))
        stage.terminal.type(Stage.passcode + "\r")
        #expect(try stage.client.answer(to: id).factors == ["passcode"])
        #expect(try stage.canSign(in: context))
        #expect(stage.terminal.isAsBefore)
        #expect(!stage.terminal.screen.contains(Stage.passcode))
    }

    /// A folder for a dialog program that enters the passcode whatever it is asked.
    private func dialog() throws -> (folder: TestFolder, path: String) {
        let folder = try TestFolder()
        let script =
            "echo OK; while read -r l; do "
            + "case \"$l\" in GETPIN*) echo 'D \(Stage.passcode)'; echo OK;; *) echo OK;; esac; done"
        let path = folder.path("dialog")
        try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(fileURLWithPath: path))
        #expect(chmod(path, 0o755) == 0)
        return (folder, path)
    }

    private func stage(asking dialog: String) throws -> Stage {
        try Stage(configurationText: "prompt.front-ends = pinentry\nprompt.pinentry = \(dialog)\nprompt.display = :9\n")
    }

    @Test func `a program is not registered by a dialog that cannot show path and groups in full`() throws {
        let dialog = try dialog()
        let stage = try stage(asking: dialog.path)
        let groups = (1...4).map { "com.example.shared.calendar.of.the.whole.family.group\($0)" }
        for (name, isShown) in [("tool", true), (String(repeating: "%", count: 200), false)] {
            let path = dialog.folder.path(name)
            try FileManager.default.copyItem(atPath: Caller.program, toPath: path)
            let request = WireRegisterApplicationRequest.with {
                ($0.path, $0.applicationID, $0.accessGroups) = (path, "com.example.\(isShown)", groups)
                $0.question = .reason("to test")
            }
            let answer = try stage.client.ask(.registerApplication(request))
            #expect(answer.cause == (isShown ? "" : "prompt.unshowable"))
        }
        guard case .applications(let list)? = try stage.client.ask(.listApplications(.init())).body else {
            Issue.record("no list")
            return
        }
        #expect(list.applications.map(\.applicationID) == ["com.example.true"])
    }

    @Test func `a pinentry that others can replace is not started, and the doctor says which folder is open`() throws {
        let dialog = try dialog()
        let stage = try stage(asking: dialog.path)
        func finding() throws -> WireFinding? {
            guard case .diagnosis(let diagnosis)? = try stage.client.ask(.diagnose(.init())).body else { return nil }
            return diagnosis.findings.first { $0.check == "pinentry" }
        }
        #expect(try finding()?.verdict == .ok)
        #expect(chmod(dialog.folder.path, 0o777) == 0)
        try expectNotInteractive(stage, descriptor: -1, "prompt.untrusted")
        let found = try #require(try finding())
        #expect(found.verdict == .problem)
        #expect(found.message.contains("\(dialog.folder.path) can be written to by other users"))
        #expect(chmod(dialog.folder.path, 0o700) == 0)
        let context = try stage.client.openContext()
        #expect(try stage.client.ask(.authorize(stage.right, in: context)).factors == ["passcode"])
    }

    @Test func `a pinentry that is not there makes questions unavailable, and nothing else is asked`() throws {
        let stage = try Stage(
            configurationText: "prompt.front-ends = pinentry\nprompt.pinentry = /nonexistent/pinentry\n")
        try expectNotInteractive(stage, descriptor: stage.terminal.slave.number, "prompt.dialog")
        #expect(stage.terminal.screen.isEmpty)
    }
}
