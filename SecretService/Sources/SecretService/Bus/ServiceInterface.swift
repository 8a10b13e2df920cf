import MessageBus
import SecretItems
import Synchronization

/// `org.freedesktop.Secret.Service`.
extension SecretService {
    func serviceInterface() -> ServedInterface {
        ServedInterface(
            SecretInterface.service,
            methods: [
                openSession, createCollection, searchAll, unlock, lock, getSecrets, readAlias, setAlias,
            ],
            properties: [ServedProperty.readLater("Collections", "ao")],
            signals: [
                ServedSignal("CollectionCreated", "o"), ServedSignal("CollectionDeleted", "o"),
                ServedSignal("CollectionChanged", "o"),
            ],
            readingLater: { [self] (call, name) throws(BusFault) in
                try run(call) { [self] (client) throws(BusFault) in
                    let collections = try BusFault.catching { () throws(StoreRefusal) -> [KeptCollection] in
                        try keyring(client).collections()
                    }
                    let paths = collections.map { ServedPath.collection($0.name).text }
                    let values: PropertyValues = ["Collections": .paths(paths)]
                    values.answer(call, name)
                }
            },
            hasObject: { $0 == ServedPath.root })
    }

    // MARK: sessions

    private struct SessionRequest: Sendable {
        let algorithm: String
        /// The program's public value, if the input is one.
        let publicValue: [UInt8]?
    }

    private var openSession: ServedMethod {
        method(
            "OpenSession", "sv", returns: "vo", usesStore: false,
            reading: { (arguments) throws(BusFault) -> SessionRequest in
                let algorithm = try arguments.readString()
                guard try arguments.variantContents() == "ay" else {
                    try arguments.skip()
                    return SessionRequest(algorithm: algorithm, publicValue: nil)
                }
                let value = try arguments.readVariant(of: "ay") { (value) throws(BusFault) -> [UInt8] in
                    try value.readBytes()
                }
                return SessionRequest(algorithm: algorithm, publicValue: value)
            },
            { [self] (call, _, request) throws(BusFault) in
                let (session, publicValue) = try Self.session(for: request)
                let number = try sessions.withLock { (sessions) throws(BusFault) in
                    try sessions.add(session, of: call.caller.holder)
                }
                try requireStay(of: call)
                call.answer { (values) throws(BusFault) in
                    try values.appendVariant(of: publicValue == nil ? "s" : "ay") { (values) throws(BusFault) in
                        if let publicValue { try values.append(bytes: publicValue) } else { try values.append("") }
                    }
                    try values.append(objectPath: ServedPath.session(number).text)
                }
            })
    }

    /// The session, and what the program gets for it; nil for nothing.
    private static func session(
        for request: SessionRequest
    ) throws(BusFault) -> (session: SecretSession, publicValue: [UInt8]?) {
        switch request.algorithm {
        case SecretSession.plain: return (SecretSession(), nil)
        case SecretSession.encrypted:
            guard let value = request.publicValue else { throw .invalid("The public value is missing.") }
            let exchanged = try SecretSession.exchanging(value)
            return (exchanged.session, exchanged.publicValue)
        default:
            throw .unsupported("Sessions are \(SecretSession.plain) or \(SecretSession.encrypted).")
        }
    }

    /// The session of a caller.
    func session(_ path: String, of call: BusCall) throws(BusFault) -> SecretSession {
        try sessions.withLock { (sessions) throws(BusFault) in try sessions.session(path, of: call.caller.name) }
    }

    // MARK: finding

    private var searchAll: ServedMethod {
        method(
            "SearchItems", "a{ss}", returns: "aoao",
            reading: { (arguments) throws(BusFault) -> [String: String] in try arguments.readAttributes() },
            { [self] (call, client, attributes) throws(BusFault) in
                let view = keyring(client)
                let found = try BusFault.catching { () throws(StoreRefusal) -> [PlacedItem] in
                    try view.items(attributes)
                }
                let unlocked = found.filter { !view.isLocked($0) }.map(\.path)
                let locked = found.filter { view.isLocked($0) }.map(\.path)
                call.answer { (values) throws(BusFault) in
                    try values.append(objectPaths: unlocked)
                    try values.append(objectPaths: locked)
                }
            })
    }

    // MARK: further names of collections

    private var readAlias: ServedMethod {
        method(
            "ReadAlias", "s", returns: "o",
            reading: { (arguments) throws(BusFault) -> String in try arguments.readString() },
            { [self] (call, client, text) throws(BusFault) in
                let name = try BusFault.catching { () throws(StoreRefusal) -> CollectionName? in
                    guard let alias = AliasName(text) else { return nil }
                    return try keyring(client).collection(called: alias)
                }
                let path = name.map { ServedPath.collection($0).text } ?? ServedPath.noObject
                call.answer { (values) throws(BusFault) in try values.append(objectPath: path) }
            })
    }

    private struct AliasRequest: Sendable {
        let name: String
        let path: String
    }

    private var setAlias: ServedMethod {
        method(
            "SetAlias", "so",
            reading: { (arguments) throws(BusFault) -> AliasRequest in
                AliasRequest(name: try arguments.readString(), path: try arguments.readObjectPath())
            },
            { [self] (call, client, request) throws(BusFault) in
                guard let alias = AliasName(request.name) else {
                    throw .invalid("The name of a collection has 1 to 64 letters, digits and underscores.")
                }
                let view = keyring(client)
                let collection = request.path == ServedPath.noObject ? nil : try collection(at: request.path, view)
                try attempt(call, client, about: []) { () throws(StoreRefusal) in
                    let label = collection?.label ?? ""
                    return alias == .standard
                        ? SecretWords.makingDefault(label: label) : SecretWords.changing(collection: label)
                } _: { (question) throws(StoreRefusal) in
                    try view.call(collection?.name, alias, asking: question)
                    call.answer()
                }
            })
    }

    /// The collection at a path, also by one of its further names.
    func collection(at path: String, _ keyring: Keyring) throws(BusFault) -> KeptCollection {
        let name = try collectionName(at: path, keyring)
        return try BusFault.catching { () throws(StoreRefusal) in try keyring.collection(name) }
    }

    /// The name of the collection that a path leads to, for what then looks for the collection itself.
    func collectionName(at path: String, _ keyring: Keyring) throws(BusFault) -> CollectionName {
        try BusFault.catching { () throws(StoreRefusal) -> CollectionName in
            switch ServedPath(path) {
            case .collection(let name): return name
            case .alias(let alias):
                guard let name = try keyring.collection(called: alias) else { throw .notFound }
                return name
            default: throw .notFound
            }
        }
    }
}
