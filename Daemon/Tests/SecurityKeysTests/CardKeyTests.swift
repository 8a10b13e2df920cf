import AuthenticatorRequests
import Cancellations
import Crypto
import Foundation
import Glibc
import HelperProcesses
import SecurityKeyTestSupport
import Synchronization
import TerminalTestSupport
import Testing
import UnixSocket

@testable import CardReaders
@testable import SecurityKeys

/// Security keys over NFC: through a real pcscd with virtual readers, the real helper and libfido2.
@Suite(
    .serialized, .timeLimit(.minutes(10)),
    .enabled(if: TestReaders.obstacle == nil, "a pcscd of the test's own must be possible"))
struct CardKeyTests {
    let readers: TestReaders
    let cancellation = Cancellation()
    let finger = TestFinger()

    init() throws { readers = try TestReaders() }

    private func keys(within limit: Duration = .seconds(60)) -> SecurityKeys {
        SecurityKeys(.spawned(program: Build.program("ostiary-fido")), ports: CardPorts(), limit: limit)
    }

    /// The person holds a card at a reader as soon as the question asks for it.
    private func tapping(
        _ pins: [String] = [], _ tap: @escaping @Sendable () throws -> Void
    ) -> ScriptedQuestion {
        let isDone = Mutex(false)
        return ScriptedQuestion(pins: pins) { step in
            guard step == .insertOrHold(isLying: false) else { return }
            let isFirst = isDone.withLock { isDone in
                defer { isDone = true }
                return !isDone
            }
            guard isFirst else { return }
            #expect(throws: Never.self) { try tap() }
        }
    }

    private func create(
        _ question: ScriptedQuestion, _ creation: CredentialCreation = KeyFixture.creation(),
        within limit: Duration = .seconds(60)
    ) throws -> CreatedCredential {
        try keys(within: limit).create(creation, with: question, until: cancellation)
    }

    private var fido2: FIDO2Engine { FIDO2Engine(finger, transports: []) }

    /// Keeps the cards of a test at their readers.
    private final class Cards: Sendable {
        private let cards = Mutex<[CardKey]>([])

        func put(_ card: CardKey) { cards.withLock { $0.append(card) } }
        var first: CardKey? { cards.withLock { $0.first } }
        func removeAll() {
            for card in cards.withLock({ $0 }) { card.remove() }
            cards.withLock { $0 = [] }
        }
    }

    private let cards = Cards()

    /// Takes the cards away, and waits until pcscd has counted that. It looks every 400 ms. Before that it may say that there is
    /// no card, because one that loses its power at that moment does not answer, and then it never counts the next one.
    private func takeAway() throws {
        let before = Self.eventCount
        cards.removeAll()
        try eventually("the card is gone") { Self.eventCount != before }
    }

    /// Holds a card at the reader. pcscd sometimes misses it, and gives it no power; the person then lifts it and tries again.
    private static func hold(_ engine: FIDO2Engine, at port: UInt16, _ cards: Cards) throws {
        cards.put(try CardKey(at: port, engine))
        Thread.detachNewThread {
            for _ in 1...10 {
                sleep(4)
                guard let card = cards.first, card.powerCount == 0 else { return }
                cards.removeAll()
                sleep(1)
                guard let again = try? CardKey(at: port, engine) else { return }
                cards.put(again)
            }
        }
    }

    private static var eventCount: UInt16? {
        guard let context = PCSCContext(), let reader = context.readers().min() else { return nil }
        return context.eventCount(at: reader)
    }

    // MARK: good keys

    @Test func `a key that is held at the reader makes a credential, and signs when it is held there again`() throws {
        let engine = fido2
        let (port, cards) = (readers.ports[0], cards)
        let question = tapping { try Self.hold(engine, at: port, cards) }
        let created = try create(question)
        #expect(question.steps.contains { if case .hold = $0 { true } else { false } })
        #expect(!question.steps.contains { if case .touch = $0 { true } else { false } })
        #expect(created.transports == ["nfc"])
        let second = tapping {
            cards.removeAll()
            try Self.hold(engine, at: port, cards)
        }
        try takeAway()
        let asserted = try keys().assert(
            KeyFixture.assertion(allowing: [created.credentialIdentifier]), with: second, until: cancellation)
        #expect(verifies(asserted, with: engine.memory.publicKey(of: created.credentialIdentifier)))
        #expect(asserted.authenticatorData[32] & 0x05 == 0x01)
    }

    @Test func `the PIN of a key is asked for while it lies at the reader`() throws {
        let engine = FIDO2Engine(finger, memory: KeyMemory(pin: "1234"), transports: [])
        let (port, cards) = (readers.ports[0], cards)
        let question = tapping(["4321", "1234"]) { cards.put(try CardKey(at: port, engine)) }
        let created = try create(question, KeyFixture.creation { $0.discoverable = .required })
        #expect(question.pinRequests.map(\.triesLeft) == [8, 7])
        #expect(question.pinRequests.map(\.wasWrong) == [false, true])
        #expect(engine.memory.publicKey(of: created.credentialIdentifier) != nil)
    }

