import EnrolledTemplates
import FingerprintTestSupport
import Foundation
import Glibc
import StoreTestSupport
import Synchronization
import TemplateAnswers
import TerminalTestSupport
import Testing
import UnixSocket

/// Callers that the helper does not trust, and servers that the caller does not.
@Suite(.timeLimit(.minutes(10))) struct ConnectionTests {
    // MARK: callers

    let helper: TemplatesHelper

    init() throws {
        helper = try TemplatesHelper()
        try helper.write("finger")
    }

    /// Sends bytes and waits until the helper has hung up; how much it said before.
    func answerCount(to bytes: [UInt8], hangsUp: Bool = false) throws -> Int {
        let socket = try UnixSocket.connect(to: helper.socketPath)
        try socket.setReceiveTimeout(seconds: 15)
        do { try bytes.withUnsafeBytes { try socket.send($0) } } catch let error as SystemCallError
            where error.code == EPIPE
        {}
        if hangsUp { _ = shutdown(socket.number, CInt(SHUT_WR)) }
        var count = 0
        try withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            do {
                while case let received = try socket.receive(into: buffer, expecting: []), received.count > 0 {
                    count += received.count
                }
            } catch let error as SystemCallError where error.code == ECONNRESET {}
        }
        return count
    }

    @Test func `a caller that sends too little is told nothing`() throws {
        for count in [0, 1, 31, 32, 35] {
            #expect(try answerCount(to: [UInt8](repeating: 7, count: count), hangsUp: true) == 0)
        }
        #expect(helper.client().current().hexadecimal != nil)
    }

    @Test func `a caller that is slow is told nothing, and its process ends`() throws {
        #expect(try answerCount(to: [1, 2, 3]) == 0)
        try eventually("no helper is left") { try helper.servingCount() == 0 }
        #expect(helper.client().current().hexadecimal != nil)
    }

    @Test(arguments: [37, 10_000_000])
    func `a caller that sends more than a request is told nothing after the answer`(count: Int) throws {
        #expect(try answerCount(to: [UInt8](repeating: 7, count: count)) <= TemplateAnswer.byteCount)
        try eventually("no helper is left") { try helper.servingCount() == 0 }
        #expect(helper.client().current().hexadecimal != nil)
    }

    @Test func `a process of the helper ends with its caller`() throws {
        for _ in 0..<5 { _ = helper.client().current() }
        try eventually("no helper is left") { try helper.servingCount() == 0 }
    }

    // MARK: servers

    func client(_ path: String, _ userID: UInt32 = getuid()) -> EnrolledTemplates {
        EnrolledTemplates(socketPath: path, key: [UInt8](repeating: 7, count: 32), of: getuid(), serverUserID: userID)
    }

    @Test func `without a socket the helper is absent`() throws {
        let folder = try TestFolder()
        #expect(client(folder.path("socket")).current() == .absent)
        let listener = try UnixSocket.listen(at: folder.path("socket"))
        _ = shutdown(listener.number, CInt(SHUT_RDWR))
        // The remains of a failed socket unit are not an absence.
        #expect(client(folder.path("socket")).current() == .silent)
        #expect(client(folder.path("socket/below")).current() == .absent)
    }

    /// systemd's limit would let every user switch the socket off for all.
    @Test func `the installed socket does not fail because somebody connects often`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../packaging/system/units/ostiary-templates.socket").standardizedFileURL
        let lines = try String(contentsOf: root, encoding: .utf8).split(separator: "\n")
        #expect(lines.contains("TriggerLimitIntervalSec=0"))
    }

    @Test func `a server that is not root is not believed`() throws {
        #expect(client(helper.socketPath, getuid() + 1).current() == .untrusted)
    }

    @Test(.enabled(if: getuid() == 0, "only root can be another user"))
    func `a server of another user is not believed`() throws {
        let impostor = try TemplatesHelper(folder: helper.folder, asUser: 1)
        #expect(client(impostor.socketPath, 0).current() == .untrusted)
    }

    @Test func `a server that says nothing is silent`() throws {
        let folder = try TestFolder()
        let listener = try UnixSocket.listen(at: folder.path("socket"))
        #expect(client(folder.path("socket")).current(within: .milliseconds(200)) == .silent)
        withExtendedLifetime(listener) {}
    }

    @Test func `a server that refuses is asked ever more rarely`() throws {
        let folder = try TestFolder()
        let listener = try UnixSocket.listen(at: folder.path("socket"))
        let connected = Mutex(0)
        let told = Mutex<[EnrolledSet]>([])
        let thread = Thread {
            while let connection = try? listener.accept() {
                connected.withLock { $0 += 1 }
                var request = [UInt8](repeating: 0, count: TemplateRequest.byteCount)
                _ = recv(connection.number, &request, request.count, CInt(MSG_WAITALL))
                _ = try? TemplateAnswer.refused.bytes.withUnsafeBytes { try connection.send($0) }
                connection.shutdown()
            }
        }
        thread.start()
        let follower = client(folder.path("socket")).follow { set in told.withLock { $0.append(set) } }
        sleep(9)
        follower.stop()
        listener.shutdown()
        // At once, after 2 seconds and after 6. With the first delay each time it would be nine times.
        #expect((2...4).contains(connected.withLock { $0 }))
        #expect(told.withLock { $0 } == [.refused])
    }

    static let wrongAnswers: [[UInt8]] = [
        [], [1], Array(TemplateAnswer.none.bytes.dropLast()), [2] + Array(TemplateAnswer.none.bytes.dropFirst()),
    ]

    @Test(arguments: wrongAnswers)
    func `a server that says something else and hangs up is silent`(bytes: [UInt8]) throws {
        let folder = try TestFolder()
        let listener = try UnixSocket.listen(at: folder.path("socket"))
        let path = folder.path("socket")
        let thread = Thread {
            guard let connection = try? listener.accept() else { return }
            _ = try? bytes.withUnsafeBytes { try connection.send($0) }
            connection.shutdown()
        }
        thread.start()
        #expect(client(path).current() == .silent)
    }
}

/// The helper's answer as bytes.
@Suite struct TemplateAnswerTests {
    static let digest = [UInt8](1...32)

    @Test(arguments: [TemplateAnswer.enrolled(digest), .none, .unreadable, .refused])
    func `it comes back from its bytes, and from no part of them`(answer: TemplateAnswer) {
        let bytes = answer.bytes
        #expect(bytes.count == TemplateAnswer.byteCount)
        #expect(TemplateAnswer(decoding: bytes) == answer)
        for count in 0..<bytes.count { #expect(TemplateAnswer(decoding: Array(bytes[..<count])) == nil) }
        #expect(TemplateAnswer(decoding: bytes + [0]) == nil)
    }

    @Test func `other versions and kinds are nothing, and so is a digest where none belongs`() {
        let bytes = TemplateAnswer.none.bytes
        for (index, value) in [(0, 0), (0, 2), (1, 0), (1, 5), (1, 255), (2, 1), (33, 1)] as [(Int, UInt8)] {
            var other = bytes
            other[index] = value
            #expect(TemplateAnswer(decoding: other) == nil)
        }
    }
}
