import SecretItems

/// What an import did, for people and programs.
struct ImportReport: Encodable, Equatable {
    /// What was not brought.
    struct Left: Encodable, Equatable {
        var collection: String?
        /// Absent for a whole collection, and where it is not known.
        var label: String?
        /// As the other keyring has it.
        var path: String?
        var reason = ""

        init(collection: SourceCollection? = nil, label: String? = nil, path: String? = nil) {
            (self.collection, self.label, self.path) = (collection?.name, label, path ?? collection?.path)
        }

        func because(_ reason: String) -> Left {
            var left = self
            left.reason = reason
            return left
        }

        var words: String {
            let name = label.map(\.quotedName) ?? path.map(\.shownName) ?? ""
            let place = label == nil ? "" : collection.map { " of \($0.quotedName)" } ?? ""
            return "\(name)\(place): \(reason)"
        }
    }

    var brought = 0
    /// Brought again, because the other keyring changed them.
    var replaced = 0
    /// Those that the store had already.
    var present = 0
    /// Those of a collection in memory, which ends with the session.
    var sessionCount = 0
    var left: [Left] = []

    private enum CodingKeys: String, CodingKey {
        case brought, replaced, present, left
        case sessionCount = "session"
    }

    var lines: [String] {
        func items(_ count: Int) -> String { count == 1 ? "1 item" : "\(count) items" }
        var lines = ["Brought \(items(brought))."]
        if replaced > 0 { lines.append("Brought \(items(replaced)) again, changed there since.") }
        if present > 0 { lines.append("\(items(present)) \(present == 1 ? "was" : "were") here already.") }
        if sessionCount > 0 {
            let verb = sessionCount == 1 ? "was" : "were"
            lines.append(
                "\(items(sessionCount)) of the collection session \(verb) left: such items end with the session.")
        }
        if !left.isEmpty { lines.append("Not brought:") }
        return lines + left.map { "  \($0.words)" }
    }
}

/// How far an import is.
enum ImportNews {
    /// The other keyring asks the person to unlock this.
    case asks(String)
    /// An item of a collection is looked at: its number, of those that the store does not have.
    case goesOn(String, Int, of: Int)
}

/// Which collection of the store the items of another keyring's come to.
struct ImportTargets {
    private let collections: OwnedCollections
    /// Whether the other keyring has a collection `login`. Without one, its default collection takes that place.
    private let hasLogin: Bool
    /// By their paths in the other keyring.
    private var made: [String: OwnedCollection] = [:]

    init(_ collections: OwnedCollections, hasLogin: Bool) {
        (self.collections, self.hasLogin) = (collections, hasLogin)
    }

    /// Nil for one that has to be made.
    func target(of collection: SourceCollection) -> OwnedCollection? {
        let isLogin = collection.pathName == CollectionDefaults.login || !hasLogin && collection.isDefault
        guard !isLogin else {
            return collections.all.first { $0.identifier == CollectionDefaults.login }
        }
        // One of this label may be from an import that was interrupted.
        return made[collection.path] ?? collections.all.first { $0.label.isSame(as: collection.name) }
    }

    /// The attributes with which a new collection begins.
    var inherited: [String: String] {
        let login = collections.all.first { $0.identifier == CollectionDefaults.login }
        return CollectionDefaults.inherited(from: login?.defaults ?? [:])
    }

    /// Notes a collection that was made.
    mutating func note(_ collection: SourceCollection, _ id: SecretID) -> OwnedCollection {
        let contents = SecretContents(
            kind: .collection, collection: "", label: collection.name, attributes: inherited)
        let new = OwnedCollection(
            identifier: id.description, label: collection.name, row: OwnedSecret(id: id, contents: contents))
        made[collection.path] = new
        return new
    }
}
