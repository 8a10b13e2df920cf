import CanonicalEncoding
import Foundation
import OstiaryMessages
import OstiaryWire
import SecretMemory
import Testing

/// The examples of Documentation/formats/wire.md, byte by byte.
@Suite("The format of messages") struct MessageFormatTests {
    private static func bytes(_ text: String) -> [UInt8] {
        let digits = text.filter { !$0.isWhitespace }
        return stride(from: 0, to: digits.count, by: 2).map { offset in
            UInt8(digits.dropFirst(offset).prefix(2), radix: 16)!
        }
    }

    private static let nonce = Data(bytes("9f8b2eb7cf42c3a350811757d38f5cb2"))
    /// The random bytes, and the newest version of the daemon.
    private static let greetedNonce = Data(bytes("9f8b2eb7cf42c3a350811757d38f5cb20a"))
    private static let id = Data(bytes("00112233445566778899aabbccddeeff"))

    private static func request(_ id: UInt64, _ body: WireRequest.OneOf_Body) -> WireRequest {
        .with { ($0.id, $0.body) = (id, body) }
    }

    private static func reply(_ id: UInt64, _ body: WireReply.OneOf_Body) -> WireReply {
        .with { ($0.id, $0.body) = (id, body) }
    }

    static let requests: [(WireRequest, String)] = [
        (
            request(1, .hello(.with { ($0.protocolVersion, $0.nonce) = (10, greetedNonce) })),
            "0000000000000001 01 02 0000000a 00000011 9f8b2eb7cf42c3a350811757d38f5cb20a"
        ),
        (request(2, .status(.init())), "0000000000000002 01 03"),
        (
            request(6, .environment(.with { $0.known = .with { $0.passcode.isSet = true } })),
            "0000000000000006 01 05 01 00 00 01 00000000 00000000"
        ),
        (
            request(
                3,
                .authorize(
                    .with {
                        $0.contextID = 1
                        $0.subject = .rightID(id)
                        $0.question.reason = "sign in"
                    })),
            """
            0000000000000003 01 10 0000000000000001 01 01 00000010 00112233445566778899aabbccddeeff 00
            00000007 7369676e20696e 00 00000000 00000000 00 00
            """
        ),
        (
            request(
                4,
                .sign(
                    .with { ($0.contextID, $0.rightID, $0.algorithm) = (1, id, "algid:sign:ECDSA:digest-X962:SHA256") })
            ),
            """
            0000000000000004 01 1e 0000000000000001 00000010 00112233445566778899aabbccddeeff
            00000023 616c6769643a7369676e3a45434453413a6469676573742d583936323a534841323536
            00000000
            """
        ),
        (
            request(
                5,
                .findItems(
                    .with {
                        $0.query.itemClass = "genp"
                        $0.query.attributes = [.with { ($0.key, $0.value) = ("acct", .text("né")) }]
                        ($0.limit, $0.returnsData) = (1, true)
                        $0.use.withholdsQuestion = true
                    })),
            """
            0000000000000005 01 3d 00000004 67656e70 00000001 00000004 61636374 01 02 00000003 6ec3a9
            00000000 00000000 00000000 00000001 01 00 0000000000000000 00 00 01 00 0000000000000000 00 00000000
            """
        ),
        (
            request(
                6,
                .updateItems(
                    .with {
                        ($0.query.itemClass, $0.query.itemID) = ("free", id)
                        $0.attributes = [.with { ($0.key, $0.value) = (".service", .text("né")) }]
                        $0.replacesFreeAttributes = true
                    })),
            """
            0000000000000006 01 3e 00000004 66726565 00000000 00000000 00000010 00112233445566778899aabbccddeeff 00000000
            00000001 00000008 2e73657276696365 01 02 00000003 6ec3a9 00000000 00000000 00
            0000000000000000 00 00 00 00 01
            """
        ),
        (
            request(
                7, .watchItems(.with { $0.queries = [.with { ($0.itemClass, $0.synchronizable) = ("genp", .any) }] })),
            "0000000000000007 01 44 00000001 00000004 67656e70 00000000 00000002 00000000 00000000"
        ),
        (
            request(8, .forgetUser(.with { ($0.userID, $0.name, $0.endsConnections) = (1001, "ada", true) })),
            "0000000000000008 01 84 000003e9 00000003 616461 01"
        ),
        (
            request(
                9,
                .grantLease(
                    .with {
                        ($0.objectIDs, $0.program, $0.operations) = ([id], "/bin/a", ["sign"])
                        ($0.destinations, $0.hardSeconds, $0.uses) = (["h"], 600, 20)
                        $0.question.reason = "r"
                    })),
            """
            0000000000000009 01 8c 00000001 00000010 00112233445566778899aabbccddeeff 00000000 00000006 2f62696e2f61
            00 00000000 00000001 00000004 7369676e 00000001 00000001 68 00000000 00 00000258 01 00000014 01
            00000001 72 00 00000000 00000000 00
            """
        ),
        (request(10, .listLeases(.with { $0.offset = 2 })), "000000000000000a 01 8d 00000002"),
        (request(11, .revokeLeases(.with { $0.leaseID = 7 })), "000000000000000b 01 8e 01 0000000000000007"),
    ]

