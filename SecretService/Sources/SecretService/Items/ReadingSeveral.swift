import Cancellations
import MessageBus
import SecretItems
import SecretMemory

/// Reads the secrets of several items: those that ask for nothing at once, and those with a rule with as few questions as can be.
struct SecretsReading: Sendable {
    /// An item with a rule, which was not read yet.
    struct Ruled: Sendable {
        let place: SecretService.ItemPlace
        let label: String?
        let contentType: String
        let isForSomePrograms: Bool
    }

    private let view: Keyring
    private let session: SecretSession
    /// Counts what was read, until it is sent.
    let held: HeldAnswer
    private var paths: ArraySlice<String>
    private var seen: Set<String> = []
    private(set) var opened: [(path: String, secret: OpenedSecret)] = []
    private(set) var ruled: [Ruled] = []
    /// Whether there are items that the session does not carry.
    private(set) var isUnencrypted = false
    private var byteCount = 0

    /// - Parameter session: the secrets are for it.
    init(_ paths: [String], _ view: Keyring, for session: SecretSession, _ held: HeldAnswer) {
        (self.paths, self.view, self.session, self.held) = (paths[...], view, session, held)
    }

    /// Reads what asks for nothing, some in each turn; returns whether that were the last ones. Locked items are passed over, and so are paths of nothing, items that only other programs may read,
    /// those that the session does not carry, and an item that is named twice.
    mutating func advance(_ count: Int = ServiceLimits.requestsOfTurn) throws(StoreRefusal) -> Bool {
        for path in paths.prefix(count) where seen.insert(path).inserted {
            guard case .item(let id, let name)? = ServedPath(path) else { continue }
            try read(SecretService.ItemPlace(id: id, collection: name))
        }
        paths = paths.dropFirst(count)
        return paths.isEmpty
    }

    private mutating func read(_ place: SecretService.ItemPlace) throws(StoreRefusal) {
        do throws(StoreRefusal) {
            let read = try view.read(place.id, in: place.collection)
            let item = ListedSecret(id: place.id, contents: nil, isForSomePrograms: read.isForSomePrograms)
            if carries(item) { try keep(read, place) }
        } catch {
            switch error {
            case .needsQuestion: try noteRuled(place)
            case .locked, .notFound, .notPermitted: break
            default: throw error
            }
        }
    }

    private mutating func noteRuled(_ place: SecretService.ItemPlace) throws(StoreRefusal) {
        // An item that was locked alone is a locked one here: its unlocking would be a question of its own.
        guard !view.locks.door.items.contains(place.id) else { return }
        let item = try view.item(place.id, in: place.collection)
        // Locked since: nobody sees which programs it is for.
        guard item.contents != nil, carries(item) else { return }
        ruled.append(
            Ruled(
                // A question about several names none.
                place: place, label: ruled.isEmpty ? item.contents?.label : nil,
                contentType: item.contents?.contentType ?? "", isForSomePrograms: item.isForSomePrograms))
    }

    private mutating func carries(_ item: ListedSecret) -> Bool {
        guard session.carries(item) else {
            isUnencrypted = true
            return false
        }
        return true
    }

    private mutating func keep(_ secret: OpenedSecret, _ place: SecretService.ItemPlace) throws(StoreRefusal) {
        byteCount += secret.secret.bytes.count
        try held.add(secret.secret.bytes.count)
        guard byteCount <= ServiceLimits.answerByteCount else {
            throw .tooMuch("The secrets are too large for one answer. Read fewer at a time.")
        }
        opened.append((place.path, secret))
    }

    /// Reads the items with a rule.
    ///
    /// - Throws: the refusal, if nothing at all was read.
    mutating func readRuled(asking cancellation: Cancellation) throws(StoreRefusal) {
        let words =
            ruled.count == 1 ? SecretWords.reading(label: ruled[0].label) : SecretWords.reading(count: ruled.count)
        let question = SecretQuestion(words, cancellation: cancellation)
        var rest = ruled[...]
        do throws(StoreRefusal) {
            while !rest.isEmpty {
                let part = rest.prefix(SecretClient.togetherCount)
                let read = try view.store.readTogether(
                    part.map { ($0.place.id, $0.place.collection.text) }, asking: question)
                for item in part {
                    guard let secret = read[item.place.id] else { continue }
                    let opened = OpenedSecret(
                        secret, contentType: item.contentType, isForSomePrograms: item.isForSomePrograms)
                    try keep(opened, item.place)
                }
                rest = rest.dropFirst(part.count)
            }
        } catch { guard !opened.isEmpty else { throw error } }
    }
}

extension SecretService {
    private struct SecretsRequest: Sendable {
        let paths: [String]
        let session: String
    }

    var getSecrets: ServedMethod {
        methodInTurns(
            "GetSecrets", "aoo", returns: "a{o(oayays)}",
            reading: { (arguments) throws(BusFault) -> SecretsRequest in
                SecretsRequest(paths: try arguments.readObjectPaths(), session: try arguments.readObjectPath())
            },
            { [self] (call, client, request) throws(BusFault) in
                let session = try session(request.session, of: call)
                let reading = SecretsReading(
                    request.paths, keyring(client), for: session, answers.begin(for: call.caller.holder))
                return try read(reading) { [self] (reading) throws(BusFault) in
                    guard !reading.ruled.isEmpty else {
                        // Without anything else to answer, the program is told why.
                        guard !reading.isUnencrypted || !reading.opened.isEmpty else {
                            throw SecretSession.unencrypted
                        }
                        return Self.answer(call, with: reading, session, at: request.session)
                    }
                    try ask(call, client, about: Set(reading.ruled.map(\.place.id))) {
                        (cancellation) throws(StoreRefusal) in
                        var whole = reading
                        try whole.readRuled(asking: cancellation)
                        Self.answer(call, with: whole, session, at: request.session)
                    }
                }.run()
            })
    }

    private func read(
        _ begun: SecretsReading, then work: @escaping @Sendable (SecretsReading) throws(BusFault) -> Void
    ) -> TurnStep {
        TurnStep { [self] () throws(BusFault) in
            var reading = begun
            let isDone = try BusFault.catching { () throws(StoreRefusal) in try reading.advance() }
            guard isDone else { return read(reading, then: work) }
            try work(reading)
            return nil
        }
    }

    private static func answer(
        _ call: BusCall, with reading: SecretsReading, _ session: SecretSession, at path: String
    ) {
        let sealed: [(path: String, sealed: SealedSecret, contentType: String)]
        do throws(BusFault) {
            sealed = try reading.opened.map { (item) throws(BusFault) in
                (item.path, try session.seal(item.secret), item.secret.contentType)
            }
        } catch { return call.refuse(error) }
        call.answer { [held = reading.held] (values) throws(BusFault) in
            defer { withExtendedLifetime(held) {} }
            try values.appendArray(of: "{o(oayays)}") { (values) throws(BusFault) in
                for item in sealed {
                    try values.appendDictionaryEntry(of: "o(oayays)") { (values) throws(BusFault) in
                        try values.append(objectPath: item.path)
                        try values.append(item.sealed, session: path, contentType: item.contentType)
                    }
                }
            }
        }
    }
}
