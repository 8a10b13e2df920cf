import Foundation
import Glibc
import PromptProtocol
import Settings
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

@testable import Prompting

extension PromptQuestion {
    fileprivate static let touch = PromptSensor(.finger, DisplayText("Touch the sensor."))

    fileprivate static let passcodeOrFinger = PromptQuestion(
        .enterPasscode, sensors: [touch], objects: PromptObjects(DisplayText("GitHub token")),
        operation: DisplayText("read"))

    fileprivate static let finger = PromptQuestion(
        .sensor, sensors: [touch], objects: PromptObjects(DisplayText("GitHub token")), operation: DisplayText("read"))
}

extension RealPromptTests {
    /// Questions beside which a sensor waits.
    @Suite struct SensorQuestionTests {
        let terminal: PseudoTerminal
        let process: CallerProcess

        init() throws {
            terminal = try PseudoTerminal()
            process = try CallerProcess(on: terminal)
        }

        private func ask(
            _ question: PromptQuestion, field: String, program: String = Build.prompt
        ) throws -> Asking {
            let prompter = ProcessPrompter(
                program: program, configuration: PromptConfiguration(), userID: geteuid(), sessions: SeatedPerson())
            let asking = try Asking(prompter, question, on: process.caller(terminal.slave))
            terminal.waitFor(field)
            return asking
        }

        private func waitUntilShown(_ asking: Asking) {
            let end = ContinuousClock.now.advanced(by: .seconds(10))
            while !asking.isShown, ContinuousClock.now < end { usleep(1_000) }
            #expect(asking.isShown)
        }

        // MARK: being visible

        @Test func `the daemon is told once when the question is on the terminal, and not before`() throws {
            for prompt in ["/bin/cat", "/bin/true"] {
                let caller = try process.caller(terminal.slave)
                let asking = try Asking(
                    ProcessPrompter(
                        program: prompt, configuration: PromptConfiguration(), userID: geteuid(),
                        sessions: SeatedPerson()),
                    .passcodeOrFinger,
                    on: caller)
                #expect(asking.wait() == .interrupted(.promptEnded))
                #expect(!asking.isShown, "\(prompt) draws nothing")
            }
            let asking = try ask(.passcodeOrFinger, field: "Passcode: ")
            waitUntilShown(asking)
            terminal.type("x\r")
            #expect(asking.wait() == .entered("x", .passcode))
            #expect(asking.shownCount == 1)
        }

        @Test func `a question that has no room is not visible`() throws {
            var size = winsize(ws_row: 10, ws_col: 20, ws_xpixel: 0, ws_ypixel: 0)
            #expect(ioctl(terminal.slave.number, UInt(TIOCSWINSZ), &size) == 0)
            let prompter = ProcessPrompter(
                program: Build.prompt, configuration: PromptConfiguration(), userID: geteuid(), sessions: SeatedPerson()
            )
            let asking = try Asking(prompter, .passcodeOrFinger, on: process.caller(terminal.slave))
            #expect(asking.wait() == .unavailable(.unshowable))
            #expect(!asking.isShown)
        }

        @Test func `a program that says it shows the question and then ends gives no answer`() throws {
            let folder = try TestFolder()
            let program = folder.path("prompt")
            // 013 is 11 in octal: the word that the question is visible.
            try Data("#!/bin/sh\nprintf '\\013' >&5\n".utf8).write(to: URL(fileURLWithPath: program))
            #expect(chmod(program, 0o700) == 0)
            let prompter = ProcessPrompter(
                program: program, configuration: PromptConfiguration(), userID: geteuid(), sessions: SeatedPerson())
            let asking = try Asking(prompter, .passcodeOrFinger, on: process.caller(terminal.slave))
            #expect(asking.wait() == .interrupted(.promptEnded))
        }

        // MARK: ends and updates

        @Test(arguments: [PromptQuestion.passcodeOrFinger, .finger])
        func `a proof ends the question at once, whatever was typed, and the terminal is as before`(
            question: PromptQuestion
        ) throws {
            let asking = try ask(question, field: question.kind == .sensor ? "Waiting: " : "Passcode: ")
            waitUntilShown(asking)
            terminal.type("half")
            asking.live.cancellation.cancel(because: .proved)
            #expect(asking.wait() == .interrupted(.proved))
            #expect(terminal.isAsBefore)
            #expect(runningPrompts().isEmpty)
        }

