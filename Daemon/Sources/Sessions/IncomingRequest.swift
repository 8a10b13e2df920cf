import Callers
package import OstiaryMessages
import OstiaryWire
import Refusals
package import SecretMemory
package import UnixSocket

/// One request as it came in, handed from the connection's thread to the one that answers it.
package final class IncomingRequest: @unchecked Sendable {
    // SAFETY: (@unchecked) `tail` is read and taken by the one thread that answers the request. All other variables are set before,
    // by the connection's thread.
    package let id: UInt64
    package let body: WireRequest.OneOf_Body
    /// The rules for the request, and its name in the log.
    package let row: RequestRow
    package private(set) var tail: SecretBytes
    /// The client that a door makes the request for; nil when it is made for the connected program.
    let onBehalf: WireOnBehalf?
    /// The descriptors that came for a client and were not looked at yet.
    private var passed: [PassedDescriptor]
    package private(set) var terminal: SharedDescriptor?
    /// A program's file, opened for reading: the connected program's own, or one that is to be registered.
    package let file: SharedDescriptor?
    /// Keeps the client while the request is answered.
    var stay: ClientStay?
    /// The client that the request is made for.
    package var client: DoorClient? { stay?.client }
    /// Whether the thread that answers may wait for its turns to read much.
    package var mayReadMuch = false

    /// - Throws: if the frame holds no request that this version knows, or a descriptor that is no terminal and that it does not name.
    init(_ frame: consuming IncomingFrame<WireRequest>) throws(FrameReadError) {
        let message = frame.message
        guard let body = message.body else { throw .frame(.malformed) }
        id = message.id
        self.body = body
        row = body.row
        onBehalf = message.onBehalf
        let descriptors = frame.descriptors
        if message.onBehalf == nil {
            let terminals = descriptors.filter { $0.kind == .device }
            let files = descriptors.filter { $0.kind == .file }
            guard descriptors.count - files.count <= 1, files.count <= 1 else { throw .surplusDescriptors }
            guard terminals.count + files.count == descriptors.count else { throw .foreignDescriptor }
            terminal = terminals.first?.descriptor
            file = files.first?.descriptor
            passed = []
        } else {
            terminal = nil
            file = nil
            passed = descriptors
        }
        tail = frame.takeTail()
    }

    /// The passed descriptors of the client, and its terminal. The request gives the descriptors up: the client must see it when
    /// the door ends the connection.
    func takePassedClient(_ behalf: WireOnBehalf) throws(Refusal) -> PassedClient {
        let (kinds, passed) = (behalf.descriptors, passed)
        self.passed = []
        guard kinds.count == passed.count, Set(kinds).count == kinds.count,
            zip(kinds, passed).allSatisfy({ $0.fits($1.kind) })
        else { throw DoorRefusal.descriptors }
        func descriptor(_ kind: WirePassedKind) -> SharedDescriptor? {
            kinds.firstIndex(of: kind).map { passed[$0].descriptor }
        }
        let client = PassedClient(connection: descriptor(.socket), process: descriptor(.process))
        guard client.connection != nil || client.process != nil else { throw DoorRefusal.descriptors }
        terminal = descriptor(.terminal)
        return client
    }

    /// The request's name in the audit log, granted or refused.
    package var eventName: String { row.eventName }
}

extension WirePassedKind {
    fileprivate func fits(_ kind: PassedDescriptor.Kind) -> Bool {
        switch self {
        case .socket: kind == .socket
        case .process: kind == .process
        case .terminal: kind == .device
        case .unspecified, .UNRECOGNIZED: false
        }
    }
}
