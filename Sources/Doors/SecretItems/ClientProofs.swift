import OstiaryClient

/// What a program locked, and what is kept apart since: for what was proved before it asks again.
public enum ProofScope: Hashable, Sendable {
    case item(SecretID, in: String)
    /// All items of a collection, by its identifier.
    case collection(String)

    var collection: String {
        switch self {
        case .item(_, let collection), .collection(let collection): collection
        }
    }

    fileprivate var isCollection: Bool {
        switch self {
        case .item: false
        case .collection: true
        }
    }
}

/// The contexts of one client: one for everything, and one for each item and collection that was locked.
///
/// A context holds factors, which serve whichever item they satisfy. So an item whose proofs are to end moves to a context of its own, and
/// the others keep theirs. Its context is made when it is first used, and the daemon learns of it then.
struct ClientProofs {
    /// Whether the daemon keeps the client, and with it what the client proves.
    var isPresent = false
    /// Nil for a context that nobody has used.
    private var apart: [ProofScope: AuthorizationContext?] = [:]
    private var itemCount = 0
    /// How many questions stand in a context.
    private var questions: [ObjectIdentifier: Int] = [:]
    /// Contexts that end with their last question.
    private var ending: Set<ObjectIdentifier> = []

    /// Items that are kept apart. One more has the context of its collection.
    static let itemLimit = 64
    /// Collections that are kept apart, more than there are at a time.
    static let collectionLimit = 128

    /// The context that something has for itself; nil for the one of all others.
    mutating func context(for scope: ProofScope?, _ make: () -> AuthorizationContext) -> AuthorizationContext? {
        guard let scope else { return nil }
        for scope in [scope, .collection(scope.collection)] {
            guard let own = apart[scope] else { continue }
            if let own { return own }
            let new = make()
            apart[scope] = .some(new)
            return new
        }
        return nil
    }

    /// Has something, and with a collection its items, begin with a new context.
    ///
    /// - Returns: those that are to end now.
    mutating func separate(_ scope: ProofScope, beside common: AuthorizationContext) -> [AuthorizationContext] {
        guard scope.isCollection else {
            let hasRoom = apart[scope] != nil || itemCount < Self.itemLimit
            return renew(hasRoom ? scope : .collection(scope.collection), beside: common)
        }
        let items = apart.keys.filter { !$0.isCollection && $0.collection == scope.collection }
        return ([scope] + items).flatMap { renew($0, beside: common) }
    }

    private mutating func renew(_ scope: ProofScope, beside common: AuthorizationContext) -> [AuthorizationContext] {
        var ended: [AuthorizationContext] = []
        if apart[scope] == nil {
            if scope.isCollection, apart.count - itemCount >= Self.collectionLimit { ended = endAll(beside: common) }
            if !scope.isCollection { itemCount += 1 }
        }
        if let former = apart.updateValue(nil, forKey: scope), let former, isEnding(former) { ended.append(former) }
        return ended
    }

    /// - Returns: the contexts that are to end now.
    mutating func leave(collection: String) -> [AuthorizationContext] {
        let gone = apart.filter { $0.key.collection == collection }
        for key in gone.keys {
            if !key.isCollection { itemCount -= 1 }
            apart.removeValue(forKey: key)
        }
        return gone.values.compactMap(\.self).filter { isEnding($0) }
    }

    /// - Returns: the contexts that are to end now.
    mutating func endAll(beside common: AuthorizationContext) -> [AuthorizationContext] {
        let all = apart.values.compactMap(\.self) + [common]
        (apart, itemCount) = ([:], 0)
        return all.filter { isEnding($0) }
    }

    /// Whether a context may end now. One with a standing question ends after it.
    private mutating func isEnding(_ context: AuthorizationContext) -> Bool {
        guard questions[ObjectIdentifier(context)] != nil else { return true }
        ending.insert(ObjectIdentifier(context))
        return false
    }

    // MARK: questions

    /// - Returns: the context in which the person proves something.
    mutating func beginQuestion(
        for scope: ProofScope?, beside common: AuthorizationContext, _ make: () -> AuthorizationContext
    ) -> AuthorizationContext {
        let own = context(for: scope, make)
        if own == nil { isPresent = true }
        let context = own ?? common
        questions[ObjectIdentifier(context), default: 0] += 1
        return context
    }

    /// - Returns: whether the context is to end now.
    mutating func endQuestion(in context: AuthorizationContext) -> Bool {
        let key = ObjectIdentifier(context)
        let left = (questions[key] ?? 1) - 1
        questions[key] = left > 0 ? left : nil
        return left <= 0 && ending.remove(key) != nil
    }
}