    static let replies: [(WireReply, String)] = [
        (reply(1, .done(.init())), "0000000000000001 01 03 00000000 00"),
        (
            reply(
                3,
                .failure(
                    .with {
                        ($0.code, $0.explanation) = (27, "Wait.")
                        ($0.retryAfterSeconds, $0.cause) = (1.5, "passcode.locked-out")
                    })),
            """
            0000000000000003 01 02 0000001b 00000005 576169742e 3ff8000000000000
            00000013 70617373636f64652e6c6f636b65642d6f7574
            """
        ),
        (
            reply(
                5,
                .items(
                    .with {
                        $0.items = [
                            .with { ($0.itemID, $0.itemClass, $0.hasData_p, $0.dataByteCount) = (id, "genp", true, 6) }
                        ]
                    })),
            """
            0000000000000005 01 0d 00000001 00000010 00112233445566778899aabbccddeeff 00000004 67656e70
            00000000 00000000 00000000 01 00000006 00000000 00000000 00000000 0000000000000000
            """
        ),
        (
            reply(
                7,
                .itemNews(
                    .with {
                        ($0.unlockedSinceStart, $0.wasLocked) = (true, true)
                        $0.changes = [.with { ($0.itemID, $0.itemClass, $0.kind) = (id, "genp", .removed) }]
                    })),
            """
            0000000000000007 01 3d 00 01 01 00 00000001 00000010 00112233445566778899aabbccddeeff
            00000004 67656e70 00000003
            """
        ),
        (
            reply(
                6,
                .environment(
                    .with {
                        $0.biometry = .with {
                            ($0.type, $0.isUsable, $0.isEnrolled, $0.stateHash) = (1, true, true, id)
                        }
                        ($0.passcode.isUsable, $0.passcode.isSet) = (true, true)
                        $0.companions = [.with { ($0.type, $0.isUsable, $0.stateHash) = (1, true, id) }]
                    })),
            """
            0000000000000006 01 12 01 00000001 01 01 00 00000010 00112233445566778899aabbccddeeff
            01 01 00000001 00000001 01 00000010 00112233445566778899aabbccddeeff 00000000
            """
        ),
        (
            reply(6, .status(.with { ($0.mode, $0.passcode.isSet, $0.passcode.failedAttempts) = (.user, true, 2) })),
            """
            0000000000000006 01 04 00000001 00000000 00000000 00000000 00000000 00 00 01 01 00000002 00 00 00000000
            00000000 00000000 00 00000000 00 0000000000000000 00000000 00000000 00000000 00000000
            """
        ),
        (
            reply(
                6,
                .status(
                    .with {
                        $0.biometry = .with {
                            ($0.sensor, $0.fingerCount, $0.missCount, $0.missLimit) = ("r", 2, 5, 5)
                            ($0.obstacle, $0.explanation, $0.waitsForPasscode) = ("o", "e", true)
                        }
                    })),
            """
            0000000000000006 01 04 00000000 00000000 00000000 00000000 00000000 00 00 00 00 00 00 00000000
            00000000 00000000 00 00000000 01 00000001 72 00000002 01 00000005 00000005 00000001 6f 00000001 65 01 00
            0000000000000000 00000000 00000000 00000000 00000000
            """
        ),
    ]