    @Test(arguments: [7, 255])
    func `long commands go in pieces, and long answers come in pieces`(_ pieceByteCount: Int) throws {
        let engine = fido2
        let (port, cards) = (readers.ports[0], cards)
        let others = (0..<12).map { CredentialDescriptor(identifier: [UInt8](repeating: UInt8($0), count: 32)) }
        let creation = KeyFixture.creation {
            $0.attestation = .direct
            $0.excluded = others
        }
        let question = tapping { cards.put(try CardKey(at: port, engine, pieceByteCount: pieceByteCount)) }
        let created = try create(question, creation)
        #expect(created.attestationObject.count > 256)
        #expect(created.attestationObject.contains(Array("packed".utf8)))
        let commands = try #require(cards.first).commands
        #expect(commands.contains { $0[0] == 0x90 && $0[1] == 0x10 && $0[4] == 255 })
        #expect(commands.contains { $0[0] == 0x00 && $0[1] == 0xC0 })
        #expect(commands.allSatisfy { $0.count <= 261 })
    }

    @Test func `a key of U2F registers, and signs when it is held there again`() throws {
        let engine = U2FEngine(finger, certificate: try U2FTests().certificate())
        let (port, cards) = (readers.ports[0], cards)
        let question = tapping { cards.put(try CardKey(at: port, engine)) }
        let created = try create(question, KeyFixture.creation { $0.attestation = .direct })
        #expect(created.attestationObject.contains(Array("fido-u2f".utf8)))
        #expect(created.transports == ["nfc"])
        try takeAway()
        let second = tapping { cards.put(try CardKey(at: port, engine)) }
        let asserted = try keys().assert(
            KeyFixture.assertion(allowing: [created.credentialIdentifier]), with: second, until: cancellation)
        #expect(verifies(asserted, with: engine.publicKey(of: created.credentialIdentifier)))
    }

    @Test func `a cancel reaches a key that still works`() throws {
        let patient = TestFinger(touches: 0)
        let engine = FIDO2Engine(patient, transports: [])
        let (port, cards, cancellation) = (readers.ports[0], cards, cancellation)
        let question = tapping { cards.put(try CardKey(at: port, engine)) }
        Thread.detachNewThread {
            try? eventually("the key works") { patient.waitCount > 0 }
            cancellation.cancel()
        }
        #expect(throws: CredentialRefusal.cancelled) { try create(question) }
        #expect(cards.first?.cancelCount == 1)
        #expect(engine.memory.count == 0)
    }

    // MARK: taps

    @Test func `a key that lies at the reader since before the question signs nothing`() throws {
        let engine = fido2
        let (port, cards) = (readers.ports[0], cards)
        cards.put(try CardKey(at: port, engine))
        try eventually("the card is there") { CardReaders().present().count == 1 }
        #expect(CardPorts().absence(for: nil) == .insertOrHold(isLying: false))
        // Other users see no cards.
        #expect(CardPorts().absence(for: getuid() + 1) == .insert)
        let question = ScriptedQuestion()
        #expect(throws: CredentialRefusal.timedOut) { try create(question, within: .seconds(3)) }
        #expect(question.steps == [.insertOrHold(isLying: true)])
        #expect(try #require(cards.first).commands.isEmpty)

        let lifted = ScriptedQuestion { step in
            switch step {
            case .insertOrHold(isLying: true): cards.removeAll()
            case .insertOrHold(isLying: false): cards.put(try! CardKey(at: port, engine))
            default: break
            }
        }
        _ = try create(lifted)
        #expect(engine.memory.count == 1)
    }

    // MARK: bad keys

    @Test func `a key that is taken away before its answer is one that never came`() throws {
        let patient = TestFinger(touches: 0)
        let engine = FIDO2Engine(patient, transports: [])
        let (port, cards) = (readers.ports[0], cards)
        let question = tapping { cards.put(try CardKey(at: port, engine)) }
        Thread.detachNewThread {
            try? eventually("the key works") { patient.waitCount > 0 }
            cards.removeAll()
        }
        #expect(throws: CredentialRefusal.timedOut) { try create(question, within: .seconds(6)) }
        #expect(question.steps.last == .insertOrHold(isLying: false))
        #expect(engine.memory.count == 0)
    }

