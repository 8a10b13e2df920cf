import AuthenticatorRequests
import Cancellations
import SecurityKeyTestSupport
import Testing

@testable import SecurityKeys

/// Large blobs (CTAP 2.1, 6.10 and 12.3) through the real helper and libfido2.
///
/// libfido2 writes with a token of its own, which a key gives for the PIN. A key that knows no PINs gives no token, and
/// needs none.
@Suite(.timeLimit(.minutes(10))) struct LargeBlobTests {
    let fixture: KeyFixture
    let finger = TestFinger()

    init() throws { fixture = try KeyFixture() }

    private static let pin = "1234"
    private static let largeBlobs: UInt8 = 0x0C

    private func engineWithPIN(capacity: Int = 4096) -> LargeBlobEngine {
        LargeBlobEngine(finger, memory: KeyMemory(pin: Self.pin), capacity: capacity)
    }

    /// The person types the PIN once.
    private func typing() -> ScriptedQuestion { ScriptedQuestion(pins: [Self.pin]) }

    /// Bytes that cannot be compressed, so that their count decides how much room a blob takes.
    private static func blob(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255) } }

    private static let (short, other) = (blob(32), blob(32))

    private static func creation(_ name: String = "ada", _ support: Preference = .required) -> CredentialCreation {
        KeyFixture.creation {
            $0.user = KeyFixture.user(name)
            $0.discoverable = .required
            $0.extensions.largeBlob = support
        }
    }

    private func credential(_ name: String = "ada") throws -> [UInt8] {
        let created = try fixture.create(Self.creation(name), typing())
        #expect(created.supportsLargeBlob == true)
        return created.credentialIdentifier
    }

    private func assert(
        _ identifier: [UInt8], _ operation: LargeBlobOperation, verification: Preference = .preferred
    ) throws -> AssertedCredential {
        let assertion = KeyFixture.assertion(allowing: [identifier]) {
            $0.userVerification = verification
            $0.largeBlob = operation
        }
        return try fixture.assert(assertion, typing())
    }

    private func write(_ blob: [UInt8], to identifier: [UInt8]) throws -> LargeBlobResult? {
        try assert(identifier, .write(blob)).largeBlob
    }

    private func read(_ identifier: [UInt8]) throws -> LargeBlobResult? { try assert(identifier, .read).largeBlob }

    // MARK: writing and reading

    @Test func `a blob is read back byte for byte`() throws {
        let engine = engineWithPIN()
        let key = try fixture.plugIn(engine)
        let identifier = try credential()
        let blob = Self.blob(300)
        let question = typing()
        let asserted = try fixture.assert(
            KeyFixture.assertion(allowing: [identifier]) {
                $0.userVerification = .preferred
                $0.largeBlob = .write(blob)
            }, question)
        #expect(asserted.largeBlob == .written(true))
        #expect(verifies(asserted, with: engine.memory.publicKey(of: identifier)))
        // One PIN is for the signature and for the blob.
        #expect(question.pinRequests.count == 1)
        #expect(try read(identifier) == .read(blob))
        #expect(engine.blobCount == 1)
        withExtendedLifetime(key) {}
    }

    @Test func `a blob stays as it is when another credential writes its own`() throws {
        let engine = engineWithPIN()
        let key = try fixture.plugIn(engine)
        let (ada, grace) = (try credential("ada"), try credential("grace"))
        let (first, second) = (Self.blob(200), Self.blob(500))
        #expect(try write(first, to: ada) == .written(true))
        #expect(try read(grace) == .read(nil))
        #expect(try write(second, to: grace) == .written(true))
        #expect(try read(ada) == .read(first))
        #expect(try read(grace) == .read(second))
        #expect(engine.blobCount == 2)
        withExtendedLifetime(key) {}
    }

    @Test func `another blob of the same credential takes the place of the first`() throws {
        let engine = engineWithPIN()
        let key = try fixture.plugIn(engine)
        let identifier = try credential()
        #expect(try write(Self.blob(400), to: identifier) == .written(true))
        #expect(try write(Self.short, to: identifier) == .written(true))
        #expect(try read(identifier) == .read(Self.short))
        #expect(engine.blobCount == 1)
        withExtendedLifetime(key) {}
    }

    /// libfido2 1.12 encrypts nothing that it compressed to fewer than 16 bytes. compatibility.md says so.
    @Test func `a blob of a few bytes is not written, and the former one stays`() throws {
        let key = try fixture.plugIn(engineWithPIN())
        let identifier = try credential()
        #expect(try write(Self.short, to: identifier) == .written(true))
        #expect(try write([1, 2, 3], to: identifier) == .written(false))
        #expect(try read(identifier) == .read(Self.short))
        withExtendedLifetime(key) {}
    }

    /// libfido2 sends and takes at most 1984 bytes at once.
    @Test(arguments: [16, 4000, 16 * 1024]) func `a blob of any permitted size is read back`(_ count: Int) throws {
        let key = try fixture.plugIn(engineWithPIN(capacity: 20 * 1024))
        let identifier = try credential()
        let blob = Self.blob(count)
        #expect(try write(blob, to: identifier) == .written(true))
        #expect(try read(identifier) == .read(blob))
        withExtendedLifetime(key) {}
    }

    @Test(arguments: [0, 16 * 1024 + 1]) func `a blob of no permitted size starts no helper`(_ count: Int) throws {
        let key = try fixture.plugIn(engineWithPIN())
        #expect(throws: CredentialRefusal.unsupported(what: "largeBlob")) {
            try write([UInt8](repeating: 1, count: count), to: [7])
        }
        #expect(key.requests.isEmpty)
    }

    @Test func `the person who chooses an account gets its blob`() throws {
        let key = try fixture.plugIn(engineWithPIN())
        let (ada, grace) = (try credential("ada"), try credential("grace"))
        #expect(try write(Self.short, to: ada) == .written(true))
        #expect(try write(Self.other, to: grace) == .written(true))
        let assertion = KeyFixture.assertion {
            $0.userVerification = .required
            $0.largeBlob = .read
        }
        let question = ScriptedQuestion(pins: [Self.pin], account: 1)
        let asserted = try fixture.assert(assertion, question)
        #expect(question.accounts.map(\.name) == ["grace", "ada"])
        #expect(asserted.credentialIdentifier == ada)
        #expect(asserted.largeBlob == .read(Self.short))
        withExtendedLifetime(key) {}
    }

    @Test func `a program that asks for no blob gets none`() throws {
        let key = try fixture.plugIn(engineWithPIN())
        let identifier = try credential()
        #expect(try write(Self.short, to: identifier) == .written(true))
        let asserted = try fixture.assert(KeyFixture.assertion(allowing: [identifier]))
        #expect(asserted.largeBlob == nil)
        withExtendedLifetime(key) {}
    }

    // MARK: PINs

    @Test func `a touch is enough to read a blob, and a write asks for the PIN of a key that has one`() throws {
        let engine = engineWithPIN()
        let key = try fixture.plugIn(engine)
        let identifier = try credential()
        #expect(try write(Self.short, to: identifier) == .written(true))
        #expect(try assert(identifier, .read, verification: .discouraged).largeBlob == .read(Self.short))
        let question = typing()
        let assertion = KeyFixture.assertion(allowing: [identifier]) { $0.largeBlob = .write(Self.other) }
        #expect(try fixture.assert(assertion, question).largeBlob == .written(true))
        #expect(question.pinRequests.count == 1)
        #expect(try read(identifier) == .read(Self.other))
        withExtendedLifetime(key) {}
    }

    @Test func `a key that knows no PINs takes a blob after a touch`() throws {
        let key = try fixture.plugIn(LargeBlobEngine(finger, hasPIN: false))
        let identifier = try credential()
        let blob = Self.blob(100)
        #expect(try write(blob, to: identifier) == .written(true))
        #expect(try read(identifier) == .read(blob))
        withExtendedLifetime(key) {}
    }

    /// libfido2 wants a token of every key that could give one, though such a key needs none.
    @Test func `a key without a PIN that could have one writes nothing, and says so`() throws {
        let engine = LargeBlobEngine(finger)
        let key = try fixture.plugIn(engine)
        let identifier = try credential()
        #expect(try write(Self.short, to: identifier) == .written(false))
        #expect(engine.blobCount == 0)
        withExtendedLifetime(key) {}
    }

    /// Otherwise the tests above would prove nothing: the key in software does not take every write.
    @Test func `the key in software takes no blob without its PIN`() {
        let empty: [UInt8] = [
            0x80, 0x76, 0xBE, 0x8B, 0x52, 0x8D, 0x00, 0x75, 0xF7, 0xAA, 0xE9, 0x8D, 0x6F, 0xA5, 0x7A, 0x6D, 0x3C,
        ]
        let request: [UInt8] = [Self.largeBlobs, 0xA3, 0x02, 0x51] + empty + [0x03, 0x00, 0x04, 0x11]
        let engine = engineWithPIN()
        #expect(engine.serializedArray == empty)
        #expect(engine.respond(toCBOR: request, until: Cancellation()) == [0x36])
        #expect(LargeBlobEngine(finger).respond(toCBOR: request, until: Cancellation()) == [0x00])
        var broken = request
        broken[10] ^= 0x01
        #expect(LargeBlobEngine(finger).respond(toCBOR: broken, until: Cancellation()) == [0x3D])
    }

    // MARK: no blob

    @Test func `a credential without a blob reads none`() throws {
        let engine = engineWithPIN()
        let key = try fixture.plugIn(engine)
        #expect(try read(credential()) == .read(nil))
        #expect(engine.blobCount == 0)
        withExtendedLifetime(key) {}
    }

    @Test func `a credential that was made without large blobs has no place for one`() throws {
        let engine = engineWithPIN()
        let key = try fixture.plugIn(engine)
        let created = try fixture.create(KeyFixture.creation { $0.discoverable = .required }, typing())
        #expect(created.supportsLargeBlob == nil)
        #expect(try write(Self.short, to: created.credentialIdentifier) == .written(false))
        #expect(try read(created.credentialIdentifier) == .read(nil))
        #expect(engine.blobCount == 0)
        withExtendedLifetime(key) {}
    }

    @Test func `a damaged blob is none, and another can be written`() throws {
        let engine = engineWithPIN()
        let key = try fixture.plugIn(engine)
        let identifier = try credential()
        #expect(try write(Self.blob(100), to: identifier) == .written(true))
        let whole = engine.serializedArray
        engine.damageBlobs()
        #expect(engine.serializedArray != whole)
        #expect(engine.blobCount == 1)
        #expect(try read(identifier) == .read(nil))
        #expect(try write(Self.other, to: identifier) == .written(true))
        #expect(try read(identifier) == .read(Self.other))
        withExtendedLifetime(key) {}
    }

    @Test func `a full key refuses the blob and keeps those it has`() throws {
        let engine = engineWithPIN(capacity: 1024)
        let key = try fixture.plugIn(engine)
        let (ada, grace) = (try credential("ada"), try credential("grace"))
        let blob = Self.blob(300)
        #expect(try write(blob, to: ada) == .written(true))
        let before = engine.serializedArray
        #expect(try write(Self.blob(900), to: grace) == .written(false))
        #expect(try write(Self.blob(2000), to: ada) == .written(false))
        #expect(engine.serializedArray == before)
        #expect(try read(ada) == .read(blob))
        #expect(try read(grace) == .read(nil))
        // There is room for a smaller one.
        #expect(try write(Self.blob(200), to: grace) == .written(true))
        #expect(try read(ada) == .read(blob))
        withExtendedLifetime(key) {}
    }

    // MARK: keys without large blobs

    @Test func `a key without large blobs makes no credential that must have one`() throws {
        let engine = FIDO2Engine(finger, memory: KeyMemory(pin: Self.pin))
        let key = try fixture.plugIn(engine)
        #expect(throws: CredentialRefusal.unsupported(what: "largeBlob")) {
            try fixture.create(Self.creation(), typing())
        }
        #expect(engine.memory.count == 0)
        let created = try fixture.create(Self.creation("ada", .preferred), typing())
        #expect(created.supportsLargeBlob == false)
        #expect(try write(Self.short, to: created.credentialIdentifier) == .written(false))
        #expect(try read(created.credentialIdentifier) == .read(nil))
        #expect(!key.requests.contains { $0.first == Self.largeBlobs })
    }

    @Test func `a credential that is not discoverable has no large blob`() throws {
        let engine = engineWithPIN()
        let key = try fixture.plugIn(engine)
        #expect(throws: CredentialRefusal.unsupported(what: "largeBlob")) {
            try fixture.create(KeyFixture.creation { $0.extensions.largeBlob = .required })
        }
        #expect(engine.memory.count == 0)
        let created = try fixture.create(KeyFixture.creation { $0.extensions.largeBlob = .preferred })
        #expect(created.supportsLargeBlob == false)
        withExtendedLifetime(key) {}
    }

    // MARK: wrong answers

    private typealias Change = @Sendable ([UInt8]) -> [UInt8]

    /// A key without PINs that answers one command wrongly.
    private func plugIn(faultyAt command: UInt8, _ change: @escaping Change) throws -> SoftwareKey {
        try fixture.plugIn(LargeBlobEngine(finger, hasPIN: false)) { _, request, answer in
            request.first == command && answer.count > 1 ? change(answer) : answer
        }
    }

    /// The key of the blob comes last in an answer: its member's number, the head of a byte string, and these bytes.
    private static let keyByteCount = 32

    /// The answer with text in the place of the key.
    private static let withText: Change = { answer in
        var changed = answer
        changed[answer.count - Self.keyByteCount - 2] = 0x78
        return changed
    }

    /// The answer without its last byte.
    private static let cutOff: Change = { Array($0.dropLast()) }

    /// The answer with a key that is a byte too short.
    private static let withShortKey: Change = { answer in
        var changed = Array(answer.dropLast())
        changed[answer.count - Self.keyByteCount - 1] = 0x1F
        return changed
    }

    /// The answer with one member less.
    private static let withoutKey: Change = { answer in
        var changed = Array(answer.dropLast(Self.keyByteCount + 3))
        changed[1] -= 1
        return changed
    }

    @Test func `a creation whose key of the blob is cut off, or no key, is none`() throws {
        for fault in [Self.withText, Self.cutOff] {
            let key = try plugIn(faultyAt: 0x01, fault)
            #expect(throws: CredentialRefusal.malformedAnswer) {
                try fixture.create(Self.creation("ada", .preferred))
            }
            key.unplug()
        }
    }

    @Test func `a key that gives no key for large blobs makes no credential that requires them`() throws {
        for fault in [Self.withoutKey, Self.withShortKey] {
            let key = try plugIn(faultyAt: 0x01, fault)
            #expect(throws: CredentialRefusal.malformedAnswer) { try fixture.create(Self.creation()) }
            let created = try fixture.create(Self.creation("ada", .preferred))
            #expect(created.supportsLargeBlob == false)
            key.unplug()
        }
    }

    @Test func `an assertion whose key of the blob is cut off, or no key, is none`() throws {
        for fault in [Self.withText, Self.cutOff] {
            let key = try plugIn(faultyAt: 0x02, fault)
            let identifier = try credential()
            #expect(throws: CredentialRefusal.malformedAnswer) { try read(identifier) }
            #expect(throws: CredentialRefusal.malformedAnswer) { try write(Self.short, to: identifier) }
            key.unplug()
        }
    }

    @Test func `an assertion with no key of the blob, or a short one, reads and writes none`() throws {
        for fault in [Self.withoutKey, Self.withShortKey] {
            let key = try plugIn(faultyAt: 0x02, fault)
            let identifier = try credential()
            #expect(try write(Self.short, to: identifier) == .written(false))
            #expect(try read(identifier) == .read(nil))
            #expect(!key.requests.contains { $0.first == Self.largeBlobs })
            key.unplug()
        }
    }

    /// No array at all, one in a wrong place or of a wrong type, an empty piece, and a status of failure.
    static let garbage: [[UInt8]] = [
        [0x00], [0x00, 0xFF], [0x00, 0xA0], [0x00, 0x80], [0x00, 0xA1, 0x01, 0x05], [0x00, 0xA1, 0x01, 0x61, 0x41],
        [0x00, 0xA1, 0x01, 0x40], [0x00, 0xA1, 0x01, 0x58, 0xFF, 0x80], [0x00, 0xA1, 0x02, 0x41, 0x80], [0x7F],
    ]

    @Test(arguments: garbage) func `garbage in the place of the array is no blob`(_ answer: [UInt8]) throws {
        let key = try plugIn(faultyAt: Self.largeBlobs) { _ in answer }
        let identifier = try credential()
        #expect(try read(identifier) == .read(nil))
        #expect(try write(Self.short, to: identifier) == .written(false))
        withExtendedLifetime(key) {}
    }

    /// Answers are cut off, or a bit of the array changes on its way and the trailer does not.
    @Test func `an array that comes damaged is no blob, and the one in the key stays`() throws {
        let engine = LargeBlobEngine(finger, hasPIN: false)
        let key = try fixture.plugIn(engine)
        let identifier = try credential()
        let blob = Self.blob(100)
        #expect(try write(blob, to: identifier) == .written(true))
        key.unplug()
        let damages: [Change] = [
            Self.cutOff, { Array($0.prefix(40)) },
            { answer in
                var changed = answer
                changed[60] ^= 0x01
                return changed
            },
        ]
        for damage in damages {
            let damaged = try fixture.plugIn(engine) { _, request, answer in
                request.first == Self.largeBlobs && answer.count > 1 ? damage(answer) : answer
            }
            #expect(try read(identifier) == .read(nil))
            damaged.unplug()
        }
        let whole = try fixture.plugIn(engine)
        #expect(try read(identifier) == .read(blob))
        withExtendedLifetime(whole) {}
    }

    @Test func `a key that breaks off a write keeps the array it had`() throws {
        let engine = LargeBlobEngine(finger, hasPIN: false)
        let key = try fixture.plugIn(engine)
        let identifier = try credential()
        #expect(try write(Self.short, to: identifier) == .written(true))
        key.unplug()
        let before = engine.serializedArray
        // The first member of a request is 1 in a read and 2 in a write.
        let failing = try fixture.plugIn(engine) { _, request, answer in
            request.first == Self.largeBlobs && request[2] == 0x02 ? [0x7F] : answer
        }
        #expect(try write([2], to: identifier) == .written(false))
        #expect(engine.serializedArray == before)
        #expect(try read(identifier) == .read(Self.short))
        withExtendedLifetime(failing) {}
    }
}
