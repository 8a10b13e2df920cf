import Glibc
import MessageBus
import SecretItems
import SecretMemory
import SessionCiphers

/// The keyring of another program, which serves it on a message bus (Secret Service API, 0.2). For one thread.
final class BusKeyring: SourceKeyring {
    private static let root = "/org/freedesktop/secrets"
    private static let noObject = "/"
    /// A keyring may ask its person before it answers.
    private static let patience = Duration.seconds(300)
    /// What an item of ours holds, and a block for a padding.
    private static let secretByteCount = (1 << 20) + 16

    private enum Interface {
        static let service = "org.freedesktop.Secret.Service"
        static let collection = "org.freedesktop.Secret.Collection"
        static let item = "org.freedesktop.Secret.Item"
        static let prompt = "org.freedesktop.Secret.Prompt"
        static let properties = "org.freedesktop.DBus.Properties"
    }

    private let bus: Bus
    /// The connection that had the name at the beginning. Another one that takes the name later is not asked.
    private let owner: String
    private var session = BusKeyring.noObject
    /// Nil where secrets are not encrypted.
    private var key: SessionKey?

    /// Whether secrets are encrypted on the bus.
    var isEncrypted: Bool { key != nil }

    init(_ bus: Bus, of owner: String) throws(SourceFailure) {
        (self.bus, self.owner) = (bus, owner)
        try reading { () throws(BusError) in try bus.receive(ServiceOwner.changes(of: owner)) }
        try openSession()
    }

    // MARK: the session

    /// Encrypted where the keyring can, so that recordings of the bus hold no secret.
    private func openSession() throws(SourceFailure) {
        do throws(SourceFailure) { try openEncryptedSession() } catch {
            guard case .refused = error else { throw error }
            let answer = try call(Self.root, Interface.service, "OpenSession") { (values) throws(BusFault) in
                try values.append("plain")
                try values.appendVariant(of: "s") { (values) throws(BusFault) in try values.append("") }
            }
            session = try reading { () throws(BusError) -> String in
                try answer.skip("v")
                return try answer.readText(.objectPath)
            }
        }
    }

    private func openEncryptedSession() throws(SourceFailure) {
        let exchange = KeyExchange()
        let own = exchange.publicValue
        let answer = try call(Self.root, Interface.service, "OpenSession") { (values) throws(BusFault) in
            try values.append("dh-ietf1024-sha256-aes128-cbc-pkcs7")
            try values.appendVariant(of: "ay") { (values) throws(BusFault) in try values.append(bytes: own) }
        }
        var (peer, path) = ([UInt8](), Self.noObject)
        try reading { () throws(BusError) -> Void in
            guard try answer.variantContents() == "ay", try answer.enter(.variant, "ay") else {
                return try answer.skip("v")
            }
            peer = try answer.readBytes(atMost: 2 * KeyExchange.byteCount)
            try answer.exitContainer()
            path = try answer.readText(.objectPath)
        }
        guard let secret = exchange.sharedSecret(with: peer) else {
            throw .lost(
                "The other keyring answered with a number that is none of the exchange, so no secret was asked for.")
        }
        (session, key) = (path, SessionKey(sharedSecret: secret))
    }

    // MARK: objects

    func collections() throws(SourceFailure) -> [SourceCollection] {
        var paths: [String] = []
        try readProperties(of: Self.root, Interface.service) { (name, type, value) throws(BusError) in
            guard name == "Collections", type == "ao" else { return false }
            paths = try Self.readPaths(value)
            return true
        }
        let standard = try defaultPath()
        var collections: [SourceCollection] = []
        for path in paths { collections.append(try collection(path, isDefault: path == standard)) }
        return collections
    }

    private func defaultPath() throws(SourceFailure) -> String {
        let answer = try call(Self.root, Interface.service, "ReadAlias") { (values) throws(BusFault) in
            try values.append("default")
        }
        return try reading { () throws(BusError) in try answer.readText(.objectPath) }
    }

