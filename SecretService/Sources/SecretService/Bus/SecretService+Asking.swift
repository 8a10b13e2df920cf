import MessageBus
import SecretItems

extension SecretService {
    /// Does something that asks for nothing as a rule, and answers the call. Where a rule wants a proof it is done in the client's lane, in
    /// which the person is asked.
    ///
    /// - Parameters:
    ///   - items: as of ``ask(_:_:about:_:)``.
    ///   - words: say what the question is for.
    ///   - work: does it, with a question or without, and answers the call unless it throws.
    func attempt(
        _ call: BusCall, _ client: ServiceClient, about items: Set<SecretID>,
        for words: @escaping @Sendable () throws(StoreRefusal) -> String,
        _ work: @escaping @Sendable (SecretQuestion?) throws(StoreRefusal) -> Void
    ) throws(BusFault) {
        do throws(StoreRefusal) { return try work(nil) } catch {
            guard error == .needsQuestion else { throw BusFault(error) }
        }
        try ask(call, client, about: items) { (cancellation) throws(StoreRefusal) in
            try work(SecretQuestion(words(), cancellation: cancellation))
        }
    }
}
