import Cancellations
import DetachedThreads
import Foundation
import Glibc
import KeyAlgorithms
import OstiaryClient
import OstiaryMessages
import Synchronization
import Testing

@testable import PKCS11Door

/// The order of messages, their answers, and what ends them.
@Suite("A connection of the module", .timeLimit(.minutes(20)))
struct TokenSessionTests {
    private let signer = PlayedToken.signer.reference
    private let digest = Data(count: 32)

    @Test func `a digest is signed and the answer has the number of its request`() throws {
        let played = try PlayedSession()
        let answer = try played.ask(1, ModuleMessage.sign(1, signer, 0x1041, digest))
        #expect(answer?.kind == 0x83 && answer?.number == 1 && answer?.body == Data(repeating: 7, count: 64))
        #expect(played.token.whatWasAsked.inputs.map(\.bytes) == [digest])
        #expect(played.sent.all.first == SentMessages.Message(kind: 0x81, number: 0, body: Data([1])))
    }

    @Test func `the first message is the greeting, and no other one is`() throws {
        let silent = try PlayedSession(greeted: false)
        #expect(throws: PKCS11FormatError.outOfOrder) { try silent.send(ModuleMessage.objects(1)) }
        #expect(silent.sent.all.isEmpty && silent.token.whatWasAsked.listCount == 0)
        let played = try PlayedSession()
        #expect(throws: PKCS11FormatError.outOfOrder) { try played.send(ModuleMessage.hello) }
    }

    @Test func `a list has both halves of each key`() throws {
        let played = try PlayedSession()
        let answer = try #require(try played.ask(1, ModuleMessage.objects(1)))
        #expect(answer.kind == 0x82 && answer.body.prefix(6) == Data([0, 0, 0, 0, 0, 6]))
        #expect(played.token.whatWasAsked.listCount == 1)
    }

    @Test func `a list goes on where it began, whatever was made meanwhile`() throws {
        let played = try PlayedSession(PlayedToken(keys: (0..<200).map { PlayedToken.key(UInt8($0), uses: [.sign]) }))
        let first = try #require(try played.ask(1, ModuleMessage.objects(1)))
        let cursor = first.body.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        #expect(cursor > 0)
        let second = try #require(try played.ask(2, ModuleMessage.objects(2, from: cursor)))
        let counts = [first, second].map { Int($0.body[4]) << 8 | Int($0.body[5]) }
        #expect(counts[0] == Int(cursor) && counts[1] > 0)
        #expect(played.token.whatWasAsked.listCount == 1)
    }

    // MARK: refusals

    private func refusal(_ number: UInt32, _ content: Data, of played: PlayedSession) throws -> TokenRefusal? {
        try played.ask(number, content)?.refusal
    }

