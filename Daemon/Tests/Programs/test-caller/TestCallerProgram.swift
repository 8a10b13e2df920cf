import CLinuxShims
import Glibc

/// The process that the daemon sees when a test speaks as another program: it connects, gives the connection to the test,
/// and sends what the test hands it, descriptors included, in its own name.
///
///     test-caller SOCKET [PROGRAM [ARGUMENT]]    descriptor 3: a Unix stream socket to the test
///
/// First it sends the test its process id (4 bytes, this machine's order) with the connection attached. When the test closes
/// its end it executes PROGRAM, or exits.
@main
enum TestCallerProgram {
    private static let channel: CInt = 3

    static func main() {
        let arguments = CommandLine.arguments
        let connection = ostiary_unix_socket()
        guard arguments.count > 1, connection >= 0, ostiary_connect(connection, arguments[1]) == 0 else { exit(1) }
        var processID = getpid()
        guard ostiary_send(channel, &processID, MemoryLayout<pid_t>.size, connection) > 0 else { exit(1) }
        forward(to: connection)
        guard arguments.count > 2 else { exit(0) }
        var command = arguments[2...].map { strdup($0) } + [nil]
        execv(arguments[2], &command)
        exit(1)
    }

    private static func forward(to connection: CInt) {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        var sender = ostiary_sender()
        while true {
            let count = ostiary_receive(channel, &buffer, buffer.count, &sender)
            guard count > 0 else { return }
            var sent = 0
            while sent < count {
                let part = buffer.withUnsafeBytes {
                    ostiary_send(connection, $0.baseAddress! + sent, count - sent, sent == 0 ? sender.descriptor : -1)
                }
                guard part > 0 else { return }
                sent += part
            }
            if sender.descriptor >= 0 { close(sender.descriptor) }
        }
    }
}
