import Foundation
import Glibc
import Passkeys
import SecurityKeyTestSupport
import TerminalTestSupport
import Testing

/// `ostiary security-key` on a terminal, with a daemon, prompts and helpers as processes.
@Suite("security-key, as a command", .timeLimit(.minutes(10))) struct CommandTests {
    private let stage: SecurityKeyCommandStage

    init() throws {
        stage = try SecurityKeyCommandStage()
        try stage.setPasscode()
    }

    // MARK: a key's life

    @Test func `a key is enrolled with its PIN, listed, opens a right, and is removed`() throws {
        let key = try stage.key(KeyMemory(pin: SecurityKeyCommandStage.pin))
        let enrolled = try stage.play(
            "security-key", "enroll", "blue",
            answers: [SecurityKeyCommandStage.passcodeAnswer, SecurityKeyCommandStage.pinAnswer])
        try #require(enrolled.ending == .exited(0), "\(enrolled.run.everything)")
        for text in [
            "To  enrol a security key, which then proves that it is you",
            "Ostiary asks for the PIN of your security key, not for your passcode.",
            "The PIN is for the security key “key”.", "8 tries left.",
            "Enrolled the security key blue. Its proofs are key-bound.", "It is the only one. Enrol a second one",
        ] { #expect(enrolled.run.showed(text), "\(text) in \(enrolled.run.everything)") }
        for secret in [SecurityKeyCommandStage.pin, SecurityKeyCommandStage.passcode] {
            #expect(!enrolled.run.showed(secret))
        }

        let listed = try stage.play("security-key", "list", output: "list")
        #expect(listed.ending == .exited(0))
        let rows = try stage.text(of: "list").split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(rows.count == 2 && rows[0] == ["NAME", "PROOF", "ENROLLED", "ID"], "\(rows)")
        #expect(rows.last?.prefix(2) == ["blue", "key-bound"] && rows.last?.last?.count == 32)
        #expect(try stage.play("security-key", "list", "--json", output: "list.json").ending == .exited(0))
        let document = try KeyList(stage.text(of: "list.json")).securityKeys
        #expect(document.map(\.name) == ["blue"] && document.map(\.strength) == ["key-bound"])
        #expect(document.first?.id == rows.last?.last)
        // The model is "Ostiary test key" in ASCII.
        #expect(document.map { $0.model.lowercased() } == ["4f737469-6172-7920-7465-7374206b6579"])
        #expect(document.allSatisfy { $0.enrolledAt.hasSuffix("Z") })

        try stage.createRight()
        let read = try stage.play(
            "right", "secret", "vault", "--output", stage.path("again"), answers: [SecurityKeyCommandStage.pinAnswer])
        #expect(read.ending == .exited(0), "\(read.run.everything)")
        #expect(try stage.text(of: "again") == "the secret of the tests")

        let removed = try stage.play(
            "security-key", "remove", "blue", answers: [SecurityKeyCommandStage.passcodeAnswer])
        #expect(removed.ending == .exited(0), "\(removed.run.everything)")
        #expect(removed.run.showed("Objects that only a security key opens can never be opened again."))
        #expect(removed.run.showed("Removed the security key blue."))
        let none = try stage.play("right", "secret", "vault", "--output", stage.path("none"))
        #expect(none.ending == .exited(1) && none.run.showed("No security key is enrolled."))
        #expect(!FileManager.default.fileExists(atPath: stage.path("none")))
        let empty = try stage.play("security-key", "list")
        #expect(empty.ending == .exited(0) && empty.run.showed("No security key is enrolled."))
        withExtendedLifetime(key) {}
    }

    @Test func `a key without a PIN is enrolled by touch, and JSON says so`() throws {
        let key = try SoftwareKey(in: stage.ports, FIDO2Engine(TestFinger(), hasPIN: false))
        let enrolled = try stage.play(
            "security-key", "enroll", "green", "--json", answers: [SecurityKeyCommandStage.passcodeAnswer],
            output: "key.json")
        #expect(enrolled.ending == .exited(0), "\(enrolled.run.everything)")
        let document = try JSONDecoder().decode(KeyList.Key.self, from: Data(stage.text(of: "key.json").utf8))
        #expect(document.name == "green" && document.strength == "touch-only" && document.id.count == 32)
        #expect(try stage.names() == ["green"])
        let removed = try stage.play(
            "security-key", "remove", "--id", document.id, answers: [SecurityKeyCommandStage.passcodeAnswer])
        #expect(removed.ending == .exited(0), "\(removed.run.everything)")
        #expect(try stage.names().isEmpty)
        withExtendedLifetime(key) {}
    }

    // MARK: PINs

    @Test func `a wrong PIN is told with the tries left, and costs one`() throws {
        let memory = KeyMemory(pin: SecurityKeyCommandStage.pin)
        let key = try stage.key(memory)
        try stage.enroll()
        try stage.createRight()
        let run = try stage.begin(["right", "secret", "vault", "--output", stage.path("again")])
        run.answer(SecurityKeyCommandStage.pinField, with: "not this one")
        try run.waitFor("Wrong PIN. 7 tries left.")
        run.answer(SecurityKeyCommandStage.pinField, with: SecurityKeyCommandStage.pin)
        #expect(run.wait() == .exited(0), "\(run.everything)")
        #expect(try stage.text(of: "again") == "the secret of the tests")
        // The right one resets them.
        #expect(memory.pinTriesLeft() == 8)
        withExtendedLifetime(key) {}
    }

    @Test func `three wrong PINs open nothing and block the key until it is plugged in again`() throws {
        let memory = KeyMemory(pin: SecurityKeyCommandStage.pin)
        let key = try stage.key(memory)
        try stage.enroll()
        try stage.createRight()
        let wrong = ["wrong one 1", "wrong one 2", "wrong one 3"].map { (SecurityKeyCommandStage.pinField, $0) }
        let refused = try stage.play("right", "secret", "vault", "--output", stage.path("none"), answers: wrong)
        #expect(refused.ending == .exited(1), "\(refused.run.everything)")
        #expect(refused.run.showed("The security key accepts no more tries now. Unplug it, plug it in and try again."))
        #expect(memory.pinTriesLeft() == 5)
        #expect(!FileManager.default.fileExists(atPath: stage.path("none")))
        key.unplug()
        let again = try stage.key(memory, named: "again")
        let read = try stage.play(
            "right", "secret", "vault", "--output", stage.path("again"), answers: [SecurityKeyCommandStage.pinAnswer])
        #expect(read.ending == .exited(0), "\(read.run.everything)")
        withExtendedLifetime(again) {}
    }

    @Test func `the last try is left unless the person types yes`() throws {
        let memory = KeyMemory(pin: SecurityKeyCommandStage.pin)
        let key = try stage.key(memory)
        try stage.enroll()
        try stage.createRight()
        memory.setPINTriesLeft(1)
        let confirmation = "\r\nType yes to go on: "
        let left = try stage.play("right", "secret", "vault", answers: [(confirmation, "no")])
        #expect(left.ending == .exited(1), "\(left.run.everything)")
        #expect(left.run.showed("One try of the PIN is left for the security key “key”."))
        #expect(memory.pinTriesLeft() == 1)
        let insisted = try stage.play(
            "right", "secret", "vault", "--output", stage.path("again"),
            answers: [(confirmation, "yes"), SecurityKeyCommandStage.pinAnswer])
        #expect(insisted.ending == .exited(0), "\(insisted.run.everything)")
        withExtendedLifetime(key) {}
    }

    @Test func `a key gets its first PIN, and another one for the right present one`() throws {
        let memory = KeyMemory()
        let key = try stage.key(memory)
        let new = { (pin: String) in
            [("\r\nNew PIN of the security key: ", pin), ("\r\nRepeat the new PIN: ", pin)]
        }
        let first = try stage.play("security-key", "pin", answers: new("first-pin-1"))
        #expect(first.ending == .exited(0), "\(first.run.everything)")
        #expect(first.run.showed("The security key has its new PIN.") && !first.run.showed("first-pin-1"))
        #expect(memory.pinHash() == KeyMemory(pin: "first-pin-1").pinHash())

        let present = (SecurityKeyCommandStage.pinField, "first-pin-1")
        let changed = try stage.play("security-key", "pin", answers: [present] + new("second-pin-2"))
        #expect(changed.ending == .exited(0), "\(changed.run.everything)")
        #expect(memory.pinHash() == KeyMemory(pin: "second-pin-2").pinHash())

        let run = try stage.begin(["security-key", "pin"])
        for (field, text) in [present] + new("third-pin-3") { run.answer(field, with: text) }
        try run.waitFor("Wrong PIN. 7 tries left.")
        run.cancel()
        #expect(run.wait() == .exited(3), "\(run.everything)")
        #expect(memory.pinHash() == KeyMemory(pin: "second-pin-2").pinHash())
        withExtendedLifetime(key) {}
    }

    // MARK: refusals

    @Test func `this machine's own authenticator is refused`() throws {
        let key = try stage.key(
            KeyMemory(pin: SecurityKeyCommandStage.pin), identifier: PlatformAuthenticator.modelIdentifier)
        let refused = try stage.play("security-key", "enroll", "own", answers: [SecurityKeyCommandStage.passcodeAnswer])
        #expect(refused.ending == .exited(1), "\(refused.run.everything)")
        #expect(refused.run.showed("it lacks a place of its own, because it is this machine"))
        #expect(try stage.names().isEmpty)
        withExtendedLifetime(key) {}
    }

    @Test func `a key that is enrolled already is not enrolled again`() throws {
        let key = try stage.key(KeyMemory(pin: SecurityKeyCommandStage.pin))
        try stage.enroll()
        let run = try stage.begin(["security-key", "enroll", "green"])
        run.answer(SecurityKeyCommandStage.passcodeField, with: SecurityKeyCommandStage.passcode)
        try run.waitFor("use an enrolled security key, to enrol another")
        run.answer(SecurityKeyCommandStage.pinField, with: SecurityKeyCommandStage.pin)
        try run.waitFor("enrol the new security key; touch it twice")
        run.answer(SecurityKeyCommandStage.pinField, with: SecurityKeyCommandStage.pin)
        #expect(run.wait() == .exited(1), "\(run.everything)")
        #expect(run.showed("This security key is enrolled already."))
        #expect(try stage.names() == ["blue"])
        let taken = try stage.play("security-key", "enroll", "blue")
        #expect(taken.ending == .exited(1) && taken.run.showed("Another security key has this name."))
        withExtendedLifetime(key) {}
    }

    @Test func `enrolling ends with Ctrl-C at each question`() throws {
        let finger = TestFinger(touches: 0)
        let key = try stage.key(KeyMemory(pin: SecurityKeyCommandStage.pin), finger)
        let steps: [(answers: [(String, String)], shown: String)] = [
            ([], "Passcode:"), ([SecurityKeyCommandStage.passcodeAnswer], "PIN of the security key:"),
            (
                [SecurityKeyCommandStage.passcodeAnswer, SecurityKeyCommandStage.pinAnswer],
                "Touch the security key “key”."
            ),
        ]
        for step in steps {
            let run = try stage.begin(["security-key", "enroll", "blue"])
            for (field, text) in step.answers { run.answer(field, with: text) }
            try run.waitFor(step.shown)
            run.cancel()
            #expect(run.wait() == .exited(3), "\(run.everything)")
            #expect(run.terminal.echoes)
        }
        #expect(try stage.names().isEmpty)
        withExtendedLifetime(key) {}
    }

    @Test func `a key that is unplugged between PIN and touch is not enrolled`() throws {
        let key = try stage.key(KeyMemory(pin: SecurityKeyCommandStage.pin), TestFinger(touches: 0))
        let run = try stage.begin(["security-key", "enroll", "blue"])
        run.answer(SecurityKeyCommandStage.passcodeField, with: SecurityKeyCommandStage.passcode)
        run.answer(SecurityKeyCommandStage.pinField, with: SecurityKeyCommandStage.pin)
        try run.waitFor("Touch the security key “key”.")
        key.unplug()
        #expect(run.wait() == .exited(1), "\(run.everything)")
        #expect(run.showed("The security key was unplugged. Plug it in and try again."))
        #expect(try stage.names().isEmpty)
    }

    @Test func `without a key the question says so, and ends after the time`() throws {
        let impatient = try SecurityKeyCommandStage(seconds: 2)
        try impatient.setPasscode()
        let run = try impatient.begin(["security-key", "enroll", "blue"])
        run.answer(SecurityKeyCommandStage.passcodeField, with: SecurityKeyCommandStage.passcode)
        try run.waitFor("Insert your security key.")
        #expect(run.wait() == .exited(3), "\(run.everything)")
        #expect(run.showed("Nobody touched a security key in time."))
        let pin = try impatient.play("security-key", "pin")
        #expect(pin.ending == .exited(3), "\(pin.run.everything)")
        #expect(try impatient.names().isEmpty)
    }

    @Test func `a stranger's key and a wrong passcode change nothing`() throws {
        let key = try stage.key(KeyMemory(pin: SecurityKeyCommandStage.pin))
        try stage.enroll()
        try stage.createRight()
        let wrong = ["wrong one 1", "wrong one 2", "wrong one 3"].map { (SecurityKeyCommandStage.passcodeField, $0) }
        let removed = try stage.play("security-key", "remove", "blue", answers: wrong)
        #expect(removed.ending == .exited(3), "\(removed.run.everything)")
        key.unplug()
        let stranger = try stage.key(KeyMemory(pin: SecurityKeyCommandStage.pin), named: "stranger")
        let refused = try stage.play(
            "right", "secret", "vault", "--output", stage.path("none"), answers: [SecurityKeyCommandStage.pinAnswer])
        #expect(refused.ending == .exited(3), "\(refused.run.everything)")
        #expect(refused.run.showed("The security key is not enrolled here. Use an enrolled one."))
        #expect(!FileManager.default.fileExists(atPath: stage.path("none")))
        #expect(try stage.names() == ["blue"])
        withExtendedLifetime(stranger) {}
    }

    @Test func `without a terminal nobody is asked`() throws {
        let key = try stage.key(KeyMemory(pin: SecurityKeyCommandStage.pin))
        #expect(try stage.alone("security-key", "enroll", "blue").ending == .exited(3))
        #expect(try stage.alone("security-key", "pin").ending == .exited(3))
        #expect(try stage.names().isEmpty)
        withExtendedLifetime(key) {}
    }

    @Test(arguments: [
        ["enroll"], ["enroll", ""], ["enroll", String(repeating: "k", count: 65)], ["remove"],
        ["remove", "blue", "--id", "00112233445566778899aabbccddeeff"], ["remove", "--id", "xyz"], ["pin", "1234"],
    ])
    func `wrong usage is refused before anybody is asked`(arguments: [String]) throws {
        let run = try stage.begin(["security-key"] + arguments)
        #expect(run.wait() == .exited(2), "\(run.everything)")
        #expect(!run.showed("Passcode:"))
    }

    @Test func `a key that is not enrolled cannot be removed`() throws {
        let unknown = try stage.play("security-key", "remove", "blue")
        #expect(unknown.ending == .exited(1) && unknown.run.showed("There is no such security key."))
    }

    // MARK: Apple's calls

    @Test func `two programs see different digests of the enrolled keys, which end with the keys`() throws {
        let program = Build.program("right-scenarios")
        let other = stage.path("other-program")
        try FileManager.default.copyItem(atPath: program, toPath: other)
        let nothing = ["companions: none", "watches: none", "everything: none"]
        #expect(try stage.scenario("domain-state", of: program) == nothing)
        let key = try stage.key(KeyMemory(pin: SecurityKeyCommandStage.pin))
        try stage.enroll()
        let lines = try stage.scenario("domain-state", of: program)
        #expect(lines.allSatisfy { $0.split(separator: " ").last?.count == 64 }, "\(lines)")
        #expect(try stage.scenario("domain-state", of: program) == lines)
        let others = try stage.scenario("domain-state", of: other)
        #expect(others.count == 3 && Set(others).isDisjoint(with: lines))
        let removed = try stage.play(
            "security-key", "remove", "blue", answers: [SecurityKeyCommandStage.passcodeAnswer])
        #expect(removed.ending == .exited(0))
        #expect(try stage.scenario("domain-state", of: program) == nothing)
        try stage.enroll()
        let again = try stage.scenario("domain-state", of: program)
        #expect(again.count == 3 && Set(again).isDisjoint(with: lines), "a second enrolment is another one")
        withExtendedLifetime(key) {}
    }
}
