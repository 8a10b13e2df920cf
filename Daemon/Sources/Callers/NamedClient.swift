import CLinuxShims
import Glibc
package import ProcessFacts
package import UnixSocket

/// The descriptors that a door passed of the client that it makes a request for.
package struct PassedClient: Sendable {
    /// The door's end of the connection that the client made.
    package let connection: SharedDescriptor?
    /// A pidfd of the client.
    package let process: SharedDescriptor?

    package init(connection: SharedDescriptor?, process: SharedDescriptor?) {
        (self.connection, self.process) = (connection, process)
    }
}

/// Why a door cannot act for a client.
package enum ClientError: Error, Equatable, Sendable {
    /// The socket is no end of a connection between processes of this machine.
    case noConnection
    /// The kernel makes no pidfd of a connection's process (before Linux 6.5), and the door passed none either.
    case noProcess
    /// The client has ended.
    case gone
    /// The pidfd is of another process than the one that made the connection.
    case mismatch
    /// The client belongs to another user than the door.
    case foreignUser
    /// The client is the door, or the daemon.
    case itself
    /// The client is a door.
    case door
    /// The daemon may not see which program the client runs.
    case unreadable
}

/// The process that a door names as its client, by facts of the kernel alone.
package struct NamedClient: Sendable {
    /// Tells one client of a door from the others.
    package enum Key: Hashable, Sendable {
        /// The kernel gives this number to no other socket.
        case connection(UInt64)
        /// No other process has this number as long as this one is alive.
        case process(Int32)

        /// Reads no more than that. Nil where a closer look has to tell what a door passed.
        package init?(_ passed: PassedClient) {
            switch (passed.connection, passed.process) {
            case (let connection?, nil):
                guard let cookie = NamedClient.cookie(of: connection) else { return nil }
                self = .connection(cookie)
            case (nil, let process?):
                let processID = ostiary_process_of(process.number)
                guard processID > 0 else { return nil }
                self = .process(processID)
            // They may be of two processes.
            case (.some, .some), (nil, nil): return nil
            }
        }
    }

    package let key: Key
    package let credentials: PeerCredentials
    /// A pidfd.
    package let process: SharedDescriptor

    /// - Parameters:
    ///   - doorUserID: the door's user, who answers for the client that it names.
    ///   - facts: what the machine says about callers.
    package init(
        _ passed: PassedClient, ofDoorOf doorUserID: UInt32, facts: any CallerFacts
    ) throws(ClientError) {
        if let connection = passed.connection {
            try self.init(connection, passed.process)
        } else {
            guard let process = passed.process else { throw .noProcess }
            try self.init(process, ofDoorOf: doorUserID, facts)
        }
        guard Self.isAlive(process) else { throw .gone }
    }

    private init(_ connection: SharedDescriptor, _ named: SharedDescriptor?) throws(ClientError) {
        guard let cookie = Self.cookie(of: connection) else { throw .noConnection }
        guard let credentials = try? UnixSocket.peerCredentials(of: connection.number), credentials.processID > 0 else {
            throw .noConnection
        }
        key = .connection(cookie)
        self.credentials = credentials
        let peer = try Self.peer(of: connection)
        if let named { try Self.require(named, of: credentials.processID) }
        guard let process = peer ?? named else { throw .noProcess }
        self.process = process
    }

    /// - Parameter process: a pidfd, the only thing that is known of the client.
    private init(
        _ process: SharedDescriptor, ofDoorOf doorUserID: UInt32, _ facts: any CallerFacts
    ) throws(ClientError) {
        let processID = ostiary_process_of(process.number)
        guard processID > 0 else { throw .gone }
        let userID: UInt32
        do throws(FactFailure) { userID = try facts.hold(processID, process, of: doorUserID).userID() } catch {
            throw error == .absent ? .gone : .unreadable
        }
        key = .process(processID)
        credentials = PeerCredentials(processID: processID, userID: userID, groupID: .max)
        self.process = process
    }

    /// Nil for what is no connection.
    private static func cookie(of connection: SharedDescriptor) -> UInt64? {
        var cookie: UInt64 = 0
        return unsafe ostiary_connection_of(connection.number, &cookie) == 1 ? cookie : nil
    }

    /// The process that made a connection, as the kernel noted it then; nil on kernels that note none.
    private static func peer(of connection: SharedDescriptor) throws(ClientError) -> SharedDescriptor? {
        let number = ostiary_peer_pidfd(connection.number)
        guard number < 0 else { return SharedDescriptor(Descriptor(owning: number)) }
        return try noPeer(because: errno)
    }

    /// The meaning of a connection without a pidfd.
    ///
    /// - Parameter error: the `errno` of the call that gives it.
    static func noPeer(because error: CInt) throws(ClientError) -> SharedDescriptor? {
        switch error {
        case ENOPROTOOPT: return nil
        // The daemon has no descriptor or memory left: the error says nothing of the client.
        case EMFILE, ENFILE, ENOMEM: throw .unreadable
        default: throw .gone
        }
    }

    private static func require(_ process: SharedDescriptor, of processID: Int32) throws(ClientError) {
        let named = ostiary_process_of(process.number)
        guard named > 0, isAlive(process) else { throw .gone }
        guard named == processID else { throw .mismatch }
    }

    /// Whether the process of a pidfd has not ended.
    package static func isAlive(_ pidfd: SharedDescriptor) -> Bool { KernelFacts.isAlive(pidfd) }
}
