package import Foundation
package import OstiaryMessages
package import SecretMemory

/// One part of a store on its way into the machine's.
package struct StorePart: ~Copyable {
    /// As in ``WireImportStoreRequest``.
    package let kind: UInt8
    package let head: [UInt8]
    package let secret: SecretBytes

    package init(kind: UInt8, head: [UInt8], secret: consuming SecretBytes) {
        (self.kind, self.head) = (kind, head)
        self.secret = secret
    }
}

extension OstiaryClient {
    /// Gives one part of the user's own store to the machine's daemon. All parts need one connection: a copy ends with it.
    ///
    /// - Parameter interaction: for the first part, which asks.
    /// - Returns: for the last part, what came along.
    package func importPart(
        _ part: borrowing StorePart, interaction: Interaction?
    ) throws -> WireImportOutcome? {
        let request = WireImportStoreRequest.with {
            ($0.kind, $0.head) = (UInt32(part.kind), Data(part.head))
            if let interaction { $0.question = interaction.question }
        }
        let answer = try call(.importStore(request), tail: part.secret, terminal: interaction?.terminal)
        if case .importOutcome(let outcome) = answer.body { return outcome }
        return nil
    }

    /// Whether the user's part of the machine's store is the one that a copy made.
    ///
    /// - Parameter copy: ``WireImportOutcome/copy`` of that copy.
    package func hasCopy(_ copy: Data) throws -> Bool {
        let request = WireImportStoreRequest.with { ($0.kind, $0.head) = (WireImportStoreRequest.lookForCopy, copy) }
        do { _ = try call(.importStore(request)) } catch let error as OstiaryError
            where error.cause == "migrate.other-copy"
        {
            return false
        }
        return true
    }
}
