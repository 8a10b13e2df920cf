import CLinuxShims
import Foundation
import Glibc
import HelperProcesses
import UnixSocket

// A helper that obeys its messages, even to faults. Its connection has the number 6 or 3.
//
// As `test-helper connect PATH MANAGER HELPER` it is a daemon that connects to a socket and prints the error.

if CommandLine.arguments.count == 5 {
    let numbers = CommandLine.arguments[3...].compactMap { UInt32($0) }
    let socket = HelperSocket(path: CommandLine.arguments[2], helperUserID: numbers[1], managerUserID: numbers[0])
    do throws(HelperUnavailability) {
        let helper = try Helper(.activated(socket))
        print("connected")
        helper.end()
    } catch { print(error) }
    exit(0)
}

guard HelperStart.takeDescriptors() else { exit(1) }
let connection: CInt = {
    var status = stat()
    return fstat(6, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK ? 6 : 3
}()

@discardableResult func send(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return Glibc.send(connection, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count
}

/// The descriptors that came with the last message.
nonisolated(unsafe) var passed: [CInt] = []

func receive() -> [String]? {
    var bytes = [UInt8](repeating: 0, count: 4096)
    var sender = ostiary_sender()
    let count = ostiary_receive(connection, &bytes, bytes.count, CInt(OSTIARY_RECEIVE_DESCRIPTORS), &sender)
    guard count > 0 else { return nil }
    for descriptor in passed { close(descriptor) }
    passed = [sender.descriptors.0, sender.descriptors.1, sender.descriptors.2]
        .prefix(Int(sender.descriptor_count)).map { $0 }
    return String(decoding: bytes[..<count], as: UTF8.self).split(separator: " ").map(String.init)
}

while let words = receive() {
    switch words[0] {
    case "echo": send(words.dropFirst().joined(separator: " "))
    case "process": send("\(getpid())")
    case "user": send("\(getuid())")
    case "descriptors":
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        // The folder itself was open while it was read.
        send(
            names.compactMap { Int($0) }.filter { fcntl(CInt($0), F_GETFD) >= 0 }.sorted().map(String.init).joined(
                separator: " "))
    case "listen":
        let names = ["LISTEN_PID", "LISTEN_PIDFDID", "LISTEN_FDS", "LISTEN_FDNAMES"]
        send(names.filter { getenv($0) != nil }.joined(separator: " ") + ".")
    case "read":
        var byte: UInt8 = 0
        let count = read(CInt(words[1])!, &byte, 1)
        send(count == 1 ? "\(byte)" : "nothing")
    case "passed":
        var bytes = [UInt8](repeating: 0, count: passed.count)
        for (index, descriptor) in passed.enumerated() { _ = read(descriptor, &bytes[index], 1) }
        send(bytes.map { "\($0)" }.joined(separator: " ") + ".")
    case "give":
        // Pipes with a byte each: 1, 2 and so on.
        let readers = (1...UInt8(words[1])!).map { byte in
            var ends: [CInt] = [-1, -1]
            guard pipe(&ends) == 0, write(ends[1], [byte], 1) == 1 else { _exit(4) }
            close(ends[1])
            return ends[0]
        }
        let text = [UInt8](repeating: 7, count: Int(words[2])!)
        _ = ostiary_send(connection, text, text.count, readers, CInt(readers.count))
        for reader in readers { close(reader) }
    case "die": _exit(1)
    case "answer-and-die":
        send("last words")
        _exit(1)
    case "long":
        let bytes = [UInt8](repeating: 7, count: Int(words[1])!)
        _ = Glibc.send(connection, bytes, bytes.count, CInt(MSG_NOSIGNAL))
    case "flood": while send("more") {}
    case "stubborn":
        // Neither a signal nor the end of its connection ends it.
        for number in [SIGTERM, SIGHUP, SIGINT] { signal(number, SIG_IGN) }
        send("\(getpid())")
        while true { pause() }
    case "sleep": while true { pause() }
    case "stuck":
        guard HelperStart.endsAfterDaemon(on: connection) else { _exit(3) }
        send("\(getpid())")
        while true { pause() }
    case "leave-child":
        // The child keeps the connection open.
        var child: pid_t = 0
        let code = CStrings.withPointers(["/bin/sleep", "600"]) { arguments in
            CStrings.withPointers([]) { posix_spawn(&child, "/bin/sleep", nil, nil, arguments, $0) }
        }
        send(code == 0 ? "\(child)" : "no child")
        _exit(0)
    default: _exit(2)
    }
}
