import OstiaryMessages
import OstiaryWire
import SecretMemory
import UnixSocket

/// One request as it came in, handed from the connection's thread to the one that answers it.
final class IncomingRequest: @unchecked Sendable {
    // SAFETY: (@unchecked) `tail` is read and taken by the one thread that answers the request, and `mayReadMuch` is set before.
    let id: UInt64
    let body: WireRequest.OneOf_Body
    /// What is accepted of it, and what the log calls it.
    let row: RequestRow
    private(set) var tail: SecretBytes
    let terminal: SharedDescriptor?
    /// Whether the thread that answers may wait for its turns to read much.
    var mayReadMuch = false

    /// Nil when the frame holds no request that this version knows.
    init?(_ frame: consuming IncomingFrame<WireRequest>) {
        let message = frame.message
        guard let body = message.body else { return nil }
        id = message.id
        self.body = body
        row = body.row
        terminal = frame.descriptor
        tail = frame.takeTail()
    }

    /// What the audit log calls the request, granted or refused.
    var eventName: String { row.eventName }
}
