import Foundation
import SecretMemory
import SeededRandomness
import Testing

@testable import AgePlugin

@Suite struct Bech32Tests {
    /// BIP 173, "Test vectors", and beyond its limit of 90 characters, which age does not have.
    @Test(arguments: [
        "A12UEL5L", "a12uel5l",
        "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs",
        "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw",
        "11qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqc8247j",
        "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w",
        "an84characterslonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1569pvx",
    ])
    func `a published text is read, and written the same`(text: String) throws {
        let decoded = try Bech32.decode(text)
        #expect(Bech32.encode(prefix: decoded.prefix, decoded.bytes) == text)
    }

    private static let malformed: [(String, Bech32Error)] = [
        ("split1checkupstagehandshakeupstreamerranterredcaperred2y9e2w", .checksum),
        ("s lit1checkupstagehandshakeupstreamerranterredcaperredp8hs2p", .character),
        ("spl\u{7F}t1checkupstagehandshakeupstreamerranterredcaperred2y9e3w", .character),
        ("spl\u{E9}t1checkupstagehandshakeupstreamerranterredcaperred2y9e3w", .character),
        ("split1cheo2y9e2w", .character), ("split1a2y9w", .separator), ("pzry9x0s0muk", .separator),
        ("1pzry9x0s0muk", .separator), ("x1b4n0q5v", .character), ("li1dgmt3", .separator), ("A1G7SGD8", .checksum),
        ("10a06t8", .separator), ("1qzzfhee", .separator), ("", .separator), ("a12UEL5L", .mixedCase),
        ("A12uel5l", .mixedCase),
    ]

    @Test(arguments: malformed)
    func `a text that is none is refused`(text: String, error: Bech32Error) {
        #expect(throws: error) { try Bech32.decode(text) }
    }

    @Test func `every size comes back, in both cases`() throws {
        var random = SeededGenerator(seed: 1)
        for count in 0..<70 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            for prefix in ["age1x", "AGE-PLUGIN-X-"] {
                let text = Bech32.encode(prefix: prefix, bytes)
                #expect(try Bech32.decode(text) == Bech32.Decoded(prefix: prefix, bytes: bytes))
            }
        }
    }

    @Test func `each truncation and each changed character is refused`() throws {
        let text = Bech32.encode(prefix: "age1x", Array(1...20))
        for count in 0..<text.count {
            #expect(throws: Bech32Error.self) { try Bech32.decode(String(text.prefix(count))) }
        }
        for index in text.indices where index > text.lastIndex(of: "1")! {
            for other in "qpzry9x8gf2tvdw0s3jn54khce6mua7l" where other != text[index] {
                let changed = text.replacingCharacters(in: index...index, with: String(other))
                #expect(throws: Bech32Error.checksum) { try Bech32.decode(changed) }
            }
        }
    }

    @Test(arguments: [
        // Valid checksums over one group too many, and over bits behind the last byte, from another implementation.
        ("a1qqqd87cpp", Bech32Error.padding), ("a1q3g6mn3", .padding), ("a1qpamnt9j", .padding),
    ])
    func `bits that no encoder writes are refused`(text: String, error: Bech32Error) {
        #expect(throws: error) { try Bech32.decode(text) }
    }
}

@Suite struct Base64Tests {
    @Test func `every size comes back, and is what Foundation writes without padding`() throws {
        var random = SeededGenerator(seed: 2)
        for count in 0..<100 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            let text = Base64.encode(bytes)
            #expect(text == Data(bytes).base64EncodedString().replacing("=", with: ""))
            #expect(text.utf8.count == Base64.characterCount(ofByteCount: count))
            #expect(Base64.decode(text.utf8) == bytes)
        }
    }

    @Test(arguments: ["A", "AAAAA", "AA==", "AAA=", "AB", "AAB", "A A", "AA\n", "-_", "\u{E9}A", "AA\0"])
    func `text that is not canonical is refused`(text: String) {
        #expect(Base64.decode(text.utf8) == nil)
    }
}

@Suite struct StanzaTests {
    private func read(_ input: String, portion: Int = .max) throws -> (words: [String], body: Data) {
        var reader = StanzaReader(PlayedAge(input, answers: "", portion: portion))
        let stanza = try reader.next()
        return (stanza.words, Data(exposing: stanza.body))
    }

