@_implementationOnly import CLinuxShims
import Glibc
import OstiaryMessages
package import UnixSocket

/// A process that this program, a door, makes requests for. The daemon looks at it itself; the door says only that the requests are
/// this process's.
package struct DoorClient: Sendable {
    /// The door's end of the connection that the client made.
    let connection: UnixSocket?
    /// A pidfd.
    let process: SharedDescriptor?
    let terminal: SharedDescriptor?
    let label: String

    /// The process that made a connection which this program accepted.
    ///
    /// - Parameters:
    ///   - terminal: the client's controlling terminal by its own file, such as `/dev/pts/3`; nil when nobody can be asked there.
    ///   - label: this program's name for the client. Questions show it as not checked. At most
    ///     ``WireLimits/clientLabelByteCount`` bytes.
    package init(accepted connection: UnixSocket, terminal: SharedDescriptor? = nil, label: String = "") throws {
        self.connection = connection
        self.terminal = terminal
        self.label = label
        // Kernels before 6.5 note no process for a connection. There the door says which one it was.
        guard connection.peerProcessDescriptor() == nil else {
            process = nil
            return
        }
        process = try Self.process(connection.peerCredentials().processID)
    }

    /// A process without a connection to this program, such as its parent, or a sender on a message bus.
    ///
    /// - Parameter process: a pidfd. The program makes sure that it is of the process which it means.
    package init(process: SharedDescriptor, terminal: SharedDescriptor? = nil, label: String = "") {
        connection = nil
        self.process = process
        self.terminal = terminal
        self.label = label
    }

    private static func process(_ id: Int32) throws(SystemCallError) -> SharedDescriptor {
        SharedDescriptor(try Descriptor(ostiary_open_process(id), from: "pidfd_open"))
    }

    /// Tells clients apart: as long as one's descriptors are open, no other client has them.
    var key: Key { Key(connection: connection?.number, process: process?.number) }

    struct Key: Hashable {
        let connection: CInt?
        let process: CInt?
    }

    /// The descriptors that travel with a request, and their names.
    ///
    /// - Parameter asks: whether the person may be asked on the client's terminal.
    func passed(asks: Bool) -> (behalf: WireOnBehalf, descriptors: [CInt]) {
        let all: [(WirePassedKind, CInt?)] = [
            (.socket, connection?.number), (.process, process?.number), (.terminal, asks ? terminal?.number : nil),
        ]
        let named = all.compactMap { kind, number in number.map { (kind, $0) } }
        return (.with { ($0.descriptors, $0.label) = (named.map(\.0), label) }, named.map(\.1))
    }
}

extension OstiaryClient {
    /// A client whose requests are made for `client`. This program must be registered as a door.
    ///
    /// Names, questions, quotas and the log are then those of `client`. The objects are this program's: a door uses none of its client's.
    /// Open an ``AuthorizationContext`` of the result as soon as `client` has connected (``AuthorizationContext/begin()``), and keep it:
    /// from then on the daemon notices when `client` executes another program.
    package func acting(for client: DoorClient) -> OstiaryClient { OstiaryClient(self, actingFor: client) }
}