        @Test func `what the sensor says appears below, and what was typed stays typed`() throws {
            let asking = try ask(.passcodeOrFinger, field: "Passcode: ")
            #expect(terminal.shows("Ostiary asks for your passcode or your finger."))
            #expect(terminal.shows("Finger Touch the sensor."))
            waitUntilShown(asking)
            terminal.type("ab")
            terminal.clearScreen()
            asking.live.update(PromptUpdate(sensor: 0, text: DisplayText("Not recognised. 2 tries left.")))
            terminal.waitFor("  Finger    Not recognised. 2 tries left.")
            terminal.waitFor("Passcode: ")
            terminal.clearScreen()
            for sensor in [1, -1, .max] {
                asking.live.update(PromptUpdate(sensor: sensor, text: DisplayText("of no sensor")))
            }
            terminal.type("c\r")
            #expect(asking.wait() == .entered("abc", .passcode))
            #expect(!terminal.shows("of no sensor"))
            asking.live.update(PromptUpdate(sensor: 0, text: DisplayText("too late")))
            #expect(terminal.staysSilent())
        }

        @Test func `a prompt that does not read holds nobody up`() throws {
            let asking = try ask(.passcodeOrFinger, field: "Passcode: ")
            waitUntilShown(asking)
            for prompt in runningPrompts() { kill(prompt, SIGSTOP) }
            let text = DisplayText(String(repeating: "x", count: DisplayText.maximumScalarCount))
            for _ in 0..<2_000 { asking.live.update(PromptUpdate(sensor: 0, text: text)) }
            asking.live.cancellation.cancel(because: .superseded)
            #expect(asking.wait() == .interrupted(.superseded))
            #expect(terminal.isAsBefore)
        }

        @Test func `nothing can be typed where only a sensor is waited for, and Ctrl-C cancels`() throws {
            let asking = try ask(.finger, field: "Waiting: ")
            #expect(terminal.shows("Ostiary asks for your finger."))
            terminal.clearScreen()
            terminal.type("yes\r\r" + String(repeating: "x", count: 2000) + "\r")
            #expect(terminal.staysSilent())
            #expect(asking.wait(seconds: 0) == .stillAsking)
            terminal.type("\u{3}")
            #expect(asking.wait() == .cancelled)
            #expect(terminal.isAsBefore)
        }

        // MARK: dialogs

        private func dialog(_ question: PromptQuestion) throws -> Asking {
            var configuration = PromptConfiguration()
            configuration.frontEnds = [.pinentry]
            configuration.pinentryPath = "/usr/bin/pinentry-tty"
            let prompter = ProcessPrompter(
                program: Build.prompt, configuration: configuration, userID: geteuid(), sessions: SeatedPerson())
            return try Asking(prompter, question, on: process.caller(terminal.slave))
        }

        @Test func `beside a dialog that does not tell when it is visible no sensor waits`() throws {
            let asking = try dialog(.passcodeOrFinger)
            terminal.waitFor("Passcode:")
            #expect(terminal.shows("Ostiary asks for your passcode."))
            #expect(!terminal.shows("finger") && !terminal.shows("sensor"))
            terminal.type("x\r")
            #expect(asking.wait() == .entered("x", .passcode))
            #expect(!asking.isShown)
        }

        @Test func `a dialog is not asked for a finger`() throws {
            #expect(try dialog(.finger).wait() == .unavailable(.notInteractive))
            #expect(terminal.screen.isEmpty)
        }
    }
}

@Suite struct PromptUpdateTests {
    private let update = PromptUpdate(sensor: 1, text: DisplayText("Move your finger."))
    private var messages: [PromptControl] { [.update(update), .again(.passcode)] }

