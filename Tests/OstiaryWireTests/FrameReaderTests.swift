import Foundation
import Glibc
import OstiaryMessages
import OstiaryWire
import SecretMemory
import Testing
import UnixSocket

@Suite("Reading frames", .timeLimit(.minutes(10)))
struct FrameReaderTests {
    private let near: UnixSocket
    private let far: UnixSocket

    init() throws { (near, far) = try socketPair() }

    private static func request(tailByteCount: Int = 0) throws -> [UInt8] {
        try FrameWriter.frame(WireRequest.with { $0.id = 7 }, tail: SecretBytes(zeroed: tailByteCount))
    }

    /// The id of the next request, or why there is none.
    private static func next(_ reader: inout FrameReader, limit: Int = .max) -> Result<UInt64, FrameReadError> {
        do { return .success(try reader.next(WireRequest.self, bodyByteCount: limit).message.id) } catch {
            return .failure(error)
        }
    }

    // MARK: who writes

    @Test func `bytes are read of the expected process and user, whatever the group says`() throws {
        try near.attachSenderCredentials()
        let (process, user, group) = (getpid(), getuid(), getgid())
        let expectations: [(PeerCredentials, Result<UInt64, FrameReadError>)] = [
            (PeerCredentials(processID: process, userID: user, groupID: group), .success(7)),
            // As for a setgid program: a connection has its effective group, and a message its real one.
            (PeerCredentials(processID: process, userID: user, groupID: group &+ 1), .success(7)),
            (PeerCredentials(processID: process, userID: user &+ 1, groupID: group), .failure(.foreignSender)),
            (PeerCredentials(processID: getppid(), userID: user, groupID: group), .failure(.foreignSender)),
        ]
        for (expected, outcome) in expectations {
            try far.send(Self.request())
            var reader = FrameReader(socket: near, expecting: expected)
            #expect(Self.next(&reader) == outcome)
        }
    }

    // MARK: waiting

    @Test func `who waits for an answer sleeps on when the other side takes the request`() throws {
        let (far, request, calls) = (far, try Self.request(), 50)
        var reader = FrameReader(socket: near)
        reader.expectAnswers()
        let sleeper = try Sleeper()
        let answering = Thread {
            for _ in 0..<calls {
                sleeper.waitUntilAsleep()
                guard (try? far.receiveAll(request.count)) != nil else { return }
                usleep(1000)  // Time to wake up, for who sleeps in a receive.
                guard (try? far.send(request)) != nil else { return }
            }
        }
        answering.start()
        let before = try sleeper.sleepCount()
        for _ in 0..<calls {
            try near.send(request)
            #expect(Self.next(&reader) == .success(7))
        }
        #expect(try sleeper.sleepCount() - before < calls * 3 / 2)
    }

    /// The thread that makes it, and whose sleep others see (proc_pid_status(5)).
    private struct Sleeper {
        private let path: String

        init() throws {
            path = try "/proc/" + FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self") + "/status"
        }

        private func value(_ name: String) -> Substring? {
            let lines = (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: "\n")
            return lines?.first { $0.hasPrefix(name + ":") }?.split(whereSeparator: \.isWhitespace).dropFirst().first
        }

        func waitUntilAsleep() {
            while let state = value("State"), state != "S" { sched_yield() }
        }

        /// How often it gave up its processor of its own accord.
        func sleepCount() throws -> Int { try #require(value("voluntary_ctxt_switches").flatMap { Int($0) }) }
    }

    // MARK: time

    @Test func `how long a connection was idle does not count against a frame's time`() throws {
        var reader = FrameReader(socket: near, frameSeconds: 1)
        let (far, frame) = (far, try Self.request())
        Thread {
            usleep(1_500_000)
            try? far.send(Array(frame[..<3]))
            usleep(20_000)
            try? far.send(Array(frame[3...]))
        }.start()
        #expect(Self.next(&reader) == .success(7))
    }

    @Test(arguments: [1, FrameHeader.byteCount, FrameHeader.byteCount + 1])
    func `a frame that is begun and not finished in time ends the connection`(count: Int) throws {
        var reader = FrameReader(socket: near, frameSeconds: 0.05)
        try far.send(Array(Self.request().prefix(count)))
        #expect(Self.next(&reader) == .failure(.unfinished))
    }

    @Test func `bytes that trickle in do not prolong a frame's time`() throws {
        var reader = FrameReader(socket: near, frameSeconds: 0.3)
        let (far, frame) = (far, try Self.request(tailByteCount: 1000))
        let begin = ContinuousClock.now
        let sender = Thread {
            for byte in frame {
                guard (try? far.send([byte])) != nil else { return }
                usleep(10_000)
            }
        }
        sender.start()
        #expect(Self.next(&reader) == .failure(.unfinished))
        near.shutdown()
        #expect(begin.duration(to: .now) < .seconds(8), "the whole frame takes ten seconds")
    }