    @Test func `what a key does not do is refused, and nobody is asked`() throws {
        let played = try PlayedSession()
        let deriver = PlayedToken.deriver.reference
        let unknown = try #require(ObjectReference(.privateKey, .key, id: Data(count: 16)))
        #expect(try refusal(1, ModuleMessage.sign(1, deriver, 0x1041, digest), of: played) == .keyFunctionNotPermitted)
        #expect(
            try refusal(2, ModuleMessage.derive(2, signer, 0x1050, PlayedToken.point), of: played)
                == .keyFunctionNotPermitted)
        #expect(try refusal(3, ModuleMessage.decrypt(3, signer, 1, digest), of: played) == .keyFunctionNotPermitted)
        #expect(try refusal(4, ModuleMessage.sign(4, unknown, 0x1041, digest), of: played) == .keyHandleInvalid)
        #expect(try refusal(5, ModuleMessage.sign(5, signer, 0x40, digest), of: played) == .mechanismInvalid)
        #expect(try refusal(6, ModuleMessage.sign(6, signer, 0x250, digest), of: played) == .mechanismInvalid)
        let confirmer = PlayedToken.confirmer.reference
        #expect(try refusal(7, ModuleMessage.sign(7, confirmer, 0x1045, digest), of: played) == .mechanismInvalid)
        #expect(
            try refusal(8, ModuleMessage.derive(8, deriver, 0x1050, Data([4])), of: played)
                == .mechanismParameterInvalid)
        for (number, point) in [
            (UInt32(9), PlayedToken.pointOffCurve), (10, Data([4, 65]) + PlayedToken.pointOffCurve),
        ] {
            #expect(
                try refusal(number, ModuleMessage.derive(number, deriver, 0x1050, point), of: played)
                    == .mechanismParameterInvalid)
        }
        #expect(played.token.whatWasAsked.inputs.isEmpty && played.token.whatWasAsked.points.isEmpty)
    }

    @Test func `a secret is agreed on with a point of either form`() throws {
        let played = try PlayedSession()
        let deriver = PlayedToken.deriver.reference
        for (number, point) in [(UInt32(1), PlayedToken.point), (2, Data([4, 65]) + PlayedToken.point)] {
            #expect(try played.ask(number, ModuleMessage.derive(number, deriver, 0x1050, point))?.kind == 0x83)
        }
        #expect(played.token.whatWasAsked.points == [PlayedToken.point, PlayedToken.point])
    }

    /// Documentation/formats/pkcs11.md, Refusals.
    private static let table: [(WireFailureCode, TokenRefusal)] = [
        (.userCancel, .rejected), (.authenticationFailed, .rejected), (.notInteractive, .rejected),
        (.cooldown, .rejected), (.locked, .rejected), (.timedOut, .canceled), (.appCancel, .canceled),
        (.lockedOut, .pinLocked), (.notFound, .keyHandleInvalid), (.operationNotPermitted, .keyFunctionNotPermitted),
        (.unsupportedAlgorithm, .mechanismInvalid), (.invalidPeerKey, .mechanismParameterInvalid),
        (.decryptionFailed, .encryptedDataInvalid), (.tooLarge, .dataLength), (.tooMany, .deviceMemory),
        (.clientRefused, .deviceError), (.clientChanged, .deviceError), (.missingEntitlement, .deviceError),
        (.storeUnreadable, .deviceError), (.internal, .failed), (.logUnwritable, .failed),
    ]

    @Test(arguments: table)
    func `a refusal of the daemon has one return value`(code: WireFailureCode, refusal: TokenRefusal) throws {
        let played = try PlayedSession(PlayedToken { _ in throw OstiaryError(.init(code), "") })
        #expect(try self.refusal(1, ModuleMessage.sign(1, signer, 0x1041, digest), of: played) == refusal)
    }

    @Test func `without a daemon the device has failed, and a refusal that nobody knows is one`() {
        #expect(TokenRefusal(OstiaryError(.daemonUnavailable, "")) == .deviceError)
        #expect(TokenRefusal(OstiaryError(.connectionLost, "")) == .deviceError)
        #expect(TokenRefusal(OstiaryError(.init(rawValue: 9999), "")) == .rejected)
        #expect(TokenRefusal(KeyAlgorithmError.computationFailed) == .failed)
    }

    // MARK: data in parts

    @Test func `parts are one message, and the operation is over then`() throws {
        let played = try PlayedSession()
        #expect(try played.ask(1, ModuleMessage.update(1, 5, 0x1044, Data("one ".utf8)))?.body == Data())
        #expect(try played.ask(2, ModuleMessage.update(2, 5, 0x1044, Data("two ".utf8)))?.kind == 0x83)
        #expect(
            try played.ask(3, ModuleMessage.sign(3, signer, 0x1044, Data("three".utf8), operation: 5))?.kind == 0x83)
        #expect(played.token.whatWasAsked.inputs.map(\.message) == [Data("one two three".utf8)])
        #expect(
            try refusal(4, ModuleMessage.sign(4, signer, 0x1044, Data(), operation: 5), of: played) == .mechanismInvalid
        )
    }

    @Test func `an operation keeps its mechanism`() throws {
        let played = try PlayedSession()
        _ = try played.ask(1, ModuleMessage.update(1, 5, 0x1044, Data([1])))
        #expect(try refusal(2, ModuleMessage.update(2, 5, 0x1045, Data([1])), of: played) == .mechanismInvalid)
        #expect(
            try refusal(3, ModuleMessage.sign(3, signer, 0x1045, Data(), operation: 5), of: played) == .mechanismInvalid
        )
        #expect(try refusal(4, ModuleMessage.update(4, 6, 0x250, Data([1])), of: played) == .mechanismInvalid)
    }

    @Test func `a client has so many operations, and forgotten ones make room`() throws {
        let played = try PlayedSession()
        let limit = UInt32(PKCS11Limits.operationCount)
        for number in 1...limit {
            #expect(try played.ask(number, ModuleMessage.update(number, number, 0x1044, Data([1])))?.kind == 0x83)
        }
        #expect(try refusal(99, ModuleMessage.update(99, limit + 1, 0x1044, Data([1])), of: played) == .deviceMemory)
        #expect(try played.ask(100, ModuleMessage.update(100, 1, 0x1044, Data([1])))?.kind == 0x83)
        try played.send(ModuleMessage.forget(3))
        #expect(try played.ask(101, ModuleMessage.update(101, limit + 1, 0x1044, Data([1])))?.kind == 0x83)
    }

    // MARK: questions

    /// Waits until the question is cancelled, as a person who says nothing.
    private static let silence: @Sendable (Cancellation) throws -> Data = { question in
        let ended = DispatchSemaphore(value: 0)
        question.whenCancelled { ended.signal() }
        ended.wait()
        throw OstiaryError(.init(.appCancel), "")
    }

    /// Says yes once.
    private final class Once: Sendable {
        private let isFirst = Mutex(true)

        func take() -> Bool {
            isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
        }
    }

    @Test func `a question delays no other request`() throws {
        let once = Once()
        let played = try PlayedSession(
            PlayedToken { question in
                if once.take() { return try Self.silence(question) }
                return Data(repeating: 7, count: 64)
            })
        try played.send(ModuleMessage.sign(1, signer, 0x1041, digest))
        while played.token.whatWasAsked.inputs.isEmpty { usleep(1000) }
        #expect(try played.ask(2, ModuleMessage.sign(2, signer, 0x1041, digest))?.kind == 0x83)
        #expect(try played.ask(3, ModuleMessage.objects(3))?.kind == 0x82)
        #expect(!played.sent.all.contains { $0.number == 1 })
        try played.send(ModuleMessage.cancel(1))
        #expect(played.sent.answer(1)?.refusal == .canceled)
    }

    @Test func `a yes to a cancelled question makes no signature`() throws {
        let played = try PlayedSession(
            PlayedToken { question in
                let ended = DispatchSemaphore(value: 0)
                question.whenCancelled { ended.signal() }
                ended.wait()
                return Data(repeating: 7, count: 64)
            })
        try played.send(ModuleMessage.sign(1, signer, 0x1041, digest))
        try played.send(ModuleMessage.cancel(1))
        #expect(played.sent.answer(1)?.refusal == .canceled)
        // One that is over, and one that never was.
        try played.send(ModuleMessage.cancel(1))
        try played.send(ModuleMessage.cancel(77))
    }

    @Test func `the end of the client ends its questions`() throws {
        let played = try PlayedSession(PlayedToken(Self.silence))
        try played.send(ModuleMessage.sign(1, signer, 0x1041, digest))
        played.end.cancel()
        #expect(played.sent.answer(1)?.refusal == .canceled)
        // A request that comes after that has no question at all.
        try played.send(ModuleMessage.sign(2, signer, 0x1041, digest))
        #expect(played.sent.answer(2)?.refusal == .canceled)
    }

    @Test func `so many requests are under way at once, and no two of one number`() throws {
        let played = try PlayedSession(PlayedToken(Self.silence))
        let limit = UInt32(PKCS11Limits.requestCount)
        for number in 1...limit { try played.send(ModuleMessage.sign(number, signer, 0x1041, digest)) }
        #expect(throws: PKCS11FormatError.repeatedNumber) {
            try played.send(ModuleMessage.sign(3, signer, 0x1041, digest))
        }
        #expect(try refusal(90, ModuleMessage.sign(90, signer, 0x1041, digest), of: played) == .deviceMemory)
        try played.send(ModuleMessage.cancel(1))
        #expect(played.sent.answer(1)?.refusal == .canceled)
        // Its place, and its number.
        try played.send(ModuleMessage.sign(91, signer, 0x1041, digest))
        try played.send(ModuleMessage.cancel(91))
        #expect(played.sent.answer(91)?.refusal == .canceled)
        for number in 2...limit {
            try played.send(ModuleMessage.cancel(number))
            #expect(played.sent.answer(number)?.refusal == .canceled)
        }
    }

    // MARK: a person who said no

    /// A token at which the person declines everything, and a clock that a test turns.
    private final class Declining: Sendable {
        private let time = Mutex(ContinuousClock.now)

        func now() -> ContinuousClock.Instant { time.withLock { $0 } }
        func wait(_ duration: Duration) { time.withLock { $0 += duration } }

        func session(_ code: WireFailureCode = .userCancel) throws -> PlayedSession {
            try PlayedSession(PlayedToken { _ in throw OstiaryError(.init(code), "") }, now: { self.now() })
        }
    }

    @Test func `the same signature is not asked for again soon after the person declined it, whole or in parts`() throws
    {
        let declining = Declining()
        let played = try declining.session()
        let message = Data("a message".utf8)
        #expect(try refusal(1, ModuleMessage.sign(1, signer, 0x1044, message), of: played) == .rejected)
        // What pkcs11-tool does then.
        #expect(try played.ask(2, ModuleMessage.update(2, 5, 0x1044, message))?.kind == 0x83)
        #expect(try refusal(3, ModuleMessage.sign(3, signer, 0x1044, Data(), operation: 5), of: played) == .rejected)
        #expect(try refusal(4, ModuleMessage.sign(4, signer, 0x1044, message), of: played) == .rejected)
        #expect(played.token.whatWasAsked.inputs.count == 1)
        // The repetitions do not lengthen the time.
        declining.wait(DeclinedSignature.memory)
        #expect(try refusal(5, ModuleMessage.sign(5, signer, 0x1044, message), of: played) == .rejected)
        #expect(played.token.whatWasAsked.inputs.count == 2)
    }

    @Test func `another key, mechanism or message is another question`() throws {
        let played = try Declining().session()
        #expect(try refusal(1, ModuleMessage.sign(1, signer, 0x1041, digest), of: played) == .rejected)
        let confirmer = PlayedToken.confirmer.reference
        #expect(try refusal(2, ModuleMessage.sign(2, confirmer, 0x1041, digest), of: played) == .rejected)
        #expect(try refusal(3, ModuleMessage.sign(3, signer, 0x1041, digest), of: played) == .rejected)
        #expect(try refusal(4, ModuleMessage.sign(4, signer, 0x1044, digest), of: played) == .rejected)
        #expect(try refusal(5, ModuleMessage.sign(5, signer, 0x1044, digest + [0]), of: played) == .rejected)
        #expect(played.token.whatWasAsked.inputs.count == 5)
        // Another program has not been declined anything.
        let other = try Declining().session()
        #expect(try refusal(1, ModuleMessage.sign(1, signer, 0x1044, digest + [0]), of: other) == .rejected)
        #expect(other.token.whatWasAsked.inputs.count == 1)
    }

    @Test(arguments: [WireFailureCode.authenticationFailed, .notInteractive, .timedOut, .lockedOut, .locked])
    func `only a no is remembered`(code: WireFailureCode) throws {
        let played = try Declining().session(code)
        for number in 1...3 as ClosedRange<UInt32> {
            #expect(try refusal(number, ModuleMessage.sign(number, signer, 0x1041, digest), of: played) != nil)
        }
        #expect(played.token.whatWasAsked.inputs.count == 3)
    }

    @Test func `a system without threads is a refusal`() throws {
        let played = try PlayedSession()
        let refused = try DetachedThread.$areRefused.withValue(true) {
            try refusal(1, ModuleMessage.sign(1, signer, 0x1041, digest), of: played)
        }
        #expect(refused == .deviceMemory)
        #expect(try played.ask(2, ModuleMessage.sign(2, signer, 0x1041, digest))?.kind == 0x83)
    }
}
