import CLinuxShims
import Cancellations
import Foundation
import Glibc
import HelperTestSupport
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

@testable import HelperProcesses

/// A helper behind a socket: the listener, the helper that answers, and the faults of both.
@Suite("A helper that the service manager starts", .timeLimit(.minutes(10)))
struct ActivationTests {
    private func error(
        _ socket: HelperSocket, within patience: Duration = .seconds(20), stop: PollableCancellation? = nil
    ) -> HelperUnavailability? {
        do throws(HelperUnavailability) {
            try Helper(.activated(socket), stoppedBy: stop?.descriptor ?? -1, greetingWithin: patience).end()
            return nil
        } catch { return error }
    }

    private func socket(in folder: TestFolder, _ name: String = "socket") -> HelperSocket {
        HelperSocket(path: folder.path(name), helperUserID: getuid(), managerUserID: getuid())
    }

    // MARK: the socket

    @Test func `a socket that does not exist is absent`() throws {
        let folder = try TestFolder()
        #expect(error(socket(in: folder)) == .absent(folder.path("socket")))
        #expect(error(socket(in: folder, "none/socket")) == .absent(folder.path("none/socket")))
        #expect(!HelperRoad.activated(socket(in: folder)).isThere)
        #expect(
            "\(HelperUnavailability.absent("/run/a"))"
                == "there is no socket /run/a: the helper's service is not installed")
    }

    @Test func `a socket at which nobody listens is refused`() throws {
        let helper = try ActivatedHelper(Build.program("test-helper"))
        #expect(helper.road.isThere)
        #expect(error(helper.socket) == nil)
        helper.stopListening()
        #expect(helper.road.isThere)
        #expect(error(helper.socket) == .refused(helper.socket.path))
    }

    @Test func `a socket of another kind cannot be used`() throws {
        let folder = try TestFolder()
        let listener = try UnixSocket.listen(at: folder.path("socket"))
        let wanted = SystemCallError("connect", subject: folder.path("socket"), code: EPROTOTYPE)
        #expect(error(socket(in: folder)) == .unreadable(wanted))
        withExtendedLifetime(listener) {}
    }

    @Test(.enabled(if: geteuid() == 0, "only root becomes another user"))
    func `a socket that this account may not connect to is unreadable, and nothing else`() throws {
        let helper = try ActivatedHelper(Build.program("test-helper"))
        #expect(chmod(helper.folder.path, 0o755) == 0)
        #expect(chmod(helper.socket.path, 0o600) == 0)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        process.arguments = [
            "--reuid=65534", "--regid=65534", "--clear-groups", Build.program("test-helper"), "connect",
            helper.socket.path, "0", "0",
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let words = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(words == "the helper's socket cannot be used: connect \(helper.socket.path): Permission denied\n")
    }

    @Test(arguments: [0o770, 0o707, 0o777] as [mode_t])
    func `a folder that others may write to is none of the service manager's`(mode: mode_t) throws {
        let helper = try ActivatedHelper(Build.program("test-helper"))
        #expect(chmod(helper.folder.path, mode) == 0)
        #expect(error(helper.socket) == .foreignFolder(helper.folder.path))
    }

    @Test func `a folder of another account is none of the service manager's`() throws {
        let helper = try ActivatedHelper(Build.program("test-helper"))
        let other = HelperSocket(
            path: helper.socket.path, helperUserID: getuid(), managerUserID: getuid() + 1)
        #expect(error(other) == .foreignFolder(helper.folder.path))
    }

    @Test(.enabled(if: getuid() == 0, "only root gives a folder away"))
    func `each folder above counts too`() throws {
        let folder = try TestFolder()
        let path = folder.path("run/helpers")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let socket = socket(in: folder, "run/helpers/socket")
        // The folders are in order, and no socket is there.
        #expect(error(socket) == .absent(socket.path))
        for mode in [0o770, 0o707] as [mode_t] {
            #expect(chmod(folder.path("run"), mode) == 0)
            #expect(error(socket) == .foreignFolder(folder.path("run")))
        }
        // Nobody replaces another account's entry in a sticky folder.
        #expect(chmod(folder.path("run"), 0o1777) == 0)
        #expect(error(socket) == .absent(socket.path))
        #expect(chmod(folder.path("run"), 0o755) == 0)
        #expect(chown(folder.path("run"), 65534, 65534) == 0)
        #expect(error(socket) == .foreignFolder(folder.path("run")))
        #expect(chmod(path, 0o1777) == 0)
        #expect(error(socket) == .foreignFolder(path))
    }

    @Test func `a link to a folder is none of the service manager's`() throws {
        let folder = try TestFolder()
        let path = folder.path("run/helpers")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        for (link, target) in [("link", path), ("above", folder.path("run"))] {
            try FileManager.default.createSymbolicLink(atPath: folder.path(link), withDestinationPath: target)
        }
        #expect(error(socket(in: folder, "link/socket")) == .foreignFolder(folder.path("link")))
        #expect(error(socket(in: folder, "above/helpers/socket")) == .foreignFolder(folder.path("above")))
    }

    @Test func `only a socket that does not exist is not installed`() throws {
        let folder = try TestFolder()
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("loop"), withDestinationPath: folder.path("loop"))
        #expect(!HelperRoad.activated(socket(in: folder, "none/socket")).isThere)
        #expect(HelperRoad.activated(socket(in: folder, "loop/socket")).isThere)
    }

    @Test func `a listener of another account is refused`() throws {
        let helper = try ActivatedHelper(Build.program("test-helper"))
        let error = #expect(throws: HelperUnavailability.self) {
            try HelperSocket.connect(
                to: helper.socket.path, CInt(SOCK_SEQPACKET.rawValue), listener: [getuid() + 1])
        }
        #expect(error == .foreignListener(helper.socket.path, userID: getuid()))
    }

    // MARK: the account

    @Test func `a helper of another account than its own is refused`() throws {
        let helper = try ActivatedHelper(Build.program("test-helper"), expecting: getuid() + 1)
        #expect(error(helper.socket) == .foreignHelper(helper.socket.path, userID: getuid()))
    }

    @Test(.enabled(if: geteuid() == 0, "only root becomes another user"))
    func `a helper of its own account, which is not the daemon's, serves`() throws {
        let activated = try ActivatedHelper(Build.program("test-helper"), asUser: 65534)
        let helper = try Helper(activated.road)
        #expect(try helper.ask("user") == "65534")
        helper.expectEnd()
        let wrong = HelperSocket(path: activated.socket.path, helperUserID: 0, managerUserID: 0)
        #expect(error(wrong) == .foreignHelper(activated.socket.path, userID: 65534))
    }

    // MARK: the greeting

    @Test(arguments: ["exit 0", #"printf '\002' >&3"#, #"printf '\001\001' >&3"#, "kill -9 $$"])
    func `a helper that does not greet has ended`(script: String) throws {
        let helper = try ActivatedHelper("/bin/sh", ["-c", script])
        #expect(error(helper.socket) == .ended(helper.socket.path))
    }

    @Test func `a helper that never greets is silent, after the time for that`() throws {
        let helper = try ActivatedHelper("/bin/sleep", ["600"])
        let start = ContinuousClock.now
        #expect(error(helper.socket, within: .milliseconds(300)) == .silent(helper.socket.path))
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    @Test func `a cancel ends the wait for the greeting`() throws {
        let helper = try ActivatedHelper("/bin/sleep", ["600"])
        let stop = try PollableCancellation()
        stop.cancel()
        #expect(error(helper.socket, stop: stop) == .stopped)
    }

    // MARK: the hand-over

    /// Plays the service manager and the helper.
    private func listener(in folder: TestFolder) throws -> Descriptor {
        let descriptor = try Descriptor(
            Glibc.socket(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0), from: "socket")
        #expect(ostiary_bind_private(descriptor.number, folder.path("socket")) == 0)
        #expect(listen(descriptor.number, 8) == 0)
        return descriptor
    }

    @Test func `nothing is given before the greeting, and then exactly this`() throws {
        let folder = try TestFolder()
        let listener = try listener(in: folder)
        let wanted = socket(in: folder)
        let pipe = try PipeEnds()
        let reader = pipe.reader.number
        let thread = Thread {
            _ = try? Helper(
                .activated(wanted), addingToEnvironment: ["SECRET=1"],
                giving: GivenDescriptors(connection: 4, count: 6) { $0 == 5 ? reader : -1 }
            ).end()
        }
        thread.start()
        let connection = try UnixSocket(owning: Descriptor(ostiary_accept(listener.number), from: "accept"))
        var polled = pollfd(fd: connection.number, events: Int16(POLLIN), revents: 0)
        #expect(poll(&polled, 1, 300) == 0)
        #expect(ostiary_send(connection.number, [1], 1, nil, 0) == 1)
        var messages: [[UInt8]] = []
        var descriptorCount = 0
        while true {
            var bytes = [UInt8](repeating: 0, count: 100)
            var sender = ostiary_sender()
            let count = ostiary_receive(
                connection.number, &bytes, bytes.count, CInt(OSTIARY_RECEIVE_DESCRIPTOR), &sender)
            guard count > 0 else { break }
            messages.append(Array(bytes[..<count]))
            if sender.descriptor_count > 0 {
                descriptorCount += 1
                close(sender.descriptors.0)
            }
        }
        #expect(messages == [[1, 3], [2, 5], [3, 4]])
        #expect(descriptorCount == 1)
    }

    @Test func `a descriptor that cannot be given is not the helper's end`() throws {
        let helper = try ActivatedHelper(Build.program("test-helper"))
        let given = GivenDescriptors(connection: 4, count: 6) { $0 == 5 ? .max : -1 }
        let error = #expect(throws: HelperUnavailability.self) {
            try Helper(helper.road, giving: given).end()
        }
        #expect(error == .unreadable(SystemCallError("sendmsg", subject: "", code: EBADF)))
    }

    @Test func `only an end is told as an end`() {
        for code in [EPIPE, ECONNRESET, ESRCH] {
            #expect(HelperUnavailability(SystemCallError("sendmsg", subject: "", code: code), at: "/s") == .ended("/s"))
        }
        for code in [EMFILE, ETOOMANYREFS, EACCES, ENOSYS] {
            let error = SystemCallError("pidfd_open", subject: "", code: code)
            #expect(HelperUnavailability(error, at: "/s") == .unreadable(error))
        }
        #expect(HelperUnavailability(SystemCallError("sendmsg", subject: "", code: EAGAIN), at: "/s") == .silent("/s"))
    }

    /// The helper's side: any message but a hand-over ends it.
    @Test(
        arguments: [
            [[]], [[1]], [[1, 3, 0]], [[0, 3]], [[4, 3]], [[1, 2]], [[1, 16]], [[3, 0]], [[2, 4]], [[1, 4], [1, 4]],
            [[1, 4], [3, 4]], (0..<20).map { [1, UInt8($0)] },
        ] as [[[UInt8]]])
    func `a helper takes nothing but a hand-over`(messages: [[UInt8]]) throws {
        let helper = try ActivatedHelper(Build.program("test-helper"))
        let connection = try HelperSocket.connect(
            to: helper.socket.path, CInt(SOCK_SEQPACKET.rawValue), listener: [getuid()])
        var byte: UInt8 = 0
        #expect(recv(connection.number, &byte, 1, 0) == 1)
        for message in messages { _ = ostiary_send(connection.number, message, message.count, nil, 0) }
        let command = Array("echo here".utf8)
        _ = ostiary_send(connection.number, command, command.count, nil, 0)
        #expect(recv(connection.number, &byte, 1, 0) <= 0)
    }

    @Test func `a descriptor that belongs to no number ends the helper`() throws {
        let helper = try ActivatedHelper(Build.program("test-helper"))
        let connection = try HelperSocket.connect(
            to: helper.socket.path, CInt(SOCK_SEQPACKET.rawValue), listener: [getuid()])
        var byte: UInt8 = 0
        #expect(recv(connection.number, &byte, 1, 0) == 1)
        #expect(ostiary_send(connection.number, [1, 4], 2, [connection.number], 1) == 2)
        #expect(recv(connection.number, &byte, 1, 0) <= 0)
    }

    @Test func `a daemon that goes before the hand-over ends the helper`() throws {
        let activated = try ActivatedHelper(Build.program("test-helper"))
        do {
            let connection = try HelperSocket.connect(
                to: activated.socket.path, CInt(SOCK_SEQPACKET.rawValue), listener: [getuid()])
            var byte: UInt8 = 0
            #expect(recv(connection.number, &byte, 1, 0) == 1)
        }
        try eventually("no helper is left") { activated.helpers().isEmpty }
    }
}
