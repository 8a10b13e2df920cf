import MessageBus
import SecretItems
import Synchronization

/// `org.freedesktop.Secret.Collection`, and the making of collections.
extension SecretService {
    func collectionInterface() -> ServedInterface {
        ServedInterface(
            SecretInterface.collection, methods: [deleteCollection, searchCollection, createItem],
            properties: [
                ServedProperty.readLater("Items", "ao"), labelOfCollection, ServedProperty.readLater("Locked", "b"),
                ServedProperty.readLater("Created", "t"), ServedProperty.readLater("Modified", "t"),
            ],
            signals: [
                ServedSignal("ItemCreated", "o"), ServedSignal("ItemDeleted", "o"), ServedSignal("ItemChanged", "o"),
            ],
            readingLater: { [self] (call, name) throws(BusFault) in
                try run(call) { [self] (client) throws(BusFault) in
                    try properties(ofCollectionAt: call.path, keyring(client), name).answer(call, name)
                }
            },
            hasObject: { path in
                switch ServedPath(path) {
                case .collection, .alias: true
                default: false
                }
            })
    }

    /// - Parameter name: the property that is wanted; nil for all.
    private func properties(
        ofCollectionAt path: String, _ view: Keyring, _ name: String?
    ) throws(BusFault) -> PropertyValues {
        let collection = try collection(at: path, view)
        // The items are listed only where somebody wants them.
        let wantsItems = name == nil || name == "Items"
        let items = try BusFault.catching { () throws(StoreRefusal) -> [PlacedItem] in
            wantsItems ? try view.items(in: collection.name) : []
        }
        let isSession = collection.name == .session
        return [
            "Items": .paths(items.map(\.path)), "Label": .text(collection.label),
            "Locked": .flag(locks.isLocked(collection.name)),
            "Created": .seconds(isSession ? memory.created : collection.row?.contents?.created ?? 0),
            "Modified": .seconds(isSession ? memory.modified : collection.row?.contents?.modified ?? 0),
        ]
    }

    private var labelOfCollection: ServedProperty {
        ServedProperty.readLater("Label", "s") { [self] (call, arguments) throws(BusFault) in
            let label = try arguments.readLabel()
            try run(call) { [self] (client) throws(BusFault) in
                let view = keyring(client)
                let collection = try collection(at: call.path, view)
                let name = collection.name
                try attempt(call, client, about: []) { () throws(StoreRefusal) in
                    SecretWords.changing(collection: collection.label)
                } _: { [self] (question) throws(StoreRefusal) in
                    try view.setLabel(label, of: name, asking: question)
                    announcer.collectionChanged(name, .changed)
                    bus.announce(
                        SecretInterface.collection, at: ServedPath.collection(name).text, ["Label": .text(label)])
                    call.answer()
                }
            }
        }
    }

    // MARK: making and deleting

    private struct CollectionRequest: Sendable {
        let label: String
        let alias: String
    }

    var createCollection: ServedMethod {
        method(
            "CreateCollection", "a{sv}s", returns: "oo",
            reading: { (arguments) throws(BusFault) -> CollectionRequest in
                let properties = try arguments.readProperties(of: SecretInterface.collection)
                return CollectionRequest(label: properties.label ?? "", alias: try arguments.readString())
            },
            { [self] (call, client, request) throws(BusFault) in
                let alias = AliasName(request.alias)
                guard alias != nil || request.alias.isEmpty else {
                    throw .invalid("The name of a collection has 1 to 64 letters, digits and underscores.")
                }
                let view = keyring(client)
                do throws(StoreRefusal) {
                    let path = try make(request.label, alias, view, for: client.program, asking: nil)
                    Self.answer(call, made: path, prompt: ServedPath.noObject)
                } catch {
                    // An owner who opens the store agrees to it.
                    guard error == .locked else { throw BusFault(error) }
                    let prompt = try makePrompt(making(request.label, alias, view, for: client.program), for: call)
                    Self.answer(call, made: ServedPath.noObject, prompt: prompt)
                }
            })
    }

