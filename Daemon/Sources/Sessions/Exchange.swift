package import Auditing
package import Authenticators
package import Callers
package import ExactNames
package import OstiaryMessages
package import OwnerKeys
package import Owners
package import ProtectedObjects
package import Refusals

/// One request while it is answered: its message, its program, and its cancellation.
///
/// Handlers read the program here and not from the session, because a request can be made for another program than the one that is connected.
package struct Exchange {
    package let request: IncomingRequest
    package let session: Session
    /// Ends the request while it waits; nil on a thread that must not wait for anybody.
    package let cancellation: RequestCancellation?
    /// Ends the request while it waits for a turn, on any thread.
    let end: RequestCancellation

    /// The program that the request is made for: the connected program, or the client that it acts for as a door. Names, shares, pauses,
    /// the order of questions, terminal and sensors are this program's.
    package var caller: CallerProcess { request.client?.caller ?? session.caller }
    /// Whether the connected program is a door that makes the request for a client.
    package var isForClient: Bool { request.client != nil }
    package var account: OwnerAccount { session.account }
    package var contexts: ContextTable { request.client?.contexts ?? session.contexts }
    /// Keys that wait for their items. Each client has its own.
    package var draftKeys: DraftKeys { request.client?.draftKeys ?? session.draftKeys }
    /// Under which name the rights of the request are filed. A door uses its own objects, and never its client's: it could name any
    /// process as its client.
    package var application: ExactName { session.caller.application }
    /// The groups whose objects the request sees, in order. A door's request sees the door's groups, as with ``application``.
    package var accessGroups: [ExactName] { session.caller.accessGroups }
    /// The records of the caller's owner.
    package var trail: AuditTrail { account.trail }

    /// At each release the caller must be unchanged; otherwise the connection and its grants end. A door's client must be unchanged,
    /// too, or its grants end.
    ///
    /// Where a person may have answered, the processes are looked at themselves: what the look costs is nothing beside that.
    package func verifyCaller() throws(Refusal) {
        let mayHaveAsked = cancellation != nil
        try session.verifyCaller(wholly: mayHaveAsked)
        if let client = request.client { try session.verify(client, wholly: mayHaveAsked) }
    }

    /// ``verifyCaller()`` for code that a person has answered, and that knows of no exchanges.
    package var callerVerification: @Sendable () throws -> Void {
        let (session, client) = (session, request.client)
        return {
            try session.verifyCaller(wholly: true)
            if let client { try session.verify(client, wholly: true) }
        }
    }

    /// Throws when the request was ended, on any thread.
    package func checkStanding() throws(Refusal) { try end.check() }

    /// The request's cancellation.
    ///
    /// - Throws: ``PersonNeeded`` on a thread that must not wait for anybody.
    package func slow() throws(PersonNeeded) -> RequestCancellation {
        guard let cancellation else { throw PersonNeeded() }
        return cancellation
    }

    /// The program that waits for turns, and the cancellation of its wait.
    package var requester: StretchRequester {
        StretchRequester(program: caller.program.ofOwner, cancellation: end)
    }

    /// The program that waits for the turns of a long reading.
    ///
    /// - Throws: ``OwnThreadNeeded`` on the connection's own thread.
    package func longReader() throws(OwnThreadNeeded) -> StretchRequester {
        guard request.mayReadMuch else { throw OwnThreadNeeded() }
        return requester
    }

    /// How a question of this request is asked.
    package func asking(_ question: WireQuestion) throws -> Asking { try asking(QuestionStyle(question)) }

    package func asking(_ style: QuestionStyle) throws -> Asking {
        Asking(
            caller: caller, terminal: request.terminal, clientLabel: request.onBehalf?.label ?? "", question: style,
            cancellation: try slow())
    }

    /// An event of the log that this request causes, by the request's own name where no other is given.
    ///
    /// - Parameter lease: the lease under which it happens, or that refuses.
    package func event(
        _ name: String? = nil, object: String = "", operation: String = "", lease: UInt64? = nil
    ) -> AuditTrail.Event {
        AuditTrail.Event(
            name: name ?? request.eventName, program: caller.program, object: object, operation: operation,
            leaseID: lease)
    }
}

/// A request must wait for a person or a slow computation and runs on a thread that must not. Nothing of it was done.
package struct PersonNeeded: Error {}

/// A request waits for a change, and has no thread meanwhile. The thread that notices the change answers it.
package struct LeftWaiting: Error {
    package init() {}
}

/// A request reads much, and runs on a thread that must not wait for turns. Nothing of it was done.
package struct OwnThreadNeeded: Error {}
