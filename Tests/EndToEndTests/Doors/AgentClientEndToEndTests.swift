import DaemonTestSupport
import Foundation
import Glibc
import Testing

/// Clients of the agent's real socket that a test plays, each on a terminal where a question could appear.
@Suite("Clients of the agent, end to end", .serialized, .timeLimit(.minutes(10)))
struct AgentClientEndToEndTests {
    private static let passcode = PrivateDaemon.passcode
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Clients/agent_client.py").path
    private let stage: AgentStage
    private let here = SessionHost()
    private let there = SessionHost()

    init() throws { stage = try AgentStage() }

    /// Where a key's private half is.
    enum Place: CaseIterable { case enclave, imported }

    /// Makes the only key of the agent; each signature needs the passcode.
    private func makeKey(_ place: Place, _ options: String...) throws -> ListedKey {
        let made: PlayedTerminal
        switch place {
        case .enclave:
            made = try stage.play(
                [BuiltProgram.named("ostiary").path, "ssh", "create", "work", "--require", "passcode"] + options)
        case .imported:
            try stage.makeKey("id", "ecdsa", options: ["-b", "256"])
            made = try stage.play(
                [
                    BuiltProgram.named("ostiary").path, "ssh", "import", stage.daemon.path("id"), "--name", "work",
                    "--require", "passcode",
                ] + options, answers: [Self.passcode])
        }
        #expect(made.status == 0, "\(made.screen)")
        return try #require(stage.publicKeys().first.flatMap(ListedKey.init(line:)))
    }

    /// A client that sent its messages.
    private struct Run {
        let terminal: PlayedTerminal
        /// The first byte of each answer: 5 failure, 6 success, 14 a signature, 28 failure of an extension.
        let answers: [Int]

        var questionCount: Int { terminal.screen.components(separatedBy: "asscode: ").count - 1 }
    }

    /// Runs a client whose person types the passcode wherever it is asked for, unless `answers` says otherwise.
    private func send(
        _ messages: [Data], answers: [String] = [passcode, passcode],
        atFirstPrompt act: ((StandingQuestion) throws -> Void)? = nil
    ) throws -> Run {
        let output = stage.daemon.path("answers-\(UUID().uuidString)")
        let terminal = try stage.play(
            command(output, messages), answers: answers, timeout: 120, atFirstPrompt: act)
        #expect(terminal.status == 0, "\(terminal.screen)\(stage.agentLog)")
        let lines = try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n")
        return Run(terminal: terminal, answers: lines.compactMap { Int($0) })
    }

    private func command(_ output: String, _ messages: [Data], executes: Bool = false) -> [String] {
        let digits = messages.map { message in
            message.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        }
        return ["/usr/bin/python3", "-B", Self.script] + (executes ? ["--execute"] : []) + [stage.socket, output]
            + digits
    }

    // MARK: bindings that lie

    /// A lie about the session, as a client tells it to the agent.
    private struct Lie {
        let name: String
        let messages: [Data]
        let answers: [Int]
        /// What the agent says about it.
        var note = "a binding of its connection to a session was refused"
        /// The cause in the log, where the daemon refuses. For an imported key the agent does.
        var cause: String?
    }

    private func lies(about key: ListedKey) throws -> [Lie] {
        [
            Lie(
                name: "forged", messages: [try here.binding(1, signing: 2), key.login(1, to: here)], answers: [28, 5]),
            Lie(
                name: "second",
                messages: [try here.binding(1), try there.binding(2), key.login(1, to: here)], answers: [6, 28, 5]),
            Lie(
                name: "second, for the same session",
                messages: [try here.binding(1), try here.binding(1), key.login(1, to: here)], answers: [6, 28, 5]),
            // The signature is refused itself: the key signs nothing unknown.
            Lie(
                name: "late",
                messages: [key.request(Data("anything".utf8)), try here.binding(1), key.login(1, to: here)],
                answers: [5, 28, 5]),
            Lie(
                name: "another host's key", messages: [try here.binding(1), key.login(1, to: there)], answers: [6, 5],
                note: "the login names another host", cause: "ssh.other-host-key"),
            Lie(
                name: "forwarded",
                messages: [try there.binding(2, forwarding: true), try here.binding(1), key.login(1, to: here)],
                answers: [6, 6, 5], note: "never used over a forwarded agent", cause: "ssh.forwarded"),
        ]
    }

    @Test(arguments: Place.allCases)
    func `lies about the session are refused, and nobody is asked`(place: Place) throws {
        let key = try makeKey(place, "--no-forwarding")
        for lie in try lies(about: key) {
            let said = stage.agentLog.count
            let run = try send(lie.messages)
            #expect(run.answers == lie.answers, "\(lie.name): \(stage.agentLog)")
            let screen = run.terminal.screen
            #expect(run.questionCount == 0 && !run.terminal.shows("Ostiary asks"), "\(lie.name): \(screen)")
            if place == .enclave, let cause = lie.cause {
                let isLogged = try stage.logs { record in
                    record["event"] as? String == "ssh-sign" && record["result"] as? String == "refused"
                        && record["reason"] as? String == cause
                }
                #expect(isLogged, "\(lie.name)")
            } else {
                #expect(stage.agentLog.dropFirst(said).contains(lie.note), "\(lie.name): \(stage.agentLog)")
            }
        }
        // The same client is asked when it tells the truth.
        let honest = try send([try here.binding(1), key.login(1, to: here)])
        #expect(honest.answers == [6, 14] && honest.questionCount == 1, "\(honest.terminal.screen)\(stage.agentLog)")
    }

