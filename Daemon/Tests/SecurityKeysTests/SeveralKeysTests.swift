import AuthenticatorRequests
import Cancellations
import Foundation
import Glibc
import SecurityKeyTestSupport
import TerminalTestSupport
import Testing

@testable import SecurityKeys

/// Keys that come, go, and compete; cancels and time-outs.
@Suite(.timeLimit(.minutes(10))) struct SeveralKeysTests {
    let fixture: KeyFixture

    init() throws { fixture = try KeyFixture() }

    @Test func `the key that is touched first does it, and the other is cancelled`() throws {
        let (left, right) = (TestFinger(touches: 0), TestFinger(touches: 0))
        let (leftEngine, rightEngine) = (FIDO2Engine(left), FIDO2Engine(right))
        let leftKey = try fixture.plugIn(leftEngine, named: "left")
        let rightKey = try fixture.plugIn(rightEngine, named: "right")
        let question = ScriptedQuestion(onStep: { step in
            guard step == .touch(device: nil) else { return }
            Thread.detachNewThread {
                while left.waitCount == 0 || right.waitCount == 0 { usleep(5_000) }
                right.touch()
            }
        })
        _ = try fixture.create(KeyFixture.creation(), question)
        #expect(rightEngine.memory.count == 1)
        #expect(leftEngine.memory.count == 0)
        #expect(leftKey.cancelCount > 0)
        #expect(rightKey.cancelCount == 0)
        #expect(runningPrompts(named: "ostiary-fido").isEmpty)
    }

    @Test func `of several keys with a PIN, the touched one is asked for its PIN`() throws {
        let (left, right) = (TestFinger(touches: 0), TestFinger())
        let memory = KeyMemory(pin: "5678")
        let leftKey = try fixture.plugIn(FIDO2Engine(left, memory: KeyMemory(pin: "1234")), named: "left")
        let rightKey = try fixture.plugIn(FIDO2Engine(right, memory: memory), named: "right")
        let question = ScriptedQuestion(pins: ["5678"])
        _ = try fixture.create(KeyFixture.creation { $0.userVerification = .required }, question)
        #expect(memory.count == 1)
        #expect(question.pinRequests.count == 1)
        withExtendedLifetime((leftKey, rightKey)) {}
    }

    @Test func `of two keys the one with the credential signs`() throws {
        let (leftEngine, rightEngine) = (FIDO2Engine(TestFinger(touches: 0)), FIDO2Engine(TestFinger()))
        let rightKey = try fixture.plugIn(rightEngine, named: "right")
        let created = try fixture.create()
        let leftKey = try fixture.plugIn(leftEngine, named: "left")
        let asserted = try fixture.assert(KeyFixture.assertion(allowing: [created.credentialIdentifier]))
        #expect(verifies(asserted, with: rightEngine.memory.publicKey(of: created.credentialIdentifier)))
        withExtendedLifetime((leftKey, rightKey)) {}
    }

    @Test func `a key that is plugged in meanwhile takes part`() throws {
        let fixture = fixture
        let engine = FIDO2Engine(TestFinger())
        let plugged = Plugged()
        let question = ScriptedQuestion(onStep: { step in
            if step == .insert { plugged.set(try? fixture.plugIn(engine)) }
        })
        _ = try fixture.create(KeyFixture.creation(), question)
        #expect(question.steps.first == .insert)
        #expect(engine.memory.count == 1)
    }

    @Test func `a key that is unplugged while it waits leaves the question`() throws {
        let fixture = fixture
        let plugged = Plugged()
        plugged.set(try fixture.plugIn(FIDO2Engine(TestFinger(touches: 0))))
        let second = FIDO2Engine(TestFinger())
        let question = ScriptedQuestion(onStep: { step in
            switch step {
            case .touch: if !plugged.wasUnplugged { plugged.get()?.unplug() }
            case .insert: if plugged.wasUnplugged { plugged.set(try? fixture.plugIn(second)) }
            default: break
            }
        })
        _ = try fixture.create(KeyFixture.creation(), question)
        #expect(second.memory.count == 1)
    }

    @Test func `a key that is unplugged between PIN and touch ends it`() throws {
        let memory = KeyMemory(pin: "1234")
        let finger = TestFinger(touches: 0)
        let key = try fixture.plugIn(FIDO2Engine(finger, memory: memory))
        let question = ScriptedQuestion(
            pins: ["1234"],
            onPIN: {
                Thread.detachNewThread {
                    while finger.waitCount == 0 { usleep(5_000) }
                    key.unplug()
                }
            })
        #expect(throws: CredentialRefusal.removed) {
            try fixture.create(KeyFixture.creation { $0.userVerification = .required }, question)
        }
        #expect(memory.count == 0)
    }

    // MARK: ends

    @Test func `a cancel while no key is there ends it`() throws {
        let cancellation = fixture.cancellation
        let question = ScriptedQuestion(onStep: { if $0 == .insert { cancellation.cancel() } })
        #expect(throws: CredentialRefusal.cancelled) { try fixture.create(KeyFixture.creation(), question) }
    }

    @Test func `a cancel while a touch is awaited ends it, and the key stops blinking`() throws {
        let finger = TestFinger(touches: 0)
        let key = try fixture.plugIn(FIDO2Engine(finger))
        let cancellation = fixture.cancellation
        let question = ScriptedQuestion(onStep: { step in
            guard case .touch = step else { return }
            Thread.detachNewThread {
                while finger.waitCount == 0 { usleep(5_000) }
                cancellation.cancel()
            }
        })
        #expect(throws: CredentialRefusal.cancelled) { try fixture.create(KeyFixture.creation(), question) }
        #expect(key.cancelCount > 0)
        #expect(runningPrompts(named: "ostiary-fido").isEmpty)
    }

    @Test func `what was cancelled before begins nothing`() throws {
        let key = try fixture.plugIn(FIDO2Engine(TestFinger()))
        fixture.cancellation.cancel()
        #expect(throws: CredentialRefusal.cancelled) { try fixture.create() }
        #expect(key.requests.isEmpty)
    }

    @Test func `without a touch the time runs out`() throws {
        let key = try fixture.plugIn(FIDO2Engine(TestFinger(touches: 0)))
        #expect(throws: CredentialRefusal.timedOut) {
            try fixture.create(KeyFixture.creation(), ScriptedQuestion(), within: .seconds(2))
        }
        #expect(key.cancelCount > 0)
    }

    @Test func `without the helper nothing begins`() throws {
        let key = try fixture.plugIn(FIDO2Engine(TestFinger()))
        let refusal = #expect(throws: CredentialRefusal.self) {
            try fixture.keys(program: "/nonexistent/ostiary-fido")
                .create(KeyFixture.creation(), with: ScriptedQuestion(), until: fixture.cancellation)
        }
        guard case .helperFailed? = refusal else { throw Unexpected() }
        withExtendedLifetime(key) {}
    }

    @Test func `a helper that is killed after the PIN is a failure`() throws {
        let finger = TestFinger(touches: 0)
        let memory = KeyMemory(pin: "1234")
        let key = try fixture.plugIn(FIDO2Engine(finger, memory: memory))
        let question = ScriptedQuestion(
            pins: ["1234"],
            onPIN: {
                Thread.detachNewThread {
                    while finger.waitCount == 0 { usleep(5_000) }
                    for helper in runningPrompts(named: "ostiary-fido") { kill(helper, SIGKILL) }
                }
            })
        #expect(throws: CredentialRefusal.helperFailed(reason: "the helper ended")) {
            try fixture.create(KeyFixture.creation { $0.userVerification = .required }, question)
        }
        #expect(memory.count == 0)
        withExtendedLifetime(key) {}
    }

    struct Unexpected: Error {}
}

/// A key that a closure plugs in.
final class Plugged: @unchecked Sendable {
    // SAFETY: the closures of a question run on the test's thread.
    private var key: SoftwareKey?
    private(set) var wasUnplugged = false

    func set(_ key: SoftwareKey?) { self.key = key }

    func get() -> SoftwareKey? {
        wasUnplugged = true
        return key
    }
}