    @Test(arguments: requests) func `requests have the bytes of the document`(request: WireRequest, text: String) throws
    {
        #expect(try request.canonicalBytes == Self.bytes(text))
        #expect(try WireRequest(canonicalBytes: Self.bytes(text)) == request)
    }

    @Test(arguments: replies) func `replies have the bytes of the document`(reply: WireReply, text: String) throws {
        #expect(try reply.canonicalBytes == Self.bytes(text))
        #expect(try WireReply(canonicalBytes: Self.bytes(text)) == reply)
    }

    @Test func `a frame is the two lengths, the message and the tail`() throws {
        let frame = try FrameWriter.frame(Self.request(2, .status(.init())), tail: SecretBytes(zeroed: 2))
        #expect(frame == Self.bytes("0000000a 00000002 0000000000000002 01 03 0000"))
    }

    // MARK: the greeting

    private static let greeting = WireGreeting(ProtocolVersions(7...10), random: nonce)

    @Test func `the greeting has the bytes of the document`() throws {
        let bytes = Self.bytes("08 07 12 11 9f8b2eb7cf42c3a350811757d38f5cb2 0a")
        #expect(try Self.greeting.canonicalBytes == bytes)
        #expect(try WireGreeting(canonicalBytes: bytes) == Self.greeting)
        #expect(try FrameWriter.frame(Self.greeting).prefix(8) == [0, 0, 0, 0x15, 0, 0, 0, 0])
    }

    @Test func `the greeting of protocol 1 is read, so that its version can be told`() throws {
        let greeting = try WireGreeting(canonicalBytes: Self.bytes("08 01 12 10 9f8b2eb7cf42c3a350811757d38f5cb2"))
        #expect(greeting.versions == ProtocolVersions(1...1) && greeting.nonce == Self.nonce)
    }

    @Test func `requests of protocol 1 are none`() {
        for text in ["08 01 12 14 08 01 12 10 9f8b2eb7cf42c3a350811757d38f5cb2", "08 01 1a 00", "08 02 ca 02 00"] {
            #expect(throws: CanonicalEncodingError.self) { try WireRequest(canonicalBytes: Self.bytes(text)) }
        }
    }

    static let notGreetings: [(String, CanonicalEncodingError)] = [
        ("09 03 12 00", .unknownChoice), ("08 80 12 00", .unknownChoice), ("08 02 13 00", .unknownChoice),
        ("08 02 12 00 00", .trailingBytes), ("08 02 12 01", .truncated), ("08 02 12", .truncated), ("", .truncated),
        ("08 02 12 80" + String(repeating: "00", count: 128), .unknownChoice),
    ]

    @Test(arguments: notGreetings) func `no other form is a greeting`(text: String, error: CanonicalEncodingError) {
        #expect(throws: error) { try WireGreeting(canonicalBytes: Self.bytes(text)) }
    }

    @Test(arguments: [(127, 127, true), (128, 16, false), (.max, 16, false), (2, 128, false)] as [(UInt32, Int, Bool)])
    func `a greeting holds a version and a nonce below 128`(version: UInt32, count: Int, fits: Bool) {
        let greeting = WireGreeting.with { ($0.oldestVersion, $0.nonce) = (version, Data(count: count)) }
        if fits {
            #expect((try? WireGreeting(canonicalBytes: greeting.canonicalBytes)) == greeting)
        } else {
            #expect(throws: FrameError.malformed) { try FrameWriter.frame(greeting) }
        }
    }
}