    @Test(arguments: Place.allCases)
    func `a binding that comes after a granted signature is refused, and nobody is asked again`(place: Place) throws {
        let key = try makeKey(place)
        let run = try send([key.login(1, to: here), try here.binding(1), key.login(1, to: here)])
        #expect(run.answers == [14, 28, 5] && run.questionCount == 1, "\(run.terminal.screen)\(stage.agentLog)")
    }

    @Test func `a user's name that reads like a part of the question is refused, and nobody is asked`() throws {
        let key = try makeKey(.imported)
        let user = "me” to the host github.com, with the key “login"
        let run = try send([try here.binding(1), key.login(1, to: here, user: user)])
        #expect(run.answers == [6, 5] && run.questionCount == 0, "\(run.terminal.screen)")
        #expect(stage.agentLog.contains("the user of the login is no short plain name"), "\(stage.agentLog)")
    }

    // MARK: several clients

    @Test func `two terminals at once have a question each`() throws {
        let key = try makeKey(.enclave)
        var other: Run?
        let one = try send([try here.binding(1), key.login(1, to: here)]) { question in
            other = try send([try there.binding(2), key.login(2, to: there)])
            #expect(question.isShown, "the first one stands until it is answered itself")
        }
        let second = try #require(other)
        for (run, own, foreign) in [(one, here, there), (second, there, here)] {
            #expect(run.answers == [6, 14] && run.questionCount == 1, "\(run.terminal.screen)\(stage.agentLog)")
            #expect(try run.terminal.shows(own.fingerprint) && !run.terminal.shows(foreign.fingerprint))
        }
    }

    /// Takes the numbers of terminals that were closed: a pause counts for the number of its terminal, too.
    private func takeTerminals() -> [FileHandle] {
        (0..<16).map { _ in
            FileHandle(fileDescriptor: open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), closeOnDealloc: true)
        }
    }

    @Test func `a client that cancels three times has to wait, and another one is asked at once`() throws {
        let key = try makeKey(.enclave)
        let login = [try here.binding(1), key.login(1, to: here)]
        for _ in 1...3 {
            let cancelled = try send(login, answers: ["\u{3}"])
            #expect(cancelled.answers == [6, 5] && cancelled.questionCount == 1, "\(cancelled.terminal.screen)")
        }
        let paused = try send(login)
        #expect(paused.answers == [6, 5] && paused.questionCount == 0, "\(paused.terminal.screen)")
        let isLogged = try stage.logs { record in
            record["event"] as? String == "ssh-sign" && record["reason"] as? String == "prompt.cooldown"
        }
        #expect(isLogged)

        let terminals = takeTerminals()
        try stage.write("work.pub", try #require(stage.publicKeys().first) + "\n")
        try stage.write("text", "a text\n")
        let other = try stage.play(
            [
                "/usr/bin/ssh-keygen", "-Y", "sign", "-n", "file", "-f", stage.daemon.path("work.pub"),
                stage.daemon.path("text"),
            ], answers: [Self.passcode])
        #expect(other.status == 0 && other.shows("asscode"), "\(other.screen)\(stage.agentLog)")
        withExtendedLifetime(terminals) {}
    }

    // MARK: another program

    @Test(arguments: Place.allCases)
    func `a client that executes another program before the release gets no signature`(place: Place) throws {
        let key = try makeKey(place)
        let output = stage.daemon.path("answer")
        let messages = [try here.binding(1), key.login(1, to: here)]
        let run = try stage.play(
            command(output, messages, executes: true), answers: [Self.passcode], timeout: 120
        ) { question in
            let client = try stage.text("client.pid")
            func program() throws -> String {
                try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(client)/exe")
            }
            let former = try program()
            try stage.write("go", "")
            for _ in 0..<3_000 {
                guard try program() == former else { break }
                usleep(10_000)
            }
            #expect(try program() != former)
            #expect(question.isShown, "it is answered afterwards")
        }
        #expect(run.status == 0 && run.shows("asscode"), "\(run.screen)\(stage.agentLog)")
        // SSH_AGENT_FAILURE, as the other program got it.
        #expect(try Data(contentsOf: URL(fileURLWithPath: output)) == Data([0, 0, 0, 1, 5]))
        let isLogged = try stage.logs { record in
            record["result"] as? String == "refused" && record["reason"] as? String == "client.changed"
        }
        #expect(isLogged)
        #expect(
            try !stage.log().contains { record in
                record["event"] as? String == "ssh-sign" && record["result"] as? String == "granted"
            })
    }
}