    /// Makes a collection, or finds the one that has the name already; returns its path.
    private func make(
        _ label: String, _ alias: AliasName?, _ view: Keyring, for program: CallerFile?,
        asking question: SecretQuestion?
    ) throws(StoreRefusal) -> String {
        // One that is there needs no place.
        if let alias, let present = try view.collection(called: alias) { return ServedPath.collection(present).text }
        try collectionsMade.withLock { (made) throws(StoreRefusal) in try made.take(for: program) }
        var place: SecretID?
        defer {
            collectionsMade.withLock { made in
                if let place { made.note(place, by: program) } else { made.giveBack(of: program) }
            }
        }
        let (name, isNew) = try view.makeCollection(label: label, alias: alias, asking: question)
        if isNew {
            if case .made(let id) = name { place = id }
            announcer.collectionChanged(name, .added)
        }
        return ServedPath.collection(name).text
    }

    private func making(
        _ label: String, _ alias: AliasName?, _ view: Keyring, for program: CallerFile?
    ) -> PromptWork {
        PromptWork(
            byteCount: label.utf8.count,
            run: { [self] (cancellation) throws(StoreRefusal) in
                let question = SecretQuestion(SecretWords.making(label: label), cancellation: cancellation)
                let path = try make(label, alias, view, for: program, asking: question)
                noteOpen()
                return .path(path)
            }, nothing: .path(ServedPath.noObject))
    }

    private static func answer(_ call: BusCall, made path: String, prompt: String) {
        call.answer { (values) throws(BusFault) in
            try values.append(objectPath: path)
            try values.append(objectPath: prompt)
        }
    }

    private var deleteCollection: ServedMethod {
        method(
            "Delete", returns: "o", reading: NoArguments.read,
            { [self] (call, client, _) throws(BusFault) in
                let view = keyring(client)
                let collection = try collection(at: call.path, view)
                try attempt(call, client, about: []) { () throws(StoreRefusal) in
                    SecretWords.deleting(collection: collection.label)
                } _: { [self] (question) throws(StoreRefusal) in
                    try view.deleteCollection(collection.name, asking: question)
                    noteDeletion(of: collection.name)
                    call.answer { (values) throws(BusFault) in try values.append(objectPath: ServedPath.noObject) }
                }
            })
    }

    private func noteDeletion(of name: CollectionName) {
        locks.change { $0.unlock(name) }
        if case .made(let id) = name { collectionsMade.withLock { $0.forget(id) } }
        for client in clients.all { client.store.leaveProofs(ofCollection: name.text) }
        announcer.collectionChanged(name, .removed)
    }

    // MARK: items

    private var searchCollection: ServedMethod {
        method(
            "SearchItems", "a{ss}", returns: "ao",
            reading: { (arguments) throws(BusFault) -> [String: String] in try arguments.readAttributes() },
            { [self] (call, client, attributes) throws(BusFault) in
                let view = keyring(client)
                let name = try collection(at: call.path, view).name
                let found = try BusFault.catching { () throws(StoreRefusal) -> [PlacedItem] in
                    try view.items(in: name, attributes)
                }
                let paths = found.map(\.path)
                call.answer { (values) throws(BusFault) in try values.append(objectPaths: paths) }
            })
    }

    private struct ItemRequest: Sendable {
        let properties: GivenProperties
        let parcel: SecretParcel
        let replaces: Bool
    }

    private var createItem: ServedMethod {
        method(
            "CreateItem", "a{sv}(oayays)b", returns: "oo",
            reading: { (arguments) throws(BusFault) -> ItemRequest in
                ItemRequest(
                    properties: try arguments.readProperties(of: SecretInterface.item),
                    parcel: try arguments.readParcel(), replaces: try arguments.readBool())
            },
            { [self] (call, client, request) throws(BusFault) in
                let session = try session(request.parcel.session, of: call)
                let wish = Keyring.Wish(
                    label: request.properties.label, attributes: request.properties.attributes ?? [:],
                    contentType: request.parcel.contentType, secret: try session.open(request.parcel),
                    replaces: request.replaces)
                let view = keyring(client)
                let name = try collectionName(at: call.path, view)
                try attempt(call, client, about: []) { () throws(StoreRefusal) in
                    SecretWords.changing(label: wish.label)
                } _: { [self] (question) throws(StoreRefusal) in
                    let (id, isNew) = try view.makeItem(wish, in: name, asking: question)
                    announcer.itemChanged(id, in: name, isNew ? .added : .changed)
                    Self.answer(call, made: ServedPath.item(id, in: name).text, prompt: ServedPath.noObject)
                }
            })
    }
}
