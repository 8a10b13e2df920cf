import SecretItems
import SecretMemory

/// Brings what another keyring holds, and changes nothing there.
///
/// Each item is added with a mark that says where it came from, in one step. So an import that was interrupted is begun again: what is
/// there already is passed over. An item that the other keyring changed since is brought again, unless it was changed here, too.
final class Import {
    /// The items of one collection that are still to be looked at, with their marks.
    private struct Candidate {
        let item: SourceItem
        let mark: ImportMark
        /// An item that was brought before under the same identity.
        var former: ImportedItems.Entry?
    }

    private let source: any SourceKeyring
    private let keyring: any OwnerKeyring
    private let reason: String
    private let tell: (ImportNews) -> Void
    private var imported = ImportedItems([])
    private var targets = ImportTargets(OwnedCollections([]), hasLogin: false)
    /// What was done until now, also after an error.
    private(set) var report = ImportReport()

    /// - Parameters:
    ///   - reason: for the question of a locked store.
    ///   - tell: hears how far it is.
    init(
        from source: any SourceKeyring, to keyring: any OwnerKeyring, reason: String,
        telling tell: @escaping (ImportNews) -> Void = { _ in }
    ) {
        (self.source, self.keyring, self.reason, self.tell) = (source, keyring, reason, tell)
    }

    /// - Throws: when the other keyring is gone, or the store takes nothing more. Run the import again then.
    func run() throws(SecretsFailure) {
        try keyring.open(asking: reason)
        imported = ImportedItems(try keyring.list(SecretQuery()))
        let collections = try asking { () throws(SourceFailure) in try source.collections() }
        targets = ImportTargets(
            try OwnedCollections(of: keyring),
            hasLogin: collections.contains { $0.pathName == CollectionDefaults.login })
        for collection in collections { try bring(collection) }
    }

    /// The failure of the other keyring as the command's.
    private func asking<Value>(
        _ body: () throws(SourceFailure) -> Value
    ) throws(SecretsFailure) -> Value {
        do throws(SourceFailure) { return try body() } catch {
            switch error {
            case .lost(let words), .refused(let words): throw .keyringFailed(words)
            }
        }
    }

    /// The same, where a refusal concerns one object alone: nil then, and the report says so.
    private func asking<Value>(
        about object: ImportReport.Left, _ body: () throws(SourceFailure) -> Value
    ) throws(SecretsFailure) -> Value? {
        do throws(SourceFailure) { return try body() } catch {
            switch error {
            case .lost(let words): throw .keyringFailed(words)
            case .refused(let words):
                report.left.append(object.because(words))
                return nil
            }
        }
    }

    // MARK: a collection

    private func bring(_ collection: SourceCollection) throws(SecretsFailure) {
        let place = ImportReport.Left(collection: collection)
        // One in memory has no lock.
        guard try unlock(collection, place) else { return }
        let found = try asking(about: place) { () throws(SourceFailure) in try source.items(in: collection.path) }
        guard let paths = found else { return }
        guard !collection.isSession else {
            report.sessionCount += paths.count
            return
        }
        let candidates = try missing(of: paths, in: collection)
        try unlock(candidates.map(\.item))
        for (index, candidate) in candidates.enumerated() {
            tell(.goesOn(collection.name, index + 1, of: candidates.count))
            try bring(candidate, of: collection)
        }
    }

    /// False for a collection that stays locked.
    private func unlock(
        _ collection: SourceCollection, _ place: ImportReport.Left
    ) throws(SecretsFailure) -> Bool {
        guard collection.isLocked else { return true }
        tell(.asks(collection.name))
        let isUnlocked = try asking(about: place) { () throws(SourceFailure) in try source.unlock([collection.path]) }
        guard let isUnlocked else { return false }
        if !isUnlocked { report.left.append(place.because("It was not unlocked.")) }
        return isUnlocked
    }

    /// Items that the other keyring guards one by one. What stays locked shows when it is read.
    private func unlock(_ items: [SourceItem]) throws(SecretsFailure) {
        let locked = items.filter(\.isLocked).map(\.path)
        guard !locked.isEmpty else { return }
        tell(.asks("\(locked.count) items"))
        _ = try asking { () throws(SourceFailure) -> Bool in
            do throws(SourceFailure) { return try source.unlock(locked) } catch {
                guard case .refused = error else { throw error }
                return false
            }
        }
    }

