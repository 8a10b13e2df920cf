import ExactNames
import Glibc
import Prompting
import PromptProtocol
import Settings
import TerminalTestSupport
import Testing

extension RealPromptTests {
    /// Real prompts on several pseudo-terminals, behind one queue.
    @Suite struct PromptPlaceTests {
        private struct Seat {
            let terminal: PseudoTerminal
            let process: CallerProcess

            init() throws {
                terminal = try PseudoTerminal()
                process = try CallerProcess(on: terminal)
            }

            func ask(_ queue: PromptQueue, as program: ExactName) throws -> Asking {
                try Asking(queue, .passcode, on: process.caller(terminal.slave, program: program))
            }

            func waitForQuestion(of program: String) {
                terminal.waitFor("Program   \(program)")
                terminal.waitFor("Passcode: ")
            }
        }

        private let first: Seat
        private let second: Seat

        init() throws { (first, second) = (try Seat(), try Seat()) }

        private func queue(seconds: Int = 60) -> PromptQueue {
            var configuration = PromptConfiguration()
            configuration.timeLimitSeconds = seconds
            return PromptQueue(ProcessPrompter(program: Build.prompt, configuration: configuration, userID: geteuid()))
        }

        private func waitUntilWaiting(_ queue: PromptQueue, _ count: Int) throws {
            try eventually("\(count) questions wait") { queue.waitingCount == count }
        }

        @Test func `a program that is silent on one terminal does not delay a program on another`() throws {
            let queue = queue()
            let silent = try first.ask(queue, as: "/usr/bin/silent")
            first.waitForQuestion(of: "/usr/bin/silent")
            let other = try second.ask(queue, as: "/usr/bin/other")
            second.waitForQuestion(of: "/usr/bin/other")
            second.terminal.type("passcode\r")
            #expect(other.wait() == .entered("passcode", .passcode))
            #expect(silent.wait(seconds: 0) == .stillAsking)
            first.terminal.type("mine\r")
            #expect(silent.wait() == .entered("mine", .passcode))
        }

        @Test func `a program's second question waits behind the other program's on that terminal`() throws {
            let queue = queue()
            let one = try first.ask(queue, as: "/usr/bin/a")
            first.waitForQuestion(of: "/usr/bin/a")
            let two = try first.ask(queue, as: "/usr/bin/a")
            try waitUntilWaiting(queue, 1)
            let other = try first.ask(queue, as: "/usr/bin/b")
            try waitUntilWaiting(queue, 2)
            for (asking, program) in [(one, "/usr/bin/a"), (other, "/usr/bin/b"), (two, "/usr/bin/a")] {
                first.waitForQuestion(of: program)
                first.terminal.clearScreen()
                first.terminal.type("\(program)\r")
                #expect(asking.wait() == .entered(program, .passcode))
            }
        }

        @Test func `a program that leaves three questions unanswered pauses, another program is asked for`() throws {
            let queue = queue(seconds: 1)
            for _ in 1...3 {
                #expect(try first.ask(queue, as: "/usr/bin/silent").wait() == .timedOut)
            }
            guard
                case .unavailable(.coolingDown(let remaining)) = try second.ask(queue, as: "/usr/bin/silent").wait()
            else { Issue.record("it was asked"); return }
            #expect((.seconds(20)...Duration.seconds(30)).contains(remaining))
            #expect(second.terminal.staysSilent())
            let other = try second.ask(queue, as: "/usr/bin/other")
            second.waitForQuestion(of: "/usr/bin/other")
            second.terminal.type("\u{3}")
            #expect(other.wait() == .cancelled)
        }

        @Test func `a question that must name all its objects is not asked when it cannot`() throws {
            let names = (0...PromptObjects.maximumNameCount).map { (fact: "\($0)", label: DisplayText("")) }
            for (count, isAsked) in [(names.count, false), (names.count - 1, true)] {
                let question = PromptQuestion(
                    .enterPasscode, objects: PromptObjects(Array(names.prefix(count)), noun: .item),
                    operation: DisplayText("read"), isShownInFull: true)
                let caller = try first.process.caller(first.terminal.slave)
                let asking = try Asking(queue(), question, on: caller)
                if isAsked {
                    first.terminal.waitFor("Passcode: ")
                    first.terminal.type("\u{3}")
                }
                #expect(asking.wait() == (isAsked ? .cancelled : .unavailable(.unshowable)))
            }
        }
    }
}
