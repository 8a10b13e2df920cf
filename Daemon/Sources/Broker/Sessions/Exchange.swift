import Auditing
import Authenticators
import Callers
import OstiaryMessages
import Owners
import ProtectedObjects
import Refusals

/// One request while it is answered: its message, its program, and its cancellation.
///
/// Handlers read the program here and not from the session, because a request can be made for another program than the one that is connected.
struct Exchange {
    let request: IncomingRequest
    let session: Session
    /// Ends the request while it waits; nil on a thread that must not wait for anybody.
    let cancellation: RequestCancellation?

    var caller: CallerProcess { session.caller }
    var account: OwnerAccount { session.account }
    var contexts: ContextTable { session.contexts }
    /// The records of the caller's owner.
    var trail: AuditTrail { account.trail }

    /// The caller must still be who it was, at each release; otherwise the connection and its grants end.
    func verifyCaller() throws(Refusal) { try session.verifyCaller() }

    /// The request's cancellation.
    ///
    /// - Throws: ``PersonNeeded`` on a thread that must not wait for anybody.
    func slow() throws(PersonNeeded) -> RequestCancellation {
        guard let cancellation else { throw PersonNeeded() }
        return cancellation
    }

    /// - Throws: ``OwnThreadNeeded`` on the connection's own thread.
    func requireOwnThread() throws(OwnThreadNeeded) {
        guard request.mayReadMuch else { throw OwnThreadNeeded() }
    }

    /// How a question of this request is asked.
    func asking(_ question: WireQuestion) throws -> Asking { try asking(QuestionStyle(question)) }

    func asking(_ style: QuestionStyle) throws -> Asking {
        Asking(caller: caller, terminal: request.terminal, question: style, cancellation: try slow())
    }

    /// An event of the log that this request causes, by the request's own name where no other is given.
    func event(_ name: String? = nil, object: String = "", operation: String = "") -> AuditTrail.Event {
        AuditTrail.Event(
            name: name ?? request.eventName, program: caller.program, object: object, operation: operation)
    }
}

/// A request must wait for a person or a slow computation and runs on a thread that must not. Nothing of it was done.
struct PersonNeeded: Error {}

/// A request reads much, and runs on a thread that must not wait for turns. Nothing of it was done.
struct OwnThreadNeeded: Error {}