    @Test func `a key that is taken away while its PIN is typed is gone`() throws {
        let engine = FIDO2Engine(finger, memory: KeyMemory(pin: "1234"), transports: [])
        let (port, cards) = (readers.ports[0], cards)
        let isPut = Mutex(false)
        let question = ScriptedQuestion(
            pins: ["1234"],
            onStep: { step in
                guard step == .insertOrHold(isLying: false), !isPut.withLock({ $0 }) else { return }
                isPut.withLock { $0 = true }
                cards.put(try! CardKey(at: port, engine))
            },
            onPIN: {
                cards.removeAll()
                try? eventually("the card is gone") { CardReaders().present().isEmpty }
            })
        #expect(throws: CredentialRefusal.removed) {
            try create(question, KeyFixture.creation { $0.discoverable = .required })
        }
        #expect(engine.memory.count == 0)
    }

    @Test func `a card without the applet of FIDO is no key, and disturbs no key at another reader`() throws {
        let (ports, cards) = (readers.ports, cards)
        let nothing = tapping { cards.put(try CardKey(at: ports[0], FIDO2Engine(TestFinger()), version: nil)) }
        #expect(throws: CredentialRefusal.timedOut) { try create(nothing, within: .seconds(4)) }
        #expect(try #require(cards.first).commands.map { $0[1] } == [0xA4])
        try takeAway()

        let engine = fido2
        let both = tapping {
            cards.put(try CardKey(at: ports[0], FIDO2Engine(TestFinger()), version: nil))
            cards.put(try CardKey(at: ports[1], engine))
        }
        _ = try create(both)
        #expect(engine.memory.count == 1)
    }

    @Test func `a card that never answers disturbs no key at another reader`() throws {
        let (ports, cards) = (readers.ports, cards)
        let engine = fido2
        let question = tapping {
            cards.put(try CardKey(at: ports[0], FIDO2Engine(TestFinger()), fault: { _, _ in nil }))
            cards.put(try CardKey(at: ports[1], engine))
        }
        _ = try create(question)
        #expect(engine.memory.count == 1)
    }

    @Test(
        arguments: [[0x00, 0xFF, 0x90, 0x00], [0x90, 0x00], [0x00], [0x6F, 0x00], [0x00, 0xBF, 0xFF, 0x90, 0x00]]
            as [[UInt8]])
    func `garbage makes no credential`(_ answer: [UInt8]) throws {
        let engine = fido2
        let (port, cards) = (readers.ports[0], cards)
        let question = tapping {
            // Only makeCredential is changed.
            cards.put(
                try CardKey(at: port, engine) { command, right in
                    command[1] == 0x10 && command.count > 5 && command[5] == 0x01 ? answer : right
                })
        }
        #expect(throws: CredentialRefusal.malformedAnswer) { try create(question) }
    }

    @Test func `a card that another program uses is left alone`() throws {
        let engine = fido2
        let port = readers.ports[0]
        let card = try CardKey(at: port, engine)
        try eventually("the card is there") { CardReaders().present().count == 1 }
        let present = try #require(CardReaders().present().first)
        guard let context = PCSCContext() else { throw NeverHappened(what: "a connection to pcscd") }
        let connection = try context.connect(to: present.reader)
        let channel = try CardReaders().open(present)
        var byte: UInt8 = 0
        #expect(read(channel.number, &byte, 1) == 0)
        #expect(card.commands.isEmpty)
        withExtendedLifetime(card) {}
        _ = connection.transmit([0x00, 0xA4, 0x04, 0x00, 0x00])
        #expect(card.commands.count == 1)
    }

    // MARK: pcscd

    @Test func `the card loses its power when the helper is gone`() throws {
        let card = try CardKey(at: readers.ports[0], fido2)
        try eventually("the card is there") { CardReaders().present().count == 1 }
        let present = try #require(CardReaders().present().first)
        for _ in 0..<2 {
            let channel = try CardReaders().open(present)
            let command: [UInt8] = [0x00, 0xA4, 0x04, 0x00, 0x00]
            #expect(send(channel.number, command, command.count, CInt(MSG_NOSIGNAL)) == command.count)
            var answer = [UInt8](repeating: 0, count: 16)
            #expect(read(channel.number, &answer, answer.count) == 2)
        }
        // Once when it came, and again for the second connection.
        #expect(card.powerCount >= 2)
        // The card did not leave: the same event count.
        #expect(CardReaders().present() == [present])
    }

    @Test func `without pcscd there are no readers, and nothing fails`() throws {
        readers.stop()
        #expect(CardReaders().count == 0)
        #expect(CardPorts().present(to: nil).isEmpty)
        let question = ScriptedQuestion()
        #expect(throws: CredentialRefusal.timedOut) { try create(question, within: .seconds(2)) }
        #expect(question.steps == [.insert])
    }

    @Test func `a pcscd that ends takes its cards with it`() throws {
        let patient = TestFinger(touches: 0)
        let engine = FIDO2Engine(patient, transports: [])
        let (port, cards, readers) = (readers.ports[0], cards, readers)
        let question = ScriptedQuestion { step in
            guard step == .insertOrHold(isLying: false), cards.first == nil else { return }
            cards.put(try! CardKey(at: port, engine))
        }
        Thread.detachNewThread {
            try? eventually("the key works") { patient.waitCount > 0 }
            readers.stop()
        }
        #expect(throws: CredentialRefusal.timedOut) { try create(question, within: .seconds(6)) }
        #expect(question.steps.last == .insert)
    }
}