    @Test func `header and body share one time`() throws {
        var reader = FrameReader(socket: near, frameSeconds: 0.6)
        let (far, frame) = (far, try Self.request(tailByteCount: 1000))
        let sender = Thread {
            // The header takes most of the time; what is left is too short for the rest.
            for part in [frame[..<1], frame[1..<FrameHeader.byteCount], frame[FrameHeader.byteCount...]] {
                guard (try? far.send(Array(part))) != nil else { return }
                usleep(400_000)
            }
        }
        sender.start()
        #expect(Self.next(&reader) == .failure(.unfinished))
    }

    @Test func `all frames of a handshake share one time`() throws {
        var reader = FrameReader(socket: near, frameSeconds: 10, handshakeSeconds: 0.5)
        try far.send(Self.request())
        #expect(Self.next(&reader) == .success(7))
        let begin = ContinuousClock.now
        #expect(Self.next(&reader) == .failure(.unfinished))
        #expect(begin.duration(to: .now) < .seconds(5))
    }

    @Test func `after the handshake a frame comes when it comes`() throws {
        var reader = FrameReader(socket: near, handshakeSeconds: 0.2)
        reader.endHandshake()
        let (far, frame) = (far, try Self.request())
        Thread {
            usleep(500_000)
            try? far.send(frame)
        }.start()
        #expect(Self.next(&reader) == .success(7))
    }

    // MARK: descriptors

    @Test func `a descriptor that comes before the end of the handshake gets no number here, and ends the connection`()
        throws
    {
        var reader = FrameReader(socket: near, handshakeSeconds: 5)
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        let frame = try Self.request()
        try frame.withUnsafeBytes { try far.send($0, descriptor: null) }
        let before = try openDescriptors()
        #expect(Self.next(&reader) == .failure(.surplusDescriptors))
        #expect(try openDescriptors() == before)
    }

    @Test
    func `a file comes before the end of the handshake only where it is waited for, and behind that by agreement`()
        throws
    {
        let file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        let folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { for number in [file, null, folder] { close(number) } }
        func kinds(_ reader: inout FrameReader, _ number: CInt) throws -> Result<
            [PassedDescriptor.Kind], FrameReadError
        > {
            let frame = try Self.request()
            try frame.withUnsafeBytes { try far.send($0, descriptor: number) }
            do throws(FrameReadError) {
                return .success(try reader.next(WireRequest.self).descriptors.map(\.kind))
            } catch { return .failure(error) }
        }
        var waiting = FrameReader(socket: near, handshakeSeconds: 5, takesFile: true)
        #expect(try kinds(&waiting, file) == .success([.file]))
        waiting.endHandshake(takesClients: true, takesFiles: true)
        #expect(try kinds(&waiting, file) == .success([.file]))
        #expect(try kinds(&waiting, null) == .success([.device]))
        #expect(try kinds(&waiting, folder) == .failure(.foreignDescriptor))
        var later = FrameReader(socket: near, handshakeSeconds: 5)
        later.endHandshake(takesClients: true)
        #expect(try kinds(&later, file) == .failure(.foreignDescriptor))
    }

    @Test func `of two descriptors in one message the second gets no number here`() throws {
        var reader = FrameReader(socket: near, handshakeSeconds: 5)
        reader.endHandshake()
        let before = try openDescriptors()
        try sendTwoDescriptors(on: far, with: Self.request())
        #expect(Self.next(&reader) == .failure(.surplusDescriptors))
        #expect(try openDescriptors() == before)
    }

    /// The numbers of the open descriptors that lead to /dev/null; other tests open other files meanwhile.
    private func openDescriptors() throws -> Set<String> {
        let folder = "/proc/self/fd"
        return Set(
            try FileManager.default.contentsOfDirectory(atPath: folder).filter {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) == "/dev/null"
            })
    }

    // MARK: size

    @Test func `a frame within the reader's limit is read, tail included`() throws {
        var reader = FrameReader(socket: near)
        let frame = try Self.request(tailByteCount: 10)
        try far.send(frame)
        #expect(Self.next(&reader, limit: frame.count - FrameHeader.byteCount) == .success(7))
    }

    @Test(arguments: [0, 1, 11]) func `a frame beyond the reader's limit is refused`(missing: Int) throws {
        var reader = FrameReader(socket: near)
        let frame = try Self.request(tailByteCount: 10)
        let limit = frame.count - FrameHeader.byteCount - missing
        try far.send(frame)
        #expect(Self.next(&reader, limit: limit) == (missing == 0 ? .success(7) : .failure(.frame(.tooLarge))))
    }

    @Test func `what is announced beyond the limit is refused before it comes`() throws {
        var reader = FrameReader(socket: near)
        try far.send([0, 0, 0x10, 0x01, 0, 0, 0, 0])
        #expect(Self.next(&reader, limit: 4096) == .failure(.frame(.tooLarge)))
    }
}