    private func collection(_ path: String, isDefault: Bool) throws(SourceFailure) -> SourceCollection {
        var (label, isLocked) = ("", false)
        try readProperties(of: path, Interface.collection) { (name, type, value) throws(BusError) in
            switch (name, type) {
            case ("Label", "s"): label = try value.readText()
            case ("Locked", "b"): isLocked = try value.readBool()
            default: return false
            }
            return true
        }
        return SourceCollection(path: path, label: label, isLocked: isLocked, isDefault: isDefault)
    }

    func items(in collection: String) throws(SourceFailure) -> [String] {
        var paths: [String] = []
        try readProperties(of: collection, Interface.collection) { (name, type, value) throws(BusError) in
            guard name == "Items", type == "ao" else { return false }
            paths = try Self.readPaths(value)
            return true
        }
        return paths
    }

    func item(_ path: String) throws(SourceFailure) -> SourceItem {
        var item = SourceItem(path: path, label: "", attributes: [:], created: 0, modified: 0, isLocked: false)
        var areClear = true
        try readProperties(of: path, Interface.item) { (name, type, value) throws(BusError) in
            switch (name, type) {
            case ("Label", "s"): item.label = try value.readText()
            case ("Created", "t"): item.created = try value.readNumber(UInt64.self)
            case ("Modified", "t"): item.modified = try value.readNumber(UInt64.self)
            case ("Locked", "b"): item.isLocked = try value.readBool()
            case ("Attributes", "a{ss}"): (item.attributes, areClear) = try Self.readAttributes(value)
            default: return false
            }
            return true
        }
        guard areClear else {
            throw .refused(
                "It has an attribute without a name, or two whose names look the same. Change it there, and import again."
            )
        }
        // In the place of attributes whose values nobody can know.
        guard !item.attributes.keys.contains(where: { $0.hasPrefix(Self.digested) }) else { throw Self.locked }
        return item
    }

    // MARK: unlocking

    func unlock(_ paths: [String]) throws(SourceFailure) -> Bool {
        let answer = try call(Self.root, Interface.service, "Unlock") { (values) throws(BusFault) in
            try values.appendArray(of: "o") { (values) throws(BusFault) in
                for path in paths { try values.append(objectPath: path) }
            }
        }
        let prompt = try reading { () throws(BusError) -> String in
            try answer.skip("ao")
            return try answer.readText(.objectPath)
        }
        return prompt == Self.noObject ? true : try show(prompt)
    }

    /// Has the keyring ask the person, and waits for as long as that takes.
    private func show(_ prompt: String) throws(SourceFailure) -> Bool {
        let match = SignalMatch(Interface.prompt, "Completed", from: owner, path: prompt)
        try reading { () throws(BusError) in try bus.receive(match) }
        _ = try call(prompt, Interface.prompt, "Prompt") { (values) throws(BusFault) in try values.append("") }
        while true {
            let message = try reading { () throws(BusError) in try bus.next() }
            guard try !isDeparture(message) else { throw Self.gone }
            guard message.sender == owner, message.path == prompt,
                message.isSignal(Interface.prompt, "Completed")
            else { continue }
            return try reading { () throws(BusError) in try !message.readBool() }
        }
    }

    /// Whether the bus tells that the keyring's connection has ended.
    private func isDeparture(_ message: BusMessage) throws(SourceFailure) -> Bool {
        var follower = ServiceOwner(of: owner, connection: owner)
        try reading { () throws(BusError) in _ = try follower.follow(message) }
        return follower.connection == nil
    }

    // MARK: secrets

    func secret(of path: String) throws(SourceFailure) -> OpenedSecret {
        let session = session
        let answer = try call(path, Interface.item, "GetSecret") { (values) throws(BusFault) in
            try values.append(objectPath: session)
        }
        var (parameters, contentType, value) = ([UInt8](), "", HeldSecret?.none)
        try reading { () throws(BusError) -> Void in
            guard try answer.enter(.structure, "oayays") else { throw BusError("GetSecret", code: EBADMSG) }
            try answer.skip("o")
            parameters = try answer.readBytes(atMost: 1024)
            value = HeldSecret(try answer.readSecret(atMost: Self.secretByteCount))
            contentType = try answer.readText()
            try answer.exitContainer()
        }
        guard let value else { throw .refused("The other keyring gave no secret.") }
        guard let key else { return OpenedSecret(value, contentType: contentType) }
        guard let secret = key.decrypt(value.bytes, vector: parameters) else {
            throw .refused("The other keyring gave a secret that is not encrypted for this session.")
        }
        return OpenedSecret(HeldSecret(secret), contentType: contentType)
    }

