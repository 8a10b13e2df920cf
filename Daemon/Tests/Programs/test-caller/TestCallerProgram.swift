import CImpostor
import CLinuxShims
import Glibc

/// The process that the daemon sees when a test speaks as another program: it connects, gives the connection to the
/// test, and sends what the test hands it, descriptors included, in its own name.
///
///     test-caller SOCKET [PROGRAM [ARGUMENT]...]          descriptor 3: a Unix stream socket to the test
///     test-caller --leaving SOCKET PROGRAM [ARGUMENT]...  the same
///     test-caller --as FILE SOCKET                        the same
///     test-caller --speak HEX                             descriptor 3: a connection
///     test-caller --terminal                              descriptor 3: a Unix stream socket to the test
///     test-caller --wait
///
/// First it sends the test its process id (4 bytes, this machine's order) with the connection attached. When the test
/// closes its end it executes PROGRAM, or exits. With `--leaving` it starts PROGRAM as a child with the connection as
/// descriptor 3 and exits. With `--as` the kernel says that it executes FILE. With `--speak` it writes bytes to a
/// connection that it was given, and waits; with `--terminal` it sends the test `/dev/tty` as it opens it, and waits;
/// with `--wait` it waits.
@main
enum TestCallerProgram {
    private static let channel: CInt = 3

    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.first {
        case "--wait": wait()
        case "--speak":
            let bytes = bytes(ofHex: arguments.last ?? "")
            let sent = bytes.withUnsafeBytes { ostiary_send(channel, $0.baseAddress!, $0.count, nil, 0) }
            guard sent == bytes.count else { exit(1) }
            wait()
        case "--terminal":
            var terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
            var byte: UInt8 = 0
            guard terminal >= 0, ostiary_send(channel, &byte, 1, &terminal, 1) == 1 else { exit(1) }
            wait()
        case "--as":
            guard arguments.count > 1, impostor_execute_as(arguments[1]) == 0 else { exit(1) }
            serve(Array(arguments.dropFirst(2)), then: execute)
        case "--leaving": serve(Array(arguments.dropFirst()), then: leave)
        default: serve(arguments, then: execute)
        }
    }

    private static func serve(_ arguments: [String], then next: (_ command: [String], _ connection: CInt) -> Void) {
        var connection = ostiary_unix_socket()
        guard let socket = arguments.first, connection >= 0, ostiary_connect(connection, socket) == 0 else { exit(1) }
        var processID = getpid()
        guard ostiary_send(channel, &processID, MemoryLayout<pid_t>.size, &connection, 1) > 0 else { exit(1) }
        forward(to: connection)
        guard arguments.count > 1 else { exit(0) }
        next(Array(arguments.dropFirst()), connection)
    }

    private static func execute(_ command: [String], _ connection: CInt) {
        var arguments = command.map { strdup($0) } + [nil]
        execv(command[0], &arguments)
        exit(1)
    }

    private static func leave(_ command: [String], _ connection: CInt) {
        var arguments = command.map { strdup($0) } + [nil]
        var environment: [UnsafeMutablePointer<CChar>?] = [nil]
        var child: pid_t = 0
        exit(ostiary_spawn(command[0], &arguments, &environment, [-1, -1, -1, connection], 4, 0, "/", &child))
    }

    private static func wait() -> Never { while true { pause() } }

    private static func bytes(ofHex text: String) -> [UInt8] {
        let digits = Array(text)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...($0 + 1)]), radix: 16)
        }
    }

    private static func forward(to connection: CInt) {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        var sender = ostiary_sender()
        while true {
            let count = ostiary_receive(
                channel, &buffer, buffer.count, CInt(OSTIARY_RECEIVE_DESCRIPTORS), &sender)
            guard count > 0 else { return }
            let (first, second, third) = sender.descriptors
            let descriptors = Array([first, second, third].prefix(Int(sender.descriptor_count)))
            var sent = 0
            while sent < count {
                let part = buffer.withUnsafeBytes {
                    ostiary_send(
                        connection, $0.baseAddress! + sent, count - sent, descriptors,
                        sent == 0 ? CInt(descriptors.count) : 0)
                }
                guard part > 0 else { return }
                sent += part
            }
            for descriptor in descriptors { close(descriptor) }
        }
    }
}
