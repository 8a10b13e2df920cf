import Foundation
import Glibc
import OstiaryMessages
import OstiaryWire
import SocketTestSupport
import Testing
import UnixSocket

@Suite("Unix sockets")
struct UnixSocketTests {
    // MARK: bytes

    @Test func `bytes arrive whole and in order, and closing is seen`() throws {
        let (left, right) = try socketPair()
        try left.send([1, 2, 3])
        try left.send([4])
        #expect(try right.receiveAll(4) == [1, 2, 3, 4])
        left.shutdown()
        #expect(try right.receiveOnce().bytes.isEmpty)
    }

    @Test func `a frame beyond the socket's buffer arrives whole`() async throws {
        let (left, right) = try socketPair()
        let body = (0..<WireLimits.messageByteCount + WireLimits.tailByteCount).map {
            UInt8(truncatingIfNeeded: $0 * 7)
        }
        let sending = Task.detached {
            var header = [UInt8](repeating: 0, count: FrameHeader.byteCount)
            try FrameHeader(
                messageByteCount: WireLimits.messageByteCount, tailByteCount: WireLimits.tailByteCount
            ).write(to: &header)
            try left.send(header + body)
        }
        let header = try right.receiveHeader()
        #expect(header.bodyByteCount == body.count)
        #expect(try right.receiveAll(header.bodyByteCount) == body)
        try await sending.value
    }

    @Test func `sending to a peer that is gone fails, without a signal`() throws {
        let (left, right) = try socketPair()
        right.shutdown()
        let error = #expect(throws: SystemCallError.self) { try left.send([1]) }
        #expect(error == SystemCallError("sendmsg", subject: "", code: EPIPE))
    }

    @Test func `a receive that waits returns when the socket is shut down`() async throws {
        let (left, right) = try socketPair()
        let waiting = Task.detached { try right.receiveOnce().bytes }
        right.shutdown()
        #expect(try await waiting.value.isEmpty)
        withExtendedLifetime(left) {}
    }

    @Test func `a receive with a time limit gives up`() throws {
        let (left, right) = try socketPair()
        try right.setReceiveTimeout(seconds: 1)
        let error = #expect(throws: SystemCallError.self) { try right.receiveOnce() }
        #expect(error == SystemCallError("recvmsg", subject: "", code: EAGAIN))
        withExtendedLifetime(left) {}
    }

    @Test func `a send with a time limit gives up when nobody reads`() throws {
        let (left, right) = try socketPair()
        try left.setSendTimeout(seconds: 1)
        let error = #expect(throws: SystemCallError.self) { try left.send(Array(repeating: 0, count: 8 << 20)) }
        #expect(error == SystemCallError("sendmsg", subject: "", code: EAGAIN))
        withExtendedLifetime(right) {}
    }