    /// The items that the store does not have as they are now.
    private func missing(
        of paths: [String], in collection: SourceCollection
    ) throws(SecretsFailure) -> [Candidate] {
        var candidates: [Candidate] = []
        for path in paths {
            let place = ImportReport.Left(collection: collection, path: path)
            let item = try asking(about: place) { () throws(SourceFailure) in try source.item(path) }
            guard let item else { continue }
            candidates.append(Candidate(item: item, mark: ImportMark(of: item, in: collection)))
        }
        let counts = Dictionary(candidates.map { ($0.mark.identity, 1) }, uniquingKeysWith: +)
        return candidates.compactMap { candidate -> Candidate? in
            // Several that are alike are told apart when their secrets are known.
            guard counts[candidate.mark.identity] == 1, let former = imported.take(candidate.mark.identity) else {
                return candidate
            }
            return compared(candidate, with: former, of: collection)
        }
    }

    /// The candidate, if it has to be looked at or brought again. The report counts it otherwise.
    private func compared(
        _ candidate: Candidate, with former: ImportedItems.Entry, of collection: SourceCollection
    ) -> Candidate? {
        let isUnchanged = former.mark?.modified == candidate.item.modified
        // A secret that asks for nothing is compared where the path is another one: it may be of an item that is gone there.
        if isUnchanged, former.mark?.path == candidate.item.path || former.item.lock != .open {
            report.present += 1
            return nil
        }
        guard isUnchanged || former.isUntouched else {
            let place = ImportReport.Left(
                collection: collection, label: candidate.item.label, path: candidate.item.path)
            report.left.append(
                place.because("It was changed both there and here since it was brought, and stays as it is here."))
            return nil
        }
        var candidate = candidate
        candidate.former = former
        return candidate
    }

    // MARK: an item

    private func bring(_ candidate: Candidate, of collection: SourceCollection) throws(SecretsFailure) {
        let item = candidate.item
        let place = ImportReport.Left(collection: collection, label: item.label, path: item.path)
        let read = try asking(about: place) { () throws(SourceFailure) in try source.secret(of: item.path) }
        guard let opened = read else { return }
        do throws(SecretsFailure) { try bring(candidate, opened, of: collection) } catch {
            guard error.isOfItem else { throw error }
            report.left.append(place.because(error.description))
        }
    }

    private func bring(
        _ candidate: Candidate, _ opened: OpenedSecret, of collection: SourceCollection
    ) throws(SecretsFailure) {
        if let former = candidate.former {
            guard former.mark?.modified == candidate.item.modified else {
                return try replace(former, by: candidate, opened)
            }
            guard try !isSame(former, opened) else {
                report.present += 1
                return
            }
        }
        try add(candidate, opened, of: collection)
    }

    private func isSame(_ entry: ImportedItems.Entry, _ opened: OpenedSecret) throws(SecretsFailure) -> Bool {
        let secret = try keyring.read(entry.item.id, in: entry.contents.collection)
        return secret.bytes.isEqual(to: opened.secret.bytes)
    }

    private func replace(
        _ former: ImportedItems.Entry, by candidate: Candidate, _ opened: OpenedSecret
    ) throws(SecretsFailure) {
        let change = SecretChange(
            label: candidate.item.label, contentType: opened.contentType, secret: opened.secret)
        try keyring.change(
            former.item.id, in: former.contents.collection, to: change, origin: candidate.mark.text, asking: reason)
        report.replaced += 1
    }

    private func add(
        _ candidate: Candidate, _ opened: OpenedSecret, of collection: SourceCollection
    ) throws(SecretsFailure) {
        let place: OwnedCollection
        if let target = targets.target(of: collection) {
            guard try !isThere(candidate, opened, in: target.identifier) else {
                report.present += 1
                return
            }
            place = target
        } else {
            place = try make(collection)
        }
        let new = NewSecret(
            collection: place.identifier, label: candidate.item.label, contentType: opened.contentType,
            attributes: candidate.item.attributes, rule: place.defaults[CollectionDefaults.rule],
            readers: place.defaults[CollectionDefaults.readers], secret: opened.secret)
        _ = try keyring.add(new, origin: candidate.mark.text, asking: reason)
        report.brought += 1
    }

    /// Whether the store has the very same item: a program may have stored it already, or it is one of several that are alike.
    private func isThere(
        _ candidate: Candidate, _ opened: OpenedSecret, in collection: String
    ) throws(SecretsFailure) -> Bool {
        let twins = imported.twins(of: candidate.item, opened.contentType, in: collection)
        for twin in twins where twin.item.lock == .open {
            guard try isSame(twin, opened) else { continue }
            imported.take(twin)
            return true
        }
        // The secret of one with a rule is not read. It came from the same place, and was not changed there since.
        return imported.takeRuled(candidate.mark)
    }

    private func make(_ collection: SourceCollection) throws(SecretsFailure) -> OwnedCollection {
        let row = NewSecret.row(label: collection.name, attributes: targets.inherited)
        let id = try keyring.add(row, origin: nil, asking: reason)
        return targets.note(collection, id)
    }
}
