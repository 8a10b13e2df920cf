import AccessControl
import OstiaryWire
import SecretMemory
import UnixSocket

/// One request as it came in, handed from the connection's thread to whoever answers it.
final class IncomingRequest: @unchecked Sendable {
    // SAFETY: (@unchecked) `tail` is read and taken by the one thread that answers the request.
    let id: UInt64
    let body: WireRequest.OneOf_Body
    let kind: RequestKind
    private(set) var tail: SecretBytes
    let terminal: SharedDescriptor?

    /// Nil when the frame holds no request that this version knows.
    init?(_ frame: consuming IncomingFrame<WireRequest>) {
        let message = frame.message
        guard let body = message.body else { return nil }
        id = message.id
        self.body = body
        kind = RequestKind(body)
        terminal = frame.descriptor
        tail = frame.takeTail()
    }
}

extension IncomingRequest {
    /// Whether the program sends question and terminal only when they are asked for: most items need neither, and opening,
    /// passing and closing a terminal costs as much as finding one.
    var withholdsQuestion: Bool {
        switch body {
        case .addItem(let body): body.use.withholdsQuestion
        case .findItems(let body): body.use.withholdsQuestion
        case .updateItems(let body): body.use.withholdsQuestion
        default: false
        }
    }

    /// What the audit log calls the request, granted or refused.
    var eventName: String {
        switch body {
        case .authorize(let body): if case .requirement = body.subject { "authorize-requirement" } else { "authorize" }
        case .evaluatePolicy: "evaluate-policy"
        case .evaluateAccessControl: "evaluate-access-control"
        case .createRight: "create"
        case .removeRight: "remove"
        case .removeAllRights: "remove-all"
        case .createKey: "key-create"
        case .registerApplication(let body): body.adopts ? "application-adopt" : "application-register"
        case .removeApplication: "application-remove"
        case .removeKey: "key-remove"
        case .exchange, .decapsulate: AccessControl.Operation.keyExchange.name
        case .readSecret: AccessControl.Operation.read.name
        case .passcode(let body):
            switch body.action {
            case .set: "passcode-set"
            case .change: "passcode-change"
            case .remove: "passcode-remove"
            case .unspecified, .UNRECOGNIZED: "passcode"
            }
        case .addItem: "item-add"
        case .findItems: "item-read"
        case .updateItems: "item-update"
        case .deleteItems: "item-delete"
        default: kind.rawValue
        }
    }
}