    @Test func `a message comes out of its bytes as it went in, and is harmless`() throws {
        for message in messages { #expect(try PromptControl(decoding: message.encoded()) == message) }
        let hostile = Data(#"{"update":{"_0":{"sensor":0,"text":"a\u001b[2J\nb"}}}"#.utf8)
        #expect(
            try PromptControl(decoding: hostile)
                == .update(PromptUpdate(sensor: 0, text: DisplayText("a\u{1B}[2J\nb"))))
        guard case .update(let update) = try PromptControl(decoding: hostile) else { return }
        #expect(!update.text.string.unicodeScalars.contains("\u{1B}"))
    }

    @Test func `cut, damaged and overlong bytes are no message`() throws {
        for message in messages {
            let bytes = try message.encoded()
            for count in 0..<bytes.count {
                #expect(throws: PromptRequestError.malformed) { try PromptControl(decoding: bytes.prefix(count)) }
            }
            #expect(throws: PromptRequestError.malformed) { try PromptControl(decoding: bytes + Data("x".utf8)) }
            #expect(throws: PromptRequestError.tooLarge) {
                try PromptControl(decoding: bytes + Data(repeating: 0x20, count: PromptControl.maximumByteCount))
            }
        }
        #expect(throws: PromptRequestError.malformed) { try PromptControl(decoding: Data(#"{"other":{}}"#.utf8)) }
    }

    @Test func `a repetition differs in the last mistake and the sensors' words only`() {
        func question(
            _ kind: PromptKind = .enterPasscode, _ sensors: [PromptSensor] = [], _ object: String = "a",
            _ operation: String = "read", _ reason: String? = nil, _ notice: String? = nil, _ tries: Int? = nil,
            isShownInFull: Bool = false
        ) -> PromptQuestion {
            PromptQuestion(
                kind, sensors: sensors, objects: PromptObjects(DisplayText(object)),
                operation: DisplayText(operation), reason: reason.map { DisplayText($0) },
                notice: notice.map { DisplayText($0) }, triesLeft: tries, isShownInFull: isShownInFull)
        }
        let first = question()
        #expect(question(.enterPasscode, [], "a", "read", nil, "Wrong passcode.", 2).isRepetition(of: first))
        let touched = question(.enterPasscode, [PromptSensor(.finger, DisplayText("x"))])
        #expect(question(.enterPasscode, [PromptSensor(.finger, DisplayText("y"))]).isRepetition(of: touched))
        for other in [
            question(.applicationPassword), question(.newPasscode), touched, question(.enterPasscode, [], "b"),
            question(.enterPasscode, [], "a", "sign"), question(.enterPasscode, [], "a", "read", "why"),
            question(isShownInFull: true),
        ] { #expect(!other.isRepetition(of: first)) }
    }

    @Test func `a request with its question put again names the same program and the same door`() {
        func request(
            _ question: PromptQuestion, program: String = "a", application: String? = "com.a", door: String? = "door",
            label: String? = "client", processID: Int32 = 7, seconds: Int = 60
        ) -> PromptRequest {
            PromptRequest(
                question: question, program: DisplayText(program), application: application.map { DisplayText($0) },
                door: door.map { DisplayText($0) }, clientLabel: label.map { DisplayText($0) }, processID: processID,
                frontEnd: .terminal, timeLimitSeconds: seconds)
        }
        let again = PromptQuestion(
            .enterPasscode, objects: PromptQuestion.passcode.objects, operation: PromptQuestion.passcode.operation,
            reason: PromptQuestion.passcode.reason, notice: DisplayText("Wrong passcode."))
        let first = request(.passcode)
        #expect(first.putting(again) == request(again))
        #expect(request(again).isRepetition(of: first))
        for other in [
            request(again, program: "b"), request(again, application: nil), request(again, door: "other"),
            request(again, door: nil), request(again, label: "other"), request(again, label: nil),
            request(again, processID: 8), request(again, seconds: 61), request(.finger),
        ] { #expect(!other.isRepetition(of: first)) }
    }

    @Test func `updates reach nobody before the question is shown and after it has ended`() throws {
        let live = LiveQuestion(endedBy: try PromptCancellation())
        let count = ShownCount()
        live.update(update)
        live.showingUpdates(with: { _ in count.increment() }) {
            #expect(count.value == 0)
            live.update(update)
            #expect(count.value == 1)
        }
        live.update(update)
        #expect(count.value == 1)
    }
}