    // MARK: messages

    private func call(
        _ path: String, _ interface: String, _ member: String,
        _ write: (inout BusWriter) throws(BusFault) -> Void
    ) throws(SourceFailure) -> BusMessage {
        try reading { () throws(BusError) in
            try bus.call(owner, path, interface, member, within: Self.patience, writing: write)
        }
    }

    /// Reads all properties of an object.
    ///
    /// - Parameter read: gets the name and the type of each, and reads the value; false if it passes over it.
    private func readProperties(
        of path: String, _ interface: String,
        _ read: (_ name: String, _ type: String, _ value: BusMessage) throws(BusError) -> Bool
    ) throws(SourceFailure) {
        let answer = try call(path, Interface.properties, "GetAll") { (values) throws(BusFault) in
            try values.append(interface)
        }
        try reading { () throws(BusError) in
            try answer.readArray(of: "{sv}") { () throws(BusError) in
                guard try answer.enter(.dictionaryEntry, "sv") else { return }
                let name = try answer.readText()
                guard let type = try answer.variantContents(), Self.types.contains(type) else {
                    try answer.skip("v")
                    return try answer.exitContainer()
                }
                _ = try answer.enter(.variant, type)
                if try !read(name, type, answer) { try answer.skip(type) }
                try answer.exitContainer()
                try answer.exitContainer()
            }
        }
    }

    /// Of the properties that an import reads.
    private static let types: Set = ["s", "b", "t", "ao", "a{ss}"]

    private static func readPaths(_ message: BusMessage) throws(BusError) -> [String] {
        var paths: [String] = []
        try message.readArray(of: "o") { () throws(BusError) in paths.append(try message.readText(.objectPath)) }
        return paths
    }

    /// - Returns: the attributes, and whether they are all there: no name is empty, and no two are equal.
    private static func readAttributes(
        _ message: BusMessage
    ) throws(BusError) -> (attributes: [String: String], areClear: Bool) {
        var (attributes, areClear) = ([String: String](), true)
        try message.readArray(of: "{ss}") { () throws(BusError) in
            guard try message.enter(.dictionaryEntry, "ss") else { return }
            let (name, value) = (try message.readText(), try message.readText())
            try message.exitContainer()
            if name.isEmpty || attributes.updateValue(value, forKey: name) != nil { areClear = false }
        }
        return (attributes, areClear)
    }

    // MARK: failures

    /// A locked gnome-keyring shows digests of attributes, under names that begin so.
    private static let digested = "gkr:compat:hashed:"
    private static let locked = SourceFailure.refused("It is locked, and was not unlocked there.")

    private static let gone = SourceFailure.lost(
        "The other keyring has ended. Start it, and run the import again: what was brought is passed over.")

    private func reading<Value>(_ body: () throws(BusError) -> Value) throws(SourceFailure) -> Value {
        do throws(BusError) { return try body() } catch { throw Self.failure(error) }
    }

    /// The names of errors for a connection that has ended, and for one that does not answer.
    private static let departures = Set(
        ["NameHasNoOwner", "ServiceUnknown", "NoReply", "Disconnected", "Timeout", "TimedOut"].map {
            "org.freedesktop.DBus.Error." + $0
        })
    /// sd-bus names errors of this side so (sd_bus_error_set_errno(3)).
    private static let ofThisSide = "System.Error."

    private static func failure(_ error: BusError) -> SourceFailure {
        if departures.contains(error.name) { return gone }
        if error.name == "org.freedesktop.Secret.Error.IsLocked" {
            return locked
        }
        guard error.name.isEmpty || error.name.hasPrefix(ofThisSide) else {
            return .refused("The other keyring answered \(error.name.shownName).")
        }
        switch error.code {
        case EMSGSIZE: return .refused("It is larger than an item of Ostiary can be (1 MiB).")
        case EBADMSG, ENXIO: return .refused("The other keyring answered in another form.")
        default:
            return .lost("The message bus failed (\(error)). Run the import again: what was brought is passed over.")
        }
    }
}
