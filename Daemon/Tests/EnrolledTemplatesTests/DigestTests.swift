import Dispatch
import EnrolledTemplates
import FingerprintTestSupport
import Foundation
import Glibc
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing

/// The digest that the real `ostiary-templates` tells.
@Suite(.timeLimit(.minutes(10))) struct DigestTests {
    let helper: TemplatesHelper

    init() throws { helper = try TemplatesHelper() }

    /// The digest as the document describes it, computed by somebody else's code.
    private static let reference = """
        import hmac, os, struct, sys
        user = sys.argv[1].encode()
        code = hmac.new(bytes.fromhex(sys.argv[2]), b'ostiary.enrolled-templates.v1', 'sha256')
        for driver in sorted(os.listdir(user)):
            for device in sorted(os.listdir(user + b'/' + driver)):
                for finger in sorted(os.listdir(user + b'/' + driver + b'/' + device)):
                    path = b'/' + driver + b'/' + device + b'/' + finger
                    for part in (path, open(user + path, 'rb').read()):
                        code.update(struct.pack('>I', len(part)) + part)
        print(code.hexdigest())
        """

    @Test func `it is the documented one`() throws {
        try helper.write("right index")
        try helper.write("left thumb", "1")
        try helper.write("", "a", device: "another driver/0123")
        let user = helper.folder + "/" + TemplatesHelper.userName
        let expected = try python(Self.reference, [user, String(repeating: "07", count: 32)])
        #expect(expected.count == 64)
        #expect(helper.client().current().hexadecimal == expected)
    }

    @Test func `the document's example`() throws {
        try helper.write("right index finger", device: "virtual_device/0")
        #expect(
            helper.client().current().hexadecimal == "4c670dabda02b05de5e5ba1ca6828bfa96f328036e273ff0dfb8d5bcc7eb4b51")
    }

    @Test func `another key gives another digest`() throws {
        try helper.write("right index")
        let digests = [1, 2].map { helper.client(key: $0).current() }
        #expect(digests[0] != digests[1])
        #expect(digests.allSatisfy { $0.hexadecimal != nil })
    }

    @Test func `a finger that is replaced under the same name changes it, and back again restores it`() throws {
        try helper.write("first")
        let first = helper.client().current()
        try helper.write("second")
        let second = helper.client().current()
        #expect(second != first)
        #expect(second.hexadecimal != nil)
        try helper.write("first")
        #expect(helper.client().current() == first)
    }

    @Test func `a finger under another name changes it`() throws {
        try helper.write("same", "7")
        let first = helper.client().current()
        try #require(rename(helper.path("7"), helper.path("8")) == 0)
        let second = helper.client().current()
        #expect(second != first && second.hexadecimal != nil)
    }

    @Test func `bytes that move from one template to the next change it`() throws {
        try helper.write("ab", "1")
        try helper.write("c", "2")
        let first = helper.client().current()
        try helper.write("a", "1")
        try helper.write("bc", "2")
        #expect(helper.client().current() != first)
    }

    @Test func `a newer time of a file does not change it`() throws {
        try helper.write("finger")
        let first = helper.client().current()
        try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: helper.path())
        #expect(helper.client().current() == first)
    }

    // MARK: nothing

    @Test func `without fprintd's folder nothing is enrolled`() { #expect(helper.client().current() == .none) }

    @Test func `without the user's folder nothing is enrolled`() throws {
        try helper.write("stranger", of: "somebody-else")
        #expect(helper.client().current() == .none)
    }

    @Test func `with empty folders nothing is enrolled`() throws {
        try helper.write("finger")
        try #require(unlink(helper.path()) == 0)
        #expect(helper.client().current() == .none)
    }

    // MARK: other users

    /// Asks as another user; prints the answer in hexadecimal digits.
    private static let client = """
        import os, socket, sys
        s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.settimeout(20)
        s.sendall(bytes([7]) * 32 + int(sys.argv[2] if len(sys.argv) > 2 else os.getuid()).to_bytes(4, 'big'))
        answer = b''
        while len(answer) < 34: answer += s.recv(34)
        print(answer.hex())
        """

    @Test(.enabled(if: getuid() == 0, "only root can be another user"))
    func `each user is told about the own templates alone`() throws {
        try helper.write("of root")
        let own = try #require(helper.client().current().hexadecimal)
        // Without a template of their own.
        #expect(try python(Self.client, [helper.socketPath], asUser: 1) == "0102" + String(repeating: "0", count: 64))
        try helper.write("of daemon", of: "daemon")
        let other = try python(Self.client, [helper.socketPath], asUser: 1)
        #expect(other.hasPrefix("0101") && other != "0101" + own)
        #expect(helper.client().current().hexadecimal == own)
        // A number without a name.
        #expect(
            try python(Self.client, [helper.socketPath], asUser: 54321) == "0102" + String(repeating: "0", count: 64))
    }

    @Test(arguments: [0, 1, UInt32.max].filter { $0 != getuid() })
    func `a caller that asks for another user is refused`(userID: UInt32) throws {
        try helper.write("own")
        try helper.write("of daemon", of: "daemon")
        let client = EnrolledTemplates(
            socketPath: helper.socketPath, key: [UInt8](repeating: 7, count: 32), of: userID, serverUserID: getuid())
        #expect(client.current() == .refused)
        try eventually("no helper is left") { try helper.servingCount() == 0 }
    }

    @Test(.enabled(if: getuid() == 0, "only root can be another user"))
    func `no other user is told about root's templates`() throws {
        try helper.write("of root")
        #expect(
            try python(Self.client, [helper.socketPath, "0"], asUser: 1) == "0104" + String(repeating: "0", count: 64))
    }

    // MARK: the machine's daemon

    @Test func `the trusted account is told about each user, each with an own digest`() throws {
        let helper = try TemplatesHelper(trusting: TemplatesHelper.userName)
        try helper.write("finger")
        try helper.write("finger of daemon", of: "daemon")
        let own = try #require(helper.client().current().hexadecimal)
        let other = try #require(helper.client(of: 1).current().hexadecimal)
        #expect(other != own)
        // Another owner's key.
        #expect(try #require(helper.client(key: 8, of: 1).current().hexadecimal) != other)
        // A number without a name.
        #expect(helper.client(of: 54321).current() == .none)
    }

    @Test(arguments: [1, UInt32.max].filter { $0 != getuid() })
    func `where another account is trusted, a caller is told about itself alone`(userID: UInt32) throws {
        let helper = try TemplatesHelper(trusting: "nobody")
        try helper.write("own")
        try helper.write("of daemon", of: "daemon")
        #expect(helper.client(of: userID).current() == .refused)
        #expect(helper.client().current().hexadecimal != nil)
    }

    @Test(.enabled(if: getuid() == 0, "only root can be another user"))
    func `root and the owner of the templates are not trusted for it, and the trusted account is`() throws {
        let helper = try TemplatesHelper(trusting: "daemon")
        try helper.write("of root")
        let nobody = "0104" + String(repeating: "0", count: 64)
        #expect(try python(Self.client, [helper.socketPath, "0"], asUser: 65534) == nobody)
        #expect(try python(Self.client, [helper.socketPath, "1"], asUser: 0) == nobody)
        #expect(try python(Self.client, [helper.socketPath, "0"], asUser: 1).hasPrefix("0101"))
    }

    @Test func `where the trusted account does not exist, nobody is told anything`() throws {
        let helper = try TemplatesHelper(trusting: "no-such-account")
        try helper.write("own")
        #expect(helper.client().current() == .silent)
        #expect(helper.client(of: 1).current() == .silent)
    }

    @Test func `fifty questions at once are answered`() throws {
        let helper = try TemplatesHelper(trusting: TemplatesHelper.userName)
        try helper.write("of daemon", of: "daemon")
        let client = helper.client(of: 1)
        let answers = Mutex<[EnrolledSet]>([])
        DispatchQueue.concurrentPerform(iterations: 50) { _ in
            let answer = client.current(within: .seconds(60))
            answers.withLock { $0.append(answer) }
        }
        let all = answers.withLock { $0 }
        #expect(all.count == 50 && Set(all.map { $0.hexadecimal ?? "" }).count == 1 && all[0].hexadecimal != nil)
        try eventually("no helper is left") { try helper.servingCount() == 0 }
    }

    // MARK: what is not as fprintd leaves it

    func expectUnreadable(_ location: SourceLocation = #_sourceLocation) {
        #expect(helper.client().current() == .unreadable, sourceLocation: location)
    }

    @Test func `a template that is a symbolic link is not read`() throws {
        try helper.write("finger")
        try helper.write("target", of: "somebody-else")
        try #require(symlink(helper.path(of: "somebody-else"), helper.path("8")) == 0)
        expectUnreadable()
    }

    @Test func `a device's folder that is a symbolic link is not read`() throws {
        try helper.write("finger")
        let user = helper.folder + "/" + TemplatesHelper.userName
        try #require(symlink("0", user + "/driver/1") == 0)
        expectUnreadable()
    }

    @Test func `a user's folder that is a symbolic link is not read`() throws {
        try helper.write("finger", of: "somebody-else")
        try #require(symlink("somebody-else", helper.folder + "/" + TemplatesHelper.userName) == 0)
        expectUnreadable()
    }

    @Test func `a pipe in the place of a template is not waited for`() throws {
        try helper.write("finger")
        try #require(mkfifo(helper.path("8"), 0o600) == 0)
        expectUnreadable()
    }

    @Test func `a folder in the place of a template is not read`() throws {
        try helper.write("finger")
        try #require(mkdir(helper.path("8"), 0o700) == 0)
        expectUnreadable()
    }

    @Test func `a file in the place of a folder is not read`() throws {
        try helper.write("finger")
        try Data().write(to: URL(fileURLWithPath: helper.folder + "/" + TemplatesHelper.userName + "/driver/1"))
        expectUnreadable()
    }

    @Test(.enabled(if: getuid() == 0, "only root can give files away"))
    func `a template that another user wrote is not read`() throws {
        try helper.write("finger")
        try #require(chown(helper.path(), 1, 1) == 0)
        expectUnreadable()
    }

    // MARK: limits

    @Test(arguments: [(0, true), (1, false)])
    func `a template has at most a mebibyte`(surplus: Int, isRead: Bool) throws {
        try helper.write(String(repeating: "x", count: 1 << 20 + surplus))
        if isRead { #expect(helper.client().current().hexadecimal != nil) } else { expectUnreadable() }
    }

    @Test(arguments: [(8, true), (9, false)])
    func `all templates have at most eight mebibytes`(count: Int, isRead: Bool) throws {
        for finger in 0..<count { try helper.write(String(repeating: "x", count: 1 << 20), "\(finger)") }
        if isRead { #expect(helper.client().current().hexadecimal != nil) } else { expectUnreadable() }
    }

    // Two of the entries are the folders of driver and device.
    @Test(arguments: [(254, true), (255, false)])
    func `a user has at most 256 files and folders`(count: Int, isRead: Bool) throws {
        for finger in 0..<count { try helper.write("x", "\(finger)") }
        if isRead { #expect(helper.client().current().hexadecimal != nil) } else { expectUnreadable() }
    }
}
