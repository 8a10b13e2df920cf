import AuthenticatorRequests
import CTAP
import Cancellations
import CanonicalCBOR
import SeededRandomness
import Testing

/// Requests that break the specification: each is refused with its code, nothing crashes, and nothing is signed.
@Suite struct BadRequestTests {
    private static let hash = CBORValue.bytes([UInt8](repeating: 5, count: 32))
    private static let algorithms = CBORValue.array([.map(["alg": .number(-7), "type": .text("public-key")])])
    private static let party = CBORValue.map(["id": .text("example.com"), "name": .text("Example")])
    private static let user = CBORValue.map(["id": .bytes([1, 2, 3]), "name": .text("ada")])

    private static func creation(_ changed: [Int: CBORValue?] = [:]) -> [UInt8] {
        request(1, [1: hash, 2: party, 3: user, 4: algorithms, 7: .map(["rk": .boolean(false)])], changed)
    }

    private static func assertion(_ changed: [Int: CBORValue?] = [:]) -> [UInt8] {
        request(2, [1: .text("example.com"), 2: hash], changed)
    }

    private static func request(
        _ command: UInt8, _ members: [Int: CBORValue], _ changed: [Int: CBORValue?]
    ) -> [UInt8] {
        let merged = members.merging(changed.compactMapValues { $0 }) { $1 }
            .filter { changed[$0.key].map { $0 != nil } ?? true }
        return [command] + CBORValue.map(CBORMap(merged.map { (.number($0.key), $0.value) })).encoded
    }

    private func expect(_ status: CTAPStatus, _ request: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) {
        let storage = CountingStorage()
        var authenticator = CTAPAuthenticator.forTests(storage)
        #expect(authenticator.status(request) == status, sourceLocation: sourceLocation)
        #expect(storage.signatureCount == 0, sourceLocation: sourceLocation)
    }

    @Test func `a valid creation and assertion sign`() {
        let storage = CountingStorage()
        var authenticator = CTAPAuthenticator.forTests(storage)
        let options = CBORValue.map(["rk": .boolean(true), "uv": .boolean(true)])
        #expect(authenticator.status(Self.creation([7: options])) == .success)
        #expect(authenticator.status(Self.assertion()) == .success)
        #expect(storage.signatureCount == 2)
    }

    @Test(arguments: [1, 2])
    func `each truncation is refused`(_ command: Int) {
        let request = command == 1 ? Self.creation() : Self.assertion()
        for count in 1..<request.count { expect(.invalidCBOR, Array(request.prefix(count))) }
        expect(.invalidCBOR, request + [0])
        expect(.invalidCommand, [])
    }

    @Test func `a missing member is named so`() {
        for key in 1...4 { expect(.missingParameter, Self.creation([key: nil])) }
        for key in 1...2 { expect(.missingParameter, Self.assertion([key: nil])) }
        expect(.missingParameter, Self.creation([2: .map(["name": .text("x")])]))
        expect(.missingParameter, Self.creation([3: .map(["name": .text("x")])]))
        expect(.missingParameter, Self.creation([4: .array([.map(["alg": .number(-7)])])]))
        expect(.missingParameter, Self.creation([5: .array([.map(["id": .bytes([1])])])]))
        expect(.missingParameter, Self.creation([8: .bytes([1])]))
    }

    @Test func `a member of another type is refused`() {
        for key in 1...9 {
            for wrong in [CBORValue.null, .boolean(true)] {
                expect(.unexpectedType, Self.creation([key: wrong]))
            }
        }
        for key in 1...7 { expect(.unexpectedType, Self.assertion([key: .null])) }
        expect(.unexpectedType, Self.creation([7: .map(["rk": .number(1)])]))
        expect(.unexpectedType, Self.creation([5: .array([.text("x")])]))
        expect(.unexpectedType, [1] + CBORValue.array([]).encoded)
        expect(.unexpectedType, [6] + CBORValue.map([1: .text("2"), 2: .number(2)]).encoded)
    }

    @Test func `lengths have limits`() {
        func text(_ count: Int) -> CBORValue { .map(["id": .text(String(repeating: "a", count: count))]) }
        func handle(_ count: Int) -> CBORValue { .map(["id": .bytes([UInt8](repeating: 1, count: count))]) }
        for count in [31, 33, 0] {
            expect(.invalidLength, Self.creation([1: .bytes([UInt8](repeating: 1, count: count))]))
            expect(.invalidLength, Self.assertion([2: .bytes([UInt8](repeating: 1, count: count))]))
        }
        for count in [0, CTAPLimits.relyingPartyByteCount + 1] {
            expect(.invalidLength, Self.creation([2: text(count)]))
        }
        for count in [0, 65] { expect(.invalidLength, Self.creation([3: handle(count)])) }
        let entry = CBORValue.map(["id": .bytes([1]), "type": .text("public-key")])
        expect(
            .limitExceeded, Self.creation([5: .array(Array(repeating: entry, count: CTAPLimits.listCount + 1))]))
        expect(
            .noCredentials, Self.assertion([3: .array(Array(repeating: entry, count: CTAPLimits.listCount))]))
        expect(.requestTooLarge, [1] + [UInt8](repeating: 0, count: CTAPLimits.messageByteCount))
        let storage = CountingStorage()
        var authenticator = CTAPAuthenticator.forTests(storage)
        #expect(authenticator.status(Self.creation([2: text(253), 3: handle(64)])) == .success)
    }

