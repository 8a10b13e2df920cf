import Cancellations
import MessageBus
import SecretItems
import Synchronization

/// `org.freedesktop.Secret.Item`.
extension SecretService {
    func itemInterface() -> ServedInterface {
        ServedInterface(
            SecretInterface.item, methods: [deleteItem, getSecret, setSecret],
            properties: [
                ServedProperty.readLater("Locked", "b"), attributesOfItem, labelOfItem,
                ServedProperty.readLater("Created", "t"), ServedProperty.readLater("Modified", "t"),
            ],
            readingLater: { [self] (call, name) throws(BusFault) in
                try run(call) { [self] (client) throws(BusFault) in
                    try properties(of: Self.place(call.path), keyring(client)).answer(call, name)
                }
            },
            hasObject: { path in
                guard case .item? = ServedPath(path) else { return false }
                return true
            })
    }

    /// An item by its path.
    struct ItemPlace: Sendable {
        let id: SecretID
        let collection: CollectionName

        var path: String { ServedPath.item(id, in: collection).text }
    }

    static func place(_ path: String) throws(BusFault) -> ItemPlace {
        guard case .item(let id, let name)? = ServedPath(path) else { throw .noSuchObject }
        return ItemPlace(id: id, collection: name)
    }

    func properties(of place: ItemPlace, _ view: Keyring) throws(BusFault) -> PropertyValues {
        let item = try BusFault.catching { () throws(StoreRefusal) -> ListedSecret in
            try view.item(place.id, in: place.collection)
        }
        let contents = item.contents
        return [
            "Locked": .flag(locks.isLocked(item, in: place.collection)),
            "Attributes": .attributes(contents?.attributes ?? [:]), "Label": .text(contents?.label ?? ""),
            "Created": .seconds(contents?.created ?? 0), "Modified": .seconds(contents?.modified ?? 0),
        ]
    }

    // MARK: changing

    private var labelOfItem: ServedProperty {
        ServedProperty.readLater("Label", "s") { [self] (call, arguments) throws(BusFault) in
            let label = try arguments.readLabel()
            try change(call, to: SecretChange(label: label), telling: ["Label": .text(label)])
        }
    }

    private var attributesOfItem: ServedProperty {
        ServedProperty.readLater("Attributes", "a{ss}") { [self] (call, arguments) throws(BusFault) in
            let attributes = try arguments.readAttributes()
            try change(
                call, to: SecretChange(attributes: attributes), telling: ["Attributes": .attributes(attributes)])
        }
    }

    private func change(
        _ call: BusCall, to change: SecretChange, telling values: PropertyValues
    ) throws(BusFault) {
        try run(call) { [self] (client) throws(BusFault) in
            try apply(change, call, client, telling: values)
        }
    }

    /// Changes an item under its rule, and answers the call.
    private func apply(
        _ change: SecretChange, _ call: BusCall, _ client: ServiceClient, telling values: PropertyValues? = nil
    ) throws(BusFault) {
        let (place, view) = (try Self.place(call.path), keyring(client))
        try attempt(call, client, about: [place.id]) { () throws(StoreRefusal) in
            SecretWords.changing(label: try view.item(place.id, in: place.collection).contents?.label)
        } _: { [self] (question) throws(StoreRefusal) in
            try view.requireUnlocked(place.id, in: place.collection)
            try view.changeItem(place.id, in: place.collection, to: change, asking: question)
            announcer.itemChanged(place.id, in: place.collection, .changed)
            if let values { bus.announce(SecretInterface.item, at: place.path, values) }
            call.answer()
        }
    }

    private var setSecret: ServedMethod {
        method(
            "SetSecret", "(oayays)",
            reading: { (arguments) throws(BusFault) -> SecretParcel in try arguments.readParcel() },
            { [self] (call, client, parcel) throws(BusFault) in
                let secret = try session(parcel.session, of: call).open(parcel)
                try apply(SecretChange(contentType: parcel.contentType, secret: secret), call, client)
            })
    }

    private var deleteItem: ServedMethod {
        method(
            "Delete", returns: "o", reading: NoArguments.read,
            { [self] (call, client, _) throws(BusFault) in
                let (place, view) = (try Self.place(call.path), keyring(client))
                try attempt(call, client, about: [place.id]) { () throws(StoreRefusal) in
                    SecretWords.deleting(label: try view.item(place.id, in: place.collection).contents?.label)
                } _: { [self] (question) throws(StoreRefusal) in
                    try view.requireUnlocked(place.id, in: place.collection)
                    try view.deleteItem(place.id, in: place.collection, asking: question)
                    announcer.itemChanged(place.id, in: place.collection, .removed)
                    call.answer { (values) throws(BusFault) in try values.append(objectPath: ServedPath.noObject) }
                }
            })
    }

    // MARK: reading

    /// A secret whose rule wants a proof is answered when the person has given it. A program that gave up waiting finds the proof when it
    /// asks again: it is kept for this program, as long as the rule and the daemon let it count.
    private var getSecret: ServedMethod {
        method(
            "GetSecret", "o", returns: "(oayays)",
            reading: { (arguments) throws(BusFault) -> String in try arguments.readObjectPath() },
            { [self] (call, client, path) throws(BusFault) in
                let session = try session(path, of: call)
                let (place, view) = (try Self.place(call.path), keyring(client))
                let opened: OpenedSecret
                do throws(StoreRefusal) { opened = try view.read(place.id, in: place.collection) } catch {
                    guard error == .needsQuestion else { throw BusFault(error) }
                    return try askToRead(place, view, call, client, session, at: path)
                }
                Self.answer(call, with: opened, session, at: path)
            })
    }

    private func askToRead(
        _ place: ItemPlace, _ view: Keyring, _ call: BusCall, _ client: ServiceClient, _ session: SecretSession,
        at path: String
    ) throws(BusFault) {
        let item = try BusFault.catching { () throws(StoreRefusal) -> ListedSecret in
            try view.item(place.id, in: place.collection)
        }
        // Nobody is asked for what the session does not carry.
        try session.requireEncryption(of: item)
        try ask(call, client, about: [place.id]) { [self] (cancellation) throws(StoreRefusal) in
            let wasLocked = locks.door.items.contains(place.id)
            let words = SecretWords.reading(label: item.contents?.label)
            let opened = try view.read(
                place.id, in: place.collection, asking: SecretQuestion(words, cancellation: cancellation))
            if wasLocked { announcer.lockChanged(.item(place.id, in: place.collection), isLocked: false) }
            Self.answer(call, with: opened, session, at: path)
        }
    }

    private static func answer(_ call: BusCall, with opened: OpenedSecret, _ session: SecretSession, at path: String) {
        let sealed: SealedSecret
        do throws(BusFault) { sealed = try session.seal(opened) } catch { return call.refuse(error) }
        call.answer { (values) throws(BusFault) in
            try values.append(sealed, session: path, contentType: opened.contentType)
        }
    }
}
