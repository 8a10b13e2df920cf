import Cancellations
import Foundation
import KeyAlgorithms
import SecretMemory
import Synchronization

@testable import PKCS11Door

/// Messages as the module writes them.
enum ModuleMessage {
    static func number(_ value: UInt32) -> Data {
        Data((0..<4).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) })
    }

    static func content(_ kind: UInt8, _ number: UInt32, _ body: Data = Data()) -> Data {
        Data([kind]) + Self.number(number) + body
    }

    static let hello = content(1, 0, Data("OP11".utf8) + [1])

    static func objects(_ number: UInt32, from cursor: UInt32 = 0) -> Data { content(2, number, Self.number(cursor)) }

    static func mechanism(_ type: UInt32, hash: UInt32 = 0, mask: UInt32 = 0, salt: UInt32 = 0) -> Data {
        [type, hash, mask, salt].map(number).reduce(Data(), +)
    }

    static func update(_ number: UInt32, _ operation: UInt32, _ type: UInt32, _ data: Data) -> Data {
        content(3, number, Self.number(operation) + mechanism(type) + data)
    }

    static func sign(
        _ number: UInt32, _ key: ObjectReference, _ type: UInt32, _ data: Data, operation: UInt32 = 0
    ) -> Data {
        content(4, number, Data(key.bytes) + mechanism(type) + Self.number(operation) + data)
    }

    static func decrypt(_ number: UInt32, _ key: ObjectReference, _ type: UInt32, _ data: Data) -> Data {
        content(5, number, Data(key.bytes) + mechanism(type) + data)
    }

    static func derive(_ number: UInt32, _ key: ObjectReference, _ type: UInt32, _ publicKey: Data) -> Data {
        content(6, number, Data(key.bytes) + mechanism(type) + publicKey)
    }

    static func forget(_ operation: UInt32) -> Data { content(7, 0, number(operation)) }
    static func cancel(_ other: UInt32) -> Data { content(8, 0, number(other)) }
}

/// Keys that are asked for nothing: a test says what the person answers.
final class PlayedToken: TokenKeyHolding {
    /// The base point of P-256.
    static let point = Data([
        0x04,
        0x6B, 0x17, 0xD1, 0xF2, 0xE1, 0x2C, 0x42, 0x47, 0xF8, 0xBC, 0xE6, 0xE5, 0x63, 0xA4, 0x40, 0xF2,
        0x77, 0x03, 0x7D, 0x81, 0x2D, 0xEB, 0x33, 0xA0, 0xF4, 0xA1, 0x39, 0x45, 0xD8, 0x98, 0xC2, 0x96,
        0x4F, 0xE3, 0x42, 0xE2, 0xFE, 0x1A, 0x7F, 0x9B, 0x8E, 0xE7, 0xEB, 0x4A, 0x7C, 0x0F, 0x9E, 0x16,
        0x2B, 0xCE, 0x33, 0x57, 0x6B, 0x31, 0x5E, 0xCE, 0xCB, 0xB6, 0x40, 0x68, 0x37, 0xBF, 0x51, 0xF5,
    ])
    static let pointOffCurve = Data([0x04] + (1...64).map { UInt8($0) })
    static let signer = key(1, uses: [.sign])
    static let confirmer = key(2, uses: [.sign], confirms: true)
    static let deriver = key(3, uses: [.derive])

    static func key(_ id: UInt8, uses: TokenKey.Uses, confirms: Bool = false) -> TokenKey {
        let id = Data(repeating: id, count: 16)
        return TokenKey(
            ObjectReference(.privateKey, .right, id: id)!, label: "key \(id[0])", TokenPublicKey(.p256(point)),
            in: .enclave(id: id, confirms: confirms), uses: uses)
    }

    struct Asked: Equatable {
        var inputs: [SignedInput] = []
        var points: [Data] = []
        var listCount = 0
    }

    private let asked = Mutex(Asked())
    private let answer: @Sendable (Cancellation) throws -> Data
    private let keys: [TokenKey]

    init(
        keys: [TokenKey] = [PlayedToken.signer, PlayedToken.confirmer, PlayedToken.deriver],
        _ answer: @escaping @Sendable (Cancellation) throws -> Data = { _ in Data(repeating: 7, count: 64) }
    ) {
        (self.keys, self.answer) = (keys, answer)
    }

    var whatWasAsked: Asked { asked.withLock { $0 } }

    func contents() throws -> TokenContents {
        asked.withLock { $0.listCount += 1 }
        return TokenContents(keys: keys)
    }

    func sign(_ input: SignedInput, with key: TokenKey, cancellation: Cancellation) throws -> Data {
        asked.withLock { $0.inputs.append(input) }
        return try answer(cancellation)
    }

    func decrypt(
        _ ciphertext: Data, _ padding: RSAEncryptionPadding, with key: TokenKey, cancellation: Cancellation
    ) throws -> SecretBytes { SecretBytes(try answer(cancellation)) }

    func agree(with point: Data, _ key: TokenKey, cancellation: Cancellation) throws -> SecretBytes {
        asked.withLock { $0.points.append(point) }
        return SecretBytes(try answer(cancellation))
    }
}

/// What a session sent, by the numbers of the requests.
final class SentMessages: Sendable {
    struct Message: Equatable {
        let kind: UInt8
        let number: UInt32
        let body: Data

        /// The return value of a refusal.
        var refusal: TokenRefusal? {
            kind == 0x84 ? TokenRefusal(rawValue: body.reduce(0) { $0 << 8 | UInt32($1) }) : nil
        }
    }

    private let messages = Mutex<[Message]>([])
    private let news = DispatchSemaphore(value: 0)

    func add(_ message: OutgoingMessage) {
        let bytes = Data(exposing: message.bytes)
        let number = bytes[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        messages.withLock { $0.append(Message(kind: bytes[4], number: number, body: Data(bytes.dropFirst(9)))) }
        news.signal()
    }

    var all: [Message] { messages.withLock { $0 } }

    /// Waits for the answer to a request; nil when none comes within ten minutes, which only ends a test that hangs.
    func answer(_ number: UInt32) -> Message? {
        while true {
            if let message = all.first(where: { $0.number == number && $0.kind != 0x81 }) { return message }
            guard news.wait(timeout: .now() + 600) == .success else { return nil }
        }
    }
}

/// A session with a token, and what it sent.
struct PlayedSession {
    let token: PlayedToken
    let end = Cancellation()
    let sent = SentMessages()
    let session: TokenSession

    init(
        _ token: PlayedToken = PlayedToken(), greeted: Bool = true,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) throws {
        self.token = token
        session = TokenSession(token, end: end, send: { [sent] in sent.add($0) }, note: { _ in }, now: now)
        if greeted { try session.handle(ModuleMessage.hello) }
    }

    func send(_ content: Data) throws { try session.handle(content) }

    /// Sends a request and returns its answer.
    func ask(_ number: UInt32, _ content: Data) throws -> SentMessages.Message? {
        try session.handle(content)
        return sent.answer(number)
    }
}
