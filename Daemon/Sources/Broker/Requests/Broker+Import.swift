import Auditing
import Foundation
import Opening
import OstiaryMessages
import OwnerKeys
import Owners
import PromptProtocol
import Refusals
import SecretMemory
import Sessions
import Synchronization
import Vault

/// A user's former store, which a program of the user carries into the store of the machine part by part (decision 0107).
extension Broker {
    func importStore(_ body: WireImportStoreRequest, _ exchange: Exchange) throws -> Reply {
        guard configuration.serves.sole == nil else {
            throw Refusal(
                .operationNotPermitted, "This daemon is your own, and stores are copied into the machine's.",
                cause: "migrate.one-user")
        }
        guard body.kind != WireImportStoreRequest.lookForCopy else { return try requireCopy(body.head, exchange) }
        guard let kind = TransferKind(rawValue: UInt8(clamping: body.kind)) else { throw Self.malformedPart }
        let head = Array(body.head)
        switch kind {
        case .begin: return try begin(head, body, exchange)
        case .registration, .item:
            try present(exchange).take(kind, head, exchange.request.tail)
            return .done
        case .end: return try finish(head, exchange)
        }
    }

    private static let malformedPart = Refusal(
        .malformed, "A part of the other store has another form, so nothing was copied.", cause: "migrate.malformed")

    /// Throws unless the user's part of the store is the one that a copy made. Others take its place when the user is forgotten, or when
    /// the machine gets another store.
    private func requireCopy(_ copy: Data, _ exchange: Exchange) throws(Refusal) -> Reply {
        guard exchange.account.id.bytes == copy else {
            throw Refusal(
                .notFound, "The store of this machine does not have the copy that was made of your own store.",
                cause: "migrate.other-copy")
        }
        return .done
    }

    private func present(_ exchange: Exchange) throws(Refusal) -> StoreImport {
        guard let present = exchange.session.attachment.withLock({ $0 as? StoreImport }) else {
            throw Refusal(.outOfOrder, "The connection has begun no copy of a store.", cause: "migrate.not-begun")
        }
        return present
    }

    /// Asks the owner first: registrations come along that the owner of this part was never asked for.
    private func begin(_ head: [UInt8], _ body: WireImportStoreRequest, _ exchange: Exchange) throws -> Reply {
        guard let beginning = TransferBeginning(head) else { throw Self.malformedPart }
        let asking = try exchange.asking(body.question)
        try exchange.verifyCaller()
        let event = exchange.event()
        try askOwner(
            "copy your own store into the store of this machine",
            "\(beginning.itemCount) items, \(beginning.registrationCount) registered programs", asking, exchange,
            for: event)
        try exchange.verifyCaller()
        try exchange.trail.change(event)
        let new = try StoreImport(
            beginning, for: exchange.account, in: opened.owners, store, passcode: exchange.request.tail,
            as: exchange.requester, log: log)
        let former = exchange.session.attachment.withLock { attachment in
            defer { attachment = new }
            return attachment
        }
        former?.sessionHasEnded()
        return .done
    }

    private func finish(_ head: [UInt8], _ exchange: Exchange) throws -> Reply {
        let present = try present(exchange)
        try exchange.verifyCaller()
        let former = exchange.account
        let outcome = try present.finish(head, note: exchange.event())
        // Other connections belong to the part that is gone; this one still gets its answer.
        sessions.close(of: former, besides: exchange.session)
        former.eraser.erase()
        return Reply(
            .importOutcome(
                .with {
                    $0.items = UInt32(clamping: outcome.itemCount)
                    $0.registrations = UInt32(clamping: outcome.registrationCount)
                    $0.leftItems = UInt32(clamping: outcome.leftCount)
                    $0.copy = outcome.part.bytes
                }))
    }
}

extension StoreImport: SessionAttachment {
    package func sessionHasEnded() { abandon() }
}
