import AuthenticatorRequests
import CTAP
import Foundation
import Glibc
import HelperProcesses
import SecurityKeyTestSupport
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing

@testable import SecurityKeys

/// Keys that lie, break the protocol, or say nothing.
@Suite(.timeLimit(.minutes(10))) struct HostileKeyTests {
    let fixture: KeyFixture

    init() throws { fixture = try KeyFixture() }

    private static let makeCredential: UInt8 = 0x01

    /// Changes the answer to one command of CTAP 2.
    private static func changing(
        _ command: UInt8, _ change: @escaping @Sendable ([UInt8]) -> [UInt8]?
    ) -> SoftwareKey.Fault {
        { _, request, answer in request.first == command ? change(answer) : answer }
    }

    @Test(arguments: [0, 1, 2, 3, 40, 100, -1])
    func `an answer that is cut off makes no credential`(_ count: Int) throws {
        let key = try fixture.plugIn(
            FIDO2Engine(TestFinger()),
            fault: Self.changing(Self.makeCredential) { count < 0 ? $0.dropLast() : Array($0.prefix(count)) })
        #expect(throws: CredentialRefusal.malformedAnswer) { try fixture.create() }
        withExtendedLifetime(key) {}
    }

    static let garbage: [[UInt8]] = [
        [0x00, 0xFF], [0x00, 0xA0], [0x00, 0x80], [0x00, 0xBF, 0xFF], [0x00] + [UInt8](repeating: 0x81, count: 3000),
        [0x00, 0xA1, 0x02, 0x5B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
        [0x00, 0xA2, 0x01, 0x64, 0x6E, 0x6F, 0x6E, 0x65, 0x01, 0x64, 0x6E, 0x6F, 0x6E, 0x65],
        [0x00] + [UInt8](repeating: 0, count: 7000),
    ]

    @Test(arguments: garbage) func `garbage makes no credential`(_ answer: [UInt8]) throws {
        let key = try fixture.plugIn(
            FIDO2Engine(TestFinger()), fault: Self.changing(Self.makeCredential) { _ in answer })
        #expect(throws: CredentialRefusal.malformedAnswer) { try fixture.create() }
        withExtendedLifetime(key) {}
    }

    @Test func `a key that says nothing disturbs no other`() throws {
        let silent = try fixture.plugIn(FIDO2Engine(TestFinger()), named: "a", fault: { _, _, _ in nil })
        let engine = FIDO2Engine(TestFinger())
        let key = try fixture.plugIn(engine, named: "b")
        // The person waits until the silent one is given up.
        _ = try fixture.create()
        #expect(engine.memory.count == 1)
        withExtendedLifetime((silent, key)) {}
    }

    @Test func `a key that says nothing once it was opened is left out`() throws {
        // libfido2 asks once while it opens the key, and the helper once more.
        let answered = Mutex(0)
        let silent = try fixture.plugIn(
            FIDO2Engine(TestFinger()), named: "a",
            fault: { _, request, answer in
                let number = answered.withLock { number in
                    number += 1
                    return number
                }
                return request.first == 0x04 && number <= 2 ? answer : nil
            })
        let engine = FIDO2Engine(TestFinger())
        let key = try fixture.plugIn(engine, named: "b")
        _ = try fixture.create(KeyFixture.creation(), ScriptedQuestion(), within: .seconds(40))
        #expect(engine.memory.count == 1)
        #expect(silent.requests.count == 3)
        withExtendedLifetime((silent, key)) {}
    }

    /// A helper's start may take as long as a key has for its description.
    @Test func `a key that answered in time takes part, though another key's start took longer`() throws {
        let engine = FIDO2Engine(TestFinger())
        let key = try fixture.plugIn(engine, named: "a")
        let late = try fixture.plugIn(FIDO2Engine(TestFinger(touches: 0)), named: "b")
        let ports = WatchedPorts(ports: SocketPorts(folder: fixture.folder.path)) { port in
            if port.name == "b" { sleep(11) }
        }
        _ = try SecurityKeys(.spawned(program: Build.program("ostiary-fido")), ports: ports, limit: .seconds(40))
            .create(KeyFixture.creation(), with: ScriptedQuestion(), until: fixture.cancellation)
        #expect(engine.memory.count == 1)
        withExtendedLifetime((key, late)) {}
    }

    @Test func `a credential without the verification that was required is refused`() throws {
        let memory = KeyMemory(pin: "1234")
        let key = try fixture.plugIn(
            FIDO2Engine(TestFinger(), memory: memory),
            fault: Self.changing(Self.makeCredential) { answer in
                // The flags follow the hash of the relying party in the authenticator data.
                var answer = answer
                guard let start = answer.firstRange(of: Array("packed".utf8))?.upperBound else { return answer }
                let flags = start + 3 + 32
                answer[flags] &= ~0x04
                return answer
            })
        #expect(throws: CredentialRefusal.malformedAnswer) {
            try fixture.create(
                KeyFixture.creation { $0.userVerification = .required }, ScriptedQuestion(pins: ["1234"]))
        }
        withExtendedLifetime(key) {}
    }

    @Test(
        arguments: [
            (0x19, .excluded), (0x26, .unsupportedAlgorithm), (0x27, .cancelled), (0x28, .storageFull),
            (0x2D, .cancelled),
            (0x30, .refused(status: 0x30)), (0x32, .pinBlocked), (0x34, .pinTemporarilyBlocked), (0x35, .pinNotSet),
            (0x39, .refused(status: 0x39)), (0x7F, .refused(status: 0x7F)), (0xF1, .refused(status: 0xF1)),
            (0x16, .unsupported(what: "extension")), (0x2B, .unsupported(what: "option")), (0x12, .malformedAnswer),
            (0x33, .refused(status: 0x33)), (0x3C, .userVerificationBlocked),
        ] as [(UInt8, CredentialRefusal)])
    func `a status of the key is told`(_ status: UInt8, _ refusal: CredentialRefusal) throws {
        let key = try fixture.plugIn(
            FIDO2Engine(TestFinger()), fault: Self.changing(Self.makeCredential) { _ in [status] })
        #expect(throws: refusal) { try fixture.create() }
        withExtendedLifetime(key) {}
    }

    /// The engine of the broken key gets its only touch at once, so its answer comes without one of the person.
    @Test(arguments: [0x12, 0x26, 0x2B, 0x33, 0x34, 0x39, 0x7F, 0xF1] as [UInt8])
    func `a key that fails before anybody touched it disturbs no other`(_ status: UInt8) throws {
        let broken = try fixture.plugIn(
            FIDO2Engine(TestFinger(touches: 1)), named: "a", fault: Self.changing(Self.makeCredential) { _ in [status] }
        )
        let finger = TestFinger(touches: 0)
        let engine = FIDO2Engine(finger)
        let key = try fixture.plugIn(engine, named: "b")
        let question = ScriptedQuestion(onStep: { step in if case .touch = step { finger.touch() } })
        _ = try fixture.create(KeyFixture.creation(), question)
        #expect(engine.memory.count == 1)
        withExtendedLifetime((broken, key)) {}
    }

    @Test func `an assertion of a credential that was not allowed is refused`() throws {
        let engine = FIDO2Engine(TestFinger())
        let key = try fixture.plugIn(
            engine,
            fault: Self.changing(0x02) { answer in
                guard let last = engine.memory.credentials().last?.identifier, let range = answer.firstRange(of: last)
                else { return answer }
                var answer = answer
                answer.replaceSubrange(range, with: [UInt8](repeating: 9, count: last.count))
                return answer
            })
        let created = try fixture.create()
        #expect(throws: CredentialRefusal.malformedAnswer) {
            try fixture.assert(KeyFixture.assertion(allowing: [created.credentialIdentifier]))
        }
        withExtendedLifetime(key) {}
    }
}