    @Test func `an empty buffer and a descriptor without a byte are mistakes of the caller`() async {
        await #expect(processExitsWith: .failure) {
            let (left, right) = try socketPair()
            try left.send([1])
            _ = try right.receive(
                into: UnsafeMutableRawBufferPointer(start: nil, count: 0), expecting: [])
        }
        await #expect(processExitsWith: .failure) {
            let (left, _) = try socketPair()
            try left.send([], descriptor: 0)
        }
    }

    // MARK: who is there

    private static let ourselves = PeerCredentials(processID: getpid(), userID: getuid(), groupID: getgid())

    @Test func `the kernel says who sent, on every receive, once it is asked to`() throws {
        let (left, right) = try socketPair()
        try left.send([1])
        #expect(try right.receiveOnce().sender == nil)
        try right.attachSenderCredentials()
        for _ in 0..<2 {
            try left.send([2])
            #expect(try right.receiveOnce().sender == Self.ourselves)
        }
        #expect(try left.peerCredentials() == Self.ourselves)
    }

    @Test func `both ends of a connection know who is at the other`() throws {
        let folder = try SocketFolder()
        let listener = try UnixSocket.listen(at: folder["s"])
        let client = try UnixSocket.connect(to: folder["s"])
        let server = try listener.accept()
        #expect(try client.peerCredentials() == Self.ourselves)
        #expect(try server.peerCredentials() == Self.ourselves)
        try client.send([7])
        #expect(try server.receiveOnce().bytes == [7])
    }

    @Test func `bytes of another process say so`() throws {
        let (left, right) = try socketPair()
        try right.attachSenderCredentials()
        let child = Process()
        child.executableURL = URL(fileURLWithPath: "/bin/sh")
        child.arguments = ["-c", "printf x >&0"]
        child.standardInput = FileHandle(fileDescriptor: left.number, closeOnDealloc: false)
        try child.run()
        let received = try right.receiveOnce()
        child.waitUntilExit()
        #expect(received.bytes == Array("x".utf8))
        #expect(received.sender?.processID == child.processIdentifier)
        #expect(received.sender?.userID == getuid())
        // The process that connected is still this one: that is what the two are compared for.
        #expect(try right.peerCredentials() == Self.ourselves)
    }

    // MARK: descriptors

    @Test func `a passed descriptor is the same open file, and is closed on exec`() throws {
        let (left, right) = try socketPair()
        let tether = try Tether()
        try left.send([1, 2], descriptor: tether.writingNumber)
        let received = try right.receiveOnce()
        let passed = Descriptor(owning: received.descriptor)
        #expect(received.bytes == [1, 2])
        #expect(!received.hasSurplus)
        #expect(fcntl(passed.number, F_GETFD) & FD_CLOEXEC != 0)
        #expect(write(passed.number, "!", 1) == 1)
        var byte: UInt8 = 0
        #expect(read(tether.reading.number, &byte, 1) == 1)
        #expect(byte == UInt8(ascii: "!"))
    }

    @Test func `without a descriptor none is made up`() throws {
        let (left, right) = try socketPair()
        try left.send([1])
        let received = try right.receiveOnce()
        #expect(received.descriptor == -1)
        #expect(!received.hasSurplus)
    }

    @Test func `a descriptor comes with the first byte only`() throws {
        let (left, right) = try socketPair()
        let tether = try Tether()
        try left.send([1, 2], descriptor: tether.writingNumber)
        let first = try right.receiveOnce(upTo: 1)
        _ = Descriptor(owning: first.descriptor)
        #expect(try right.receiveOnce(upTo: 1).descriptor == -1)
    }

    /// 8 fill the room that a receive offers, 20 and 200 are cut off by the kernel.
    @Test(arguments: [2, 3, 7, 8, 9, 12, 20, 200], [false, true])
    func `surplus descriptors are closed at once, and reported`(count: Int, attachesCredentials: Bool) throws {
        let (left, right) = try socketPair()
        if attachesCredentials { try right.attachSenderCredentials() }
        let kept = try Tether()
        let surplus = try Tether()
        let numbers = [kept.writingNumber] + Array(repeating: surplus.writingNumber, count: count - 1)
        try left.sendRaw(descriptors: numbers)
        kept.closeWriting()
        surplus.closeWriting()
        let received = try right.receiveOnce()
        let first = Descriptor(owning: received.descriptor)
        #expect(received.hasSurplus)
        #expect((received.sender != nil) == attachesCredentials)
        #expect(surplus.isAbandoned)
        #expect(kept.isHeld)
        let number = first.release()
        #expect(close(number) == 0)
        #expect(kept.isAbandoned)
    }

    @Test func `a descriptor that there is no number left for is reported, not taken for absent`() async {
        await #expect(processExitsWith: .success) {
            let (left, right) = try socketPair()
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            precondition(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            // Another thread of the test runner may give a number back in between, which the descriptor gets then.
            for _ in 1...100 {
                try left.send([1], descriptor: 0)
                // Every number below the limit is taken before the receive.
                while dup(0) >= 0 {}
                let received = try right.receiveOnce()
                precondition(received.bytes == [1])
                guard received.descriptor == -1 else { continue }
                precondition(received.hasSurplus)
                return
            }
            preconditionFailure("a number was left each time")
        }
    }

    // MARK: the listening end

    @Test func `the socket file has mode 0600 from birth`() throws {
        let folder = try SocketFolder()
        let watch = try Descriptor(inotify_init1(CInt(IN_CLOEXEC) | CInt(IN_NONBLOCK)), from: "inotify_init1")
        #expect(inotify_add_watch(watch.number, folder.path, UInt32(IN_CREATE | IN_ATTRIB)) >= 0)
        let listener = try UnixSocket.listen(at: folder["s"])
        var status = stat()
        #expect(lstat(folder["s"], &status) == 0)
        #expect(status.st_mode == S_IFSOCK | 0o600)
        // A mode that was narrowed after birth would show as a change of attributes.
        var events = [UInt8](repeating: 0, count: 4096)
        let count = read(watch.number, &events, events.count)
        #expect(count > 0)
        let mask = events.withUnsafeBytes { $0.load(fromByteOffset: 4, as: UInt32.self) }
        let nameByteCount = events.withUnsafeBytes { $0.load(fromByteOffset: 12, as: UInt32.self) }
        #expect(mask == UInt32(IN_CREATE))
        #expect(count == 16 + Int(nameByteCount))
        withExtendedLifetime(listener) {}
    }

    @Test func `a path that exists is refused and left alone`() throws {
        let folder = try SocketFolder()
        try "precious".write(toFile: folder["s"], atomically: false, encoding: .utf8)
        let error = #expect(throws: SystemCallError.self) { try UnixSocket.listen(at: folder["s"]) }
        #expect(error == SystemCallError("bind", subject: folder["s"], code: EADDRINUSE))
        #expect(try String(contentsOfFile: folder["s"], encoding: .utf8) == "precious")
    }

    @Test func `paths that cannot be are refused on both sides`() throws {
        let folder = try SocketFolder()
        let longest = folder[String(repeating: "x", count: 107 - folder[""].utf8.count)]
        let listener = try UnixSocket.listen(at: longest)
        _ = try UnixSocket.connect(to: longest)
        withExtendedLifetime(listener) {}
        for (path, code) in [
            (longest + "x", ENAMETOOLONG), (folder["none/s"], ENOENT), ("", ENOENT),
        ] {
            #expect(throws: SystemCallError("bind", subject: path, code: code)) { try UnixSocket.listen(at: path) }
            #expect(throws: SystemCallError("connect", subject: path, code: code)) {
                try UnixSocket.connect(to: path)
            }
        }
    }

    @Test func `a socket file that nobody listens on refuses connections`() throws {
        let folder = try SocketFolder()
        do { _ = try UnixSocket.listen(at: folder["s"]) }
        #expect(throws: SystemCallError("connect", subject: folder["s"], code: ECONNREFUSED)) {
            try UnixSocket.connect(to: folder["s"])
        }
        #expect(throws: SystemCallError("connect", subject: folder["absent"], code: ENOENT)) {
            try UnixSocket.connect(to: folder["absent"])
        }
    }

    @Test func `every socket is closed on exec`() throws {
        let folder = try SocketFolder()
        let listener = try UnixSocket.listen(at: folder["s"])
        let client = try UnixSocket.connect(to: folder["s"])
        let server = try listener.accept()
        for socket in [listener, client, server] {
            #expect(fcntl(socket.number, F_GETFD) & FD_CLOEXEC != 0)
        }
    }

    // MARK: owners of descriptors

    @Test func `a descriptor is closed with its owner, and not before`() throws {
        let tether = try Tether()
        #expect(tether.isHeld)
        do {
            let shared = SharedDescriptor(try Self.duplicate(tether.writingNumber))
            tether.closeWriting()
            #expect(tether.isHeld)
            withExtendedLifetime(shared) {}
        }
        #expect(tether.isAbandoned)
    }

    @Test func `a released descriptor is left to the caller`() throws {
        let tether = try Tether()
        let number = try Self.duplicate(tether.writingNumber).release()
        tether.closeWriting()
        #expect(tether.isHeld)
        #expect(close(number) == 0)
        #expect(tether.isAbandoned)
    }

    @Test func `a failed call becomes its errno`() {
        #expect(throws: SystemCallError("open", subject: "/absent", code: ENOENT)) {
            try Self.open("/absent")
        }
        #expect(
            SystemCallError("open", subject: "/absent", code: ENOENT).description
                == "open /absent: No such file or directory")
        #expect(SystemCallError("fcntl", subject: "", code: EBADF).description == "fcntl: Bad file descriptor")
    }

    private static func open(_ path: String) throws {
        _ = try Descriptor(Glibc.open(path, O_RDONLY | O_CLOEXEC), from: "open", subject: path)
    }

    private static func duplicate(_ number: CInt) throws -> Descriptor {
        try Descriptor(fcntl(number, F_DUPFD_CLOEXEC, 3), from: "fcntl")
    }
}