    @Test func `bodies of every size come back, however little a read gives`() throws {
        for count in 0..<200 {
            let body = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37) })
            let text = text("type", "argument", body: body)
            #expect(text.split(separator: "\n").allSatisfy { $0.utf8.count <= 64 })
            for portion in [1, 7, Int.max] {
                let stanza = try read(text, portion: portion)
                #expect(stanza.words == ["type", "argument"] && stanza.body == body)
            }
        }
    }

    @Test func `a body that fills its last line ends with an empty one`() {
        #expect(text("a", body: Data(count: 48)) == "-> a\n" + String(repeating: "A", count: 64) + "\n\n")
        #expect(text("a") == "-> a\n\n")
    }

    @Test func `each truncation is refused as an end`() throws {
        let text = text("type", "argument", body: Data(repeating: 7, count: 60))
        for count in 0..<text.utf8.count {
            #expect(throws: StanzaError.ended(isWithin: count > 0)) { try read(String(text.prefix(count))) }
        }
    }

    private static func letters(_ count: Int) -> String { String(repeating: "A", count: count) }

    private static let malformed: [(String, StanzaError)] = [
        ("-> \n\n", .firstLine), ("->\n\n", .firstLine), ("->a\n\n", .firstLine), ("--- a\n\n", .firstLine),
        ("-> a  b\n\n", .firstLine), ("-> a \n\n", .firstLine), (" -> a\n\n", .firstLine), ("-> a\tb\n\n", .firstLine),
        ("-> a\r\n\n", .firstLine), ("-> \u{E9}\n\n", .firstLine), ("-> a\u{7F}\n\n", .firstLine), ("\n\n", .firstLine),
        ("-> a\nA\n", .body), ("-> a\nAB\n", .body), ("-> a\nAAB\n", .body), ("-> a\nAA==\n", .body),
        ("-> a\nA A\n", .body), ("-> a\nAA\r\n", .body), ("-> a\n-> b\n", .body),
        ("-> a\n\(letters(65))\n\n", .body),
        ("-> a\n\(letters(64))\nA\n", .body),
        ("-> a\n\(letters(62))B\n", .body),
    ]

    @Test(arguments: malformed)
    func `a malformed stanza is refused`(input: String, error: StanzaError) {
        #expect(throws: error) { try read(input) }
    }

    @Test func `a line and a body of the greatest size are read, and no larger ones`() throws {
        let longest = String(repeating: "x", count: StanzaLimits.lineByteCount - 3)
        #expect(try read("-> \(longest)\n\n").words == [longest])
        #expect(throws: StanzaError.tooLarge) { try read("-> \(longest)x\n\n") }
        let body = Data(count: StanzaLimits.bodyByteCount)
        #expect(try read(text("a", body: body)).body == body)
        #expect(throws: StanzaError.tooLarge) { try read(text("a", body: body + [0])) }
    }
}

@Suite struct TaggedStanzaTests {
    private let keys = PlayedKeys()

    private func read(_ words: [String], _ body: Data) throws -> TaggedStanza? {
        try TaggedStanza(words: words[...], body: body)
    }

    @Test(arguments: TaggedKind.allCases) func `a stanza comes back from its words`(kind: TaggedKind) throws {
        let stanza = try keys.recipient(of: keys.make(kind)).wrap(SecretBytes(fileKey))
        #expect(stanza.kind == kind && stanza.words.count == 3 && stanza.ciphertext.count == 32)
        #expect(try read(stanza.words, stanza.ciphertext) == stanza)
    }

    @Test func `stanzas of other types are none`() throws {
        for words in [["X25519", "A"], ["P256TAG", "A", "A"], ["p256tag.", "A"], ["x-grease", "~"]] {
            #expect(try read(words, Data()) == nil)
        }
    }

    @Test(arguments: TaggedKind.allCases) func `each malformed part is refused as that`(kind: TaggedKind) throws {
        let good = try keys.recipient(of: keys.make(kind)).wrap(SecretBytes(fileKey))
        let (words, body) = (good.words, good.ciphertext)
        func refused(_ words: [String], _ body: Data, _ error: TaggedStanzaError) {
            #expect(throws: error) { try read(words, body) }
        }
        for count in 1...2 { refused(Array(words.prefix(count)), body, .argumentCount) }
        refused(words + ["x"], body, .argumentCount)
        for tag in ["AAAA", "AAAAAAA", "AAAAAB", "AAAAA=", "A", "????"] {
            refused([words[0], tag, words[2]], body, .tag)
        }
        for count in 0..<words[2].utf8.count {
            refused([words[0], words[1], String(words[2].prefix(count))], body, .encapsulatedKey)
        }
        for text in [words[2] + "A", words[2] + "=", "?" + words[2].dropFirst()] {
            refused([words[0], words[1], text], body, .encapsulatedKey)
        }
        let noPoint = Base64.encode(Array(good.encapsulated.dropLast(2)) + [1, 2])
        refused([words[0], words[1], noPoint], body, .encapsulatedKey)
        for count in [0, 16, 31, 33, 48] { refused(words, Data(count: count), .body) }
    }

    /// The tag of C2SP age, "p256tag recipient stanza", computed by another implementation.
    @Test(arguments: TaggedKind.allCases) func `a tag is that of another implementation`(kind: TaggedKind) throws {
        struct Case: Encodable { let info, encapsulated, point: String }
        let identity = try keys.make(kind)
        let stanza = try keys.recipient(of: identity).wrap(SecretBytes(fileKey))
        let point = kind == .p256 ? identity.point.compressed : identity.point.uncompressed
        let expected = try PythonHPKE.run(
            """
            enc, point = data("encapsulated"), data("point")
            result = extract(cases["info"].encode(), enc + hashlib.sha256(point).digest()[:4])[:4]
            """,
            Case(
                info: "age-encryption.org/\(kind.rawValue)", encapsulated: stanza.encapsulated.base64EncodedString(),
                point: point.base64EncodedString()))
        #expect(stanza.tag == expected)
        #expect(stanza.isAddressed(to: identity.point))
        #expect(try !stanza.isAddressed(to: keys.make(kind).point))
    }
}