    @Test func `long names are cut at a whole character`() throws {
        let storage = CountingStorage()
        var authenticator = CTAPAuthenticator.forTests(storage)
        let name = String(repeating: "é", count: 40)
        let user = CBORValue.map(["id": .bytes([1]), "name": .text(name)])
        #expect(authenticator.status(Self.creation([3: user])) == .success)
        #expect(storage.credentials().first?.user.name == String(repeating: "é", count: 32))
    }

    @Test func `bytes that are not canonical are refused`() {
        let start: [UInt8] = [1]
        expect(.invalidCBOR, start + [0xA1, 0x18, 0x01, 0x00])  // A key that could be shorter.
        expect(.invalidCBOR, start + [0xBF, 0x01, 0x00, 0xFF])  // A map without a length.
        expect(.invalidCBOR, start + [0xA2, 0x01, 0x00, 0x01, 0x00])  // A key twice.
        expect(.invalidCBOR, start + [0xA2, 0x02, 0x00, 0x01, 0x00])  // Keys out of order.
        expect(.invalidCBOR, start + [0xA1, 0x01, 0x81, 0x81, 0x81, 0x81, 0x80])  // Five levels.
        expect(.invalidCBOR, start + [0xA1, 0x01, 0xC0, 0x00])  // A tag.
        expect(.invalidCBOR, start + [0xA1, 0x01, 0x5F, 0x41, 0x00, 0xFF])  // Bytes in parts.
        expect(.invalidCBOR, start + [0xA1, 0x01, 0x61, 0xFF])  // Text that is not UTF-8.
        expect(.invalidCBOR, start + [0xA1, 0x01, 0x5B] + [UInt8](repeating: 0xFF, count: 8))
    }

    @Test func `commands and subcommands that do not exist are refused`() {
        for command in UInt8.min ... .max where CTAPCommand(rawValue: command) == nil {
            expect(.invalidCommand, [command, 0xA0])
        }
        for command: UInt8 in [4, 7, 8, 11] { expect(.invalidLength, [command, 0xA0]) }
        for number in [0, 8, 10, -1] {
            expect(.invalidSubcommand, [6] + CBORValue.map([1: .number(2), 2: .number(number)]).encoded)
            expect(.invalidSubcommand, [10] + CBORValue.map([1: .number(number)]).encoded)
        }
        expect(.notAllowed, [8])
        for number in [3, 5] { expect(.notAllowed, [10] + CBORValue.map([1: .number(number)]).encoded) }
    }

    @Test func `options that make no sense are refused`() {
        expect(.invalidOption, Self.creation([7: .map(["up": .boolean(false)])]))
        expect(.unsupportedOption, Self.assertion([5: .map(["rk": .boolean(true)])]))
        expect(.invalidParameter, Self.creation([10: .number(1)]))
        expect(.invalidParameter, Self.creation([8: .bytes([1]), 9: .number(3)]))
        expect(.pinAuthInvalid, Self.creation([8: .bytes([UInt8](repeating: 0, count: 32)), 9: .number(2)]))
        expect(.pinNotSet, Self.creation([8: .bytes([]), 9: .number(2)]))
    }

    @Test func `a point that is not on the curve agrees on nothing`() {
        let zero = CBORValue.bytes([UInt8](repeating: 0, count: 32))
        let key = CBORValue.map([1: .number(2), 3: .number(-25), -1: .number(1), -2: zero, -3: zero])
        let request = CBORValue.map([1: .number(2), 2: .number(6), 3: key, 9: .number(4)])
        expect(.invalidParameter, [6] + request.encoded)
    }

    /// Without a user who agrees nothing may be signed, whatever the bytes are.
    @Test(.timeLimit(.minutes(10)))
    func `random changes of valid requests never crash, and never sign without a question`() throws {
        var generator = SeededGenerator(seed: 11)
        let requests = [
            Self.creation([7: .map(["rk": .boolean(true), "uv": .boolean(true)])]), Self.assertion(),
            Self.creation([6: .map(["credProtect": .number(2), "hmac-secret": .boolean(true)])]),
            [6] + CBORValue.map([1: .number(2), 2: .number(2)]).encoded, [4], [8], [11],
            [10] + CBORValue.map([1: .number(2), 3: .number(2), 4: .bytes([1, 2])]).encoded,
        ]
        let storage = CountingStorage()
        var authenticator = CTAPAuthenticator.forTests(storage)
        for _ in 0..<20_000 {
            var request = try #require(requests.randomElement(using: &generator))
            for _ in 0..<Int.random(in: 1...4, using: &generator) { Self.change(&request, using: &generator) }
            let before = (storage.signatureCount, storage.questionCount)
            let answer = authenticator.respond(to: request, until: Cancellation())
            #expect(!answer.isEmpty)
            if answer.count > 1 {
                _ = try CBORDecoder.decode(answer.dropFirst(), .canonical)
            }
            // Authenticators answer an assertion without presence (`up` false) and getNextAssertion without a question.
            let isSilent = storage.questionCount == before.1
            if isSilent, storage.signatureCount > before.0 {
                #expect(request.first == 2 || request.first == 8)
            }
        }
    }

    private static func change(_ bytes: inout [UInt8], using generator: inout SeededGenerator) {
        let index = Int.random(in: 0...bytes.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0 where index < bytes.count: bytes[index] = UInt8.random(in: .min ... .max, using: &generator)
        case 1 where index < bytes.count: bytes.remove(at: index)
        case 2: bytes.insert(UInt8.random(in: .min ... .max, using: &generator), at: index)
        default: bytes = Array(bytes.prefix(index))
        }
    }
}
