import AccessControl
import DoorSupport
import OstiaryClient

extension SecretClient {
    /// Has the passcode open the store. Asks nobody if it is open.
    public func openStore(asking question: SecretQuestion) throws(StoreRefusal) {
        try prove { () throws in
            try asking(for: nil) { context in
                try context.authorize(
                    .store, interaction: question.interaction, cancellation: question.cancellation)
            }
        }
    }

    /// Has the owner prove that they are there: with a finger or the passcode, whatever was proved before.
    ///
    /// - Throws: `nothingToProve` where the owner has neither.
    public func proveOwner(asking question: SecretQuestion) throws(StoreRefusal) {
        try prove { () throws in
            // A context of its own, in which nothing counts that was proved before.
            let context = AuthorizationContext(client: served.ostiary)
            let requirement = try Requirement(anyOf: [FactorSet.passcode, FactorSet.biometry])
            return try context.authorize(
                .requirement(requirement), interaction: question.interaction, cancellation: question.cancellation)
        }
    }

    /// Has the person prove what the rule of an item, or of a collection's row, wants. Its uses ask for nothing then, as long as the rule
    /// allows.
    public func proveRule(of item: ListedSecret, asking question: SecretQuestion) throws(StoreRefusal) {
        guard let accessControl = item.accessControl else { throw .locked }
        try prove { () throws in
            try asking(for: item.scope) { context in
                try context.evaluate(
                    accessControl, for: .read, interaction: question.interaction, cancellation: question.cancellation)
            }
        }
    }

    private func prove(_ body: () throws -> Grant) throws(StoreRefusal) {
        do { _ = try body() } catch { throw StoreRefusal(any: error) }
    }
}
