import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import OstiaryWire
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// What a client gets that does not keep to the protocol, and what everybody else notices of it: nothing.
@Suite(.timeLimit(.minutes(10))) struct ProtocolAbuseTests {
    let daemon: DaemonProcess
    /// Behaves well all the while.
    let witness: RawClient
    private let descriptorCount: Int?

    init() throws {
        daemon = try DaemonProcess(in: DaemonFolders())
        witness = try daemon.client()
        descriptorCount = daemon.descriptorCount
    }

    /// Ends the abuser's connection, if the daemon has not: the clients before and after are served, and nothing is
    /// left.
    private func expectUnharmed(by abuser: RawClient? = nil, _ location: SourceLocation = #_sourceLocation) throws {
        abuser?.close()
        #expect(try witness.status().mode == .userForTests, sourceLocation: location)
        let next = try daemon.client()
        #expect(try next.status().mode == .userForTests, sourceLocation: location)
        next.close()
        try eventually("the daemon has as many descriptors as before") { daemon.descriptorCount == descriptorCount }
    }

    // MARK: bytes that are no frame

    static let notFrames: [(String, [UInt8], String)] = [
        ("noise", Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8), "frame(OstiaryWire.FrameError.tooLarge)"),
        ("a message of 4 GiB", [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0], "frame(OstiaryWire.FrameError.tooLarge)"),
        ("a tail of 4 GiB", [0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 8], "frame(OstiaryWire.FrameError.tooLarge)"),
        ("an empty frame", [0, 0, 0, 0, 0, 0, 0, 0], "frame(OstiaryWire.FrameError.empty)"),
        (
            "no message in a frame", [0, 0, 0, 4, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF],
            "frame(OstiaryWire.FrameError.malformed)"
        ),
        (
            "a request without a body", [0, 0, 0, 9, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, 1, 0],
            "frame(OstiaryWire.FrameError.malformed)"
        ),
        (
            "an unknown body", [0, 0, 0, 10, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, 1, 1, 99],
            "frame(OstiaryWire.FrameError.malformed)"
        ),
        (
            "a request and a byte more", [0, 0, 0, 11, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, 1, 1, 41, 0],
            "frame(OstiaryWire.FrameError.malformed)"
        ),
        (
            "the hello of protocol 1",
            [0, 0, 0, 24, 0, 0, 0, 0, 0x08, 1, 0x12, 20, 0x08, 1, 0x12, 16] + [UInt8](repeating: 7, count: 16),
            "frame(OstiaryWire.FrameError.malformed)"
        ),
    ]

    @Test(arguments: notFrames, [true, false])
    func `what is no request ends the connection`(_ abuse: (String, [UInt8], String), greeted: Bool) throws {
        let client = try daemon.connect()
        if greeted { try client.greet() } else { _ = try client.greeting() }
        try client.send(bytes: abuse.1)
        #expect(try client.isEndedByDaemon)
        try eventually("the log says \(abuse.2)") { daemon.standardError.contains("cause=\(abuse.2)") }
        try expectUnharmed(by: client)
    }

    @Test func `a frame that is cut off by the end of the connection is dropped`() throws {
        let client = try daemon.client()
        try client.send(bytes: [0, 0, 0, 100, 0, 0, 0, 0, 1, 2, 3])
        client.closeSending()
        #expect(try client.isEndedByDaemon)
        try eventually("the log says so") { daemon.standardError.contains("cause=unfinished") }
        try expectUnharmed(by: client)
    }

    @Test func `silence, before the greeting or within a frame, ends the connection in bounded time`() throws {
        let mute = try daemon.connect()
        let slow = try daemon.client()
        try slow.send(bytes: [0, 0, 0, 100])
        let begin = ContinuousClock.now
        _ = try mute.greeting()
        #expect(try mute.isEndedByDaemon)
        #expect(try slow.isEndedByDaemon)
        #expect(begin.duration(to: .now) < .seconds(20))
        mute.close()
        try expectUnharmed(by: slow)
    }

    // MARK: requests out of order

    @Test func `nothing is answered before the greeting`() throws {
        let client = try daemon.connect()
        let greeting = try client.greeting()
        for body in [.status, .lock, .openContext(.init()), .readLog(.init()), .cancel(.init())]
            as [WireRequest.OneOf_Body]
        {
            #expect(try client.ask(body).refusal == .outOfOrder)
        }
        let hello = WireHello.with {
            $0.protocolVersion = WireLimits.protocolVersion
            $0.nonce = greeting.nonce
        }
        #expect(try client.ask(.hello(hello)).isDone)
        #expect(try client.ask(.hello(hello)).refusal == .outOfOrder, "greeted twice")
        #expect(try client.status().mode == .userForTests)
        try expectUnharmed(by: client)
    }

    @Test(arguments: [Data(), Data(count: 16), Data(count: 17)])
    func `a wrong nonce is refused and opens nothing`(_ nonce: Data) throws {
        let client = try daemon.connect()
        _ = try client.greeting()
        let hello = WireHello.with {
            $0.protocolVersion = WireLimits.protocolVersion
            $0.nonce = nonce
        }
        #expect(try client.ask(.hello(hello)).refusal == .malformed)
        #expect(try client.ask(.status).refusal == .outOfOrder)
        try expectUnharmed(by: client)
    }

    @Test func `another connection's nonce is refused`() throws {
        let client = try daemon.connect()
        _ = try client.greeting()
        let other = try daemon.connect().greeting()
        let hello = WireHello.with {
            $0.protocolVersion = WireLimits.protocolVersion
            $0.nonce = other.nonce
        }
        #expect(try client.ask(.hello(hello)).refusal == .malformed)
    }

    @Test(arguments: [0, 1, ProtocolVersions.ofThisBuild.oldest - 1, WireLimits.protocolVersion + 1, .max])
    func `another protocol version is told so and sent away`(_ version: UInt32) throws {
        let client = try daemon.connect()
        let greeting = try client.greeting()
        try client.send(
            .hello(
                .with {
                    $0.protocolVersion = version
                    $0.nonce = greeting.nonce
                }))
        let answers = try client.answersUntilEnd()
        #expect(answers.map(\.refusal) == [.versionMismatch])
        let older = version < ProtocolVersions.ofThisBuild.oldest ? "program" : "daemon"
        #expect(answers.first?.failure?.explanation.contains("The \(older) is older: upgrade") == true)
        try expectUnharmed(by: client)
    }

    @Test func `request id 0 is refused`() throws {
        let client = try daemon.client()
        try client.send(.status, id: 0)
        let answer = try client.answer()
        #expect(answer.id == 0)
        #expect(answer.refusal == .malformed)
        try expectUnharmed(by: client)
    }

    // MARK: names of things that are not the caller's

    @Test func `a context of another connection does not exist`() throws {
        let owner = try daemon.client()
        var contexts: [UInt64] = []
        for _ in 0..<5 { contexts.append(try owner.openContext()) }
        let thief = try daemon.client()
        for context in contexts + [0, .max] {
            let bodies: [WireRequest.OneOf_Body] = [
                .closeContext(.with { $0.contextID = context }), .deauthorize(.with { $0.contextID = context }),
                .sign(Data(count: 16), in: context), .readSecret(Data(count: 16), in: context),
                .setCredential(.with { $0.contextID = context }), .credentialState(.with { $0.contextID = context }),
                .evaluatePolicy(
                    .with {
                        $0.contextID = context
                        $0.policy = 2
                        $0.question = .reason("to test")
                    }),
            ]
            for body in bodies { #expect(try thief.ask(body).refusal == .unknownContext, "\(body)") }
        }
        #expect(try owner.ask(.deauthorize(.with { $0.contextID = contexts[0] })).isDone)
        owner.close()
        try expectUnharmed(by: thief)
    }

    @Test func `a right is signed with, decrypted with and shown only after it was authorized`() throws {
        let client = try daemon.client()
        let made = try client.ask(.createRight("open", .unrestricted, hasSecret: true), tail: [1, 2, 3])
        let right = try #require(made.right).rightID
        let context = try client.openContext()
        let bodies: [(WireRequest.OneOf_Body, [UInt8])] = [
            (.sign(right, in: context), WireRequest.OneOf_Body.digest), (.readSecret(right, in: context), []),
            (
                .decrypt(
                    .with {
                        $0.contextID = context; $0.rightID = right
                    }), [1]
            ),
            (
                .exchange(
                    .with {
                        $0.contextID = context; $0.rightID = right
                    }), []
            ),
        ]
        for (body, tail) in bodies { #expect(try client.ask(body, tail: tail).refusal == .notAuthorized) }
        // The same requests are carried out afterwards, so it was the authorization that was missing.
        #expect(try client.ask(.authorize(right, in: context)).factors == [])
        #expect(try client.ask(bodies[0].0, tail: bodies[0].1).isDone)
        #expect(try client.ask(bodies[1].0).tail == [1, 2, 3])
        #expect(try client.ask(bodies[2].0, tail: bodies[2].1).refusal == .unsupportedAlgorithm)
        let other = try client.openContext()
        #expect(try client.ask(.sign(right, in: other), tail: bodies[0].1).refusal == .notAuthorized, "another context")
        try expectUnharmed(by: client)
    }

    @Test(arguments: [Data(), Data(count: 15), Data(count: 16), Data(count: 17), Data(count: 5000)])
    func `an unknown right is not found`(_ id: Data) throws {
        let client = try daemon.client()
        let context = try client.openContext()
        #expect(try client.ask(.authorize(id, in: context)).refusal == .notFound)
        #expect(try client.ask(.removeRight(.with { $0.which = .rightID(id) })).refusal == .notFound)
        // Whether a right exists is not told to whoever is not authorized for it.
        let use = try client.ask(.sign(id, in: context), tail: WireRequest.OneOf_Body.digest)
        #expect(use.refusal == (id.count == 16 ? .notAuthorized : .notFound))
        try expectUnharmed(by: client)
    }

    static let incomplete: [(WireRequest.OneOf_Body, WireFailureCode)] = [
        (.authorize(WireAuthorizeRequest()), .malformed), (.removeRight(WireRemoveRightRequest()), .malformed),
        (.findRight("nothing"), .notFound), (.removeRight("nothing"), .notFound),
        (.createRight(WireCreateRightRequest()), .invalidParameter),
        (.createRight(.with { $0.identifier = "x" }), .invalidRule),
        (
            .createRight(
                .with {
                    $0.identifier = "x"; $0.accessControl = Data([1, 3, 0])
                }), .invalidRule
        ),
        (.createRight(String(repeating: "x", count: 513), .unrestricted), .invalidParameter),
        (.createRight("line\nbreak", .unrestricted), .invalidParameter),
        (.passcode(WirePasscodeRequest()), .emptyReason), (.passcode(.unspecified), .malformed),
        (.passcode(.UNRECOGNIZED(9)), .malformed), (.passcode(.change), .passcodeNotSet),
        (.passcode(.remove), .passcodeNotSet),
        (
            .evaluatePolicy(
                .with {
                    $0.policy = 99; $0.preflight = true
                }), .invalidParameter
        ),
    ]

    @Test(arguments: incomplete)
    func `a request that lacks what it is about is refused`(_ body: WireRequest.OneOf_Body, _ code: WireFailureCode)
        throws
    {
        let client = try daemon.client()
        #expect(try client.ask(body).refusal == code)
        try expectUnharmed(by: client)
    }

    @Test func `a rule of a passcode is refused while there is none`() throws {
        let client = try daemon.client()
        #expect(try client.ask(.createRight("2fa", .passcode)).refusal == .passcodeNotSet)
        try expectUnharmed(by: client)
    }

    // MARK: more than allowed

    static let tails: [(WireRequest.OneOf_Body, Int)] = [
        (.status, 0), (.lock, 0), (.findRight("x"), 0), (.setCredential(.with { $0.contextID = 1 }), 1024),
        (.sign(Data(count: 16), in: 1), 64), (.readSecret(Data(count: 16), in: 1), 0),
        (.createRight("x", .unrestricted, hasSecret: true), 64 * 1024), (.authorize(Data(count: 16), in: 1), 0),
    ]

    @Test(arguments: tails)
    func `a tail of the largest size passes, and one byte more is refused`(
        _ body: WireRequest.OneOf_Body, _ limit: Int
    ) throws {
        let client = try daemon.client()
        #expect(try client.openContext() == 1)
        #expect(try client.ask(body, tail: [UInt8](repeating: 1, count: limit)).refusal != .tooLarge)
        #expect(try client.ask(body, tail: [UInt8](repeating: 1, count: limit + 1)).refusal == .tooLarge)
        try expectUnharmed(by: client)
    }

    @Test func `a reason of the largest size passes, and one byte more is refused`() throws {
        let client = try daemon.client()
        let context = try client.openContext()
        let right = try #require(try client.ask(.createRight("open", .unrestricted)).right).rightID
        let longest = String(repeating: "x", count: WireLimits.reasonByteCount)
        #expect(try client.ask(.authorize(right, in: context, reason: longest)).factors == [])
        #expect(try client.ask(.authorize(right, in: context, reason: longest + "x")).refusal == .tooLarge)
    }

    @Test(arguments: [.status, .lock, .readLog(.init()), .sign(Data(count: 16), in: 1)] as [WireRequest.OneOf_Body])
    func `a descriptor is refused where none belongs`(_ body: WireRequest.OneOf_Body) throws {
        let client = try daemon.client()
        let null = try Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC), from: "open")
        #expect(try client.ask(body, descriptor: null.number).refusal == .malformed)
        try expectUnharmed(by: client)
    }

    @Test func `two descriptors in one frame end the connection`() throws {
        let client = try daemon.client()
        let null = try Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC), from: "open")
        for byte in [0, 0] as [UInt8] { try client.send(bytes: [byte], descriptor: null.number) }
        #expect(try client.isEndedByDaemon)
        try eventually("the log says so") { daemon.standardError.contains("cause=surplusDescriptors") }
        try expectUnharmed(by: client)
    }

    @Test func `a connection keeps a limited number of contexts`() throws {
        let client = try daemon.client()
        for _ in 0..<1024 { _ = try client.openContext() }
        #expect(try client.ask(.openContext(.init())).refusal == .tooMany)
        #expect(try client.ask(.closeContext(.with { $0.contextID = 7 })).isDone)
        #expect(try client.openContext() == 1025, "ids are never used again")
        #expect(try daemon.client().openContext() == 1, "another connection has contexts of its own")
        try expectUnharmed(by: client)
    }

    @Test func `a process has a limited number of connections, and room is made when one ends`() throws {
        var clients: [RawClient] = []
        // The witness is one more connection of this process.
        for _ in 0..<63 { clients.append(try daemon.client()) }
        let surplus = try daemon.connect()
        #expect(try surplus.isEndedByDaemon)
        for client in clients { #expect(try client.status().mode == .userForTests) }
        clients.removeLast()
        try eventually("there is room again") { (try? daemon.client()) != nil }
        clients = []
        try expectUnharmed()
    }

    @Test func `a client that never reads does not keep the daemon from others`() throws {
        let connection = try UnixSocket.connect(to: daemon.folders.socket)
        try connection.setSendTimeout(seconds: 1)
        let client = try RawClient(connection)
        try client.greet()
        // The answers fill the connection's buffer, and then the requests: the daemon waits for this client.
        #expect(throws: FrameWriteError.system(SystemCallError("sendmsg", subject: "", code: EAGAIN))) {
            while true { try client.send(.status) }
        }
        #expect(try witness.status().mode == .userForTests)
        #expect(try daemon.client().status().mode == .userForTests)
        client.close()
        try expectUnharmed()
    }

    @Test func `many connections that come and go leave nothing behind`() throws {
        for round in 0..<300 {
            let client = try daemon.connect()
            switch round % 3 {
            case 0: client.close()
            case 1: try client.greet()
            default: try client.send(bytes: [UInt8](repeating: UInt8(round % 256), count: 40))
            }
        }
        try expectUnharmed()
    }
}
