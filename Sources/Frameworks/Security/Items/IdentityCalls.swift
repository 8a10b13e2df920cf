import Foundation
import OstiaryClient
import OstiaryMessages

/// The keychain's calls for identities. Each makes several requests to the daemon, one after another.
struct IdentityCalls {
    let items: ItemCalls
    private var service: any ItemService { items.service }

    // MARK: find

    func find(_ query: KeychainQuery) throws -> [AnyObject] {
        var (found, count): ([AnyObject], Int) = ([], 0)
        do {
            try forEach(query) { identity in
                count += 1
                if let value = try identity.value(of: query.returned) { found.append(value) }
                if count == query.limit.count { throw Enough() }
            }
        } catch is Enough {}
        guard count > 0 else { throw Self.notFound }
        return found
    }

    /// Ends a search that has found enough.
    private struct Enough: Error {}

    private static let notFound = StatusError(errSecItemNotFound, "No certificate with a private key matches.")

    /// The identities in the order of their certificates; a certificate with several keys is as many identities.
    private func forEach(_ query: KeychainQuery, _ body: (ItemAnswer) throws -> Void) throws {
        let parts = IdentityParts(query)
        let needsObject = query.returned.contains(.reference)
        let (match, chain) = (query.certificateMatch, IssuerChain(service: service))
        let use = try query.authentication.use(reason: "use an identity of your keychain", asksRepeatedly: true)
        try service.findItems(
            parts.certificates, limit: nil,
            returningData: needsObject || query.returned.contains(.data) || !match.isEmpty,
            returningAttributes: true, use: use
        ) { certificate, data in
            guard let hash = certificate.publicKeyHash, let selection = parts.keys(of: hash) else { return }
            let data = ItemCalls.exposed(data)
            guard try match.isEmpty || match.admits(data, chain) else { return }
            for key in try keys(selection, needsObject: needsObject, query, use) {
                let object = try needsObject ? identity(data, key, query) : nil
                guard !needsObject || object != nil else { continue }
                try body(ItemAnswer(certificate: certificate, key: key.item, data: data, object: object))
            }
        }
    }

    private func keys(
        _ selection: ItemSelection, needsObject: Bool, _ query: KeychainQuery, _ use: ItemUse
    ) throws -> [(item: StoredItem, data: Data?)] {
        var keys: [(StoredItem, Data?)] = []
        try Self.unlessAbsent {
            try service.findItems(
                selection, limit: nil, returningData: needsObject,
                returningAttributes: needsObject || query.returned.contains(.attributes), use: use
            ) { keys.append(($0, ItemCalls.exposed($1))) }
        }
        return keys
    }

    /// The identity itself; nil if the parts, which were stored as belonging together, do not.
    private func identity(
        _ certificate: Data?, _ key: (item: StoredItem, data: Data?), _ query: KeychainQuery
    ) throws -> SecIdentity? {
        guard let certificate = certificate.flatMap({ try? SecCertificate($0) }) else { return nil }
        var privateKey: SecKey?
        try Self.unlessAbsent {
            privateKey =
                try StoredObject(service: service, authentication: query.authentication)
                .object(of: key.item, .key, data: key.data) as? SecKey
        }
        return privateKey.flatMap { SecIdentityCreate(nil, certificate, $0) }
    }

    // MARK: add

    /// Adds certificate and key, both or neither. A part that is stored already stays. If both are stored, the identity
    /// is a duplicate.
    func add(_ dictionary: CFDictionary, _ query: KeychainQuery) throws -> CFTypeRef? {
        guard let identity = query.object as? SecIdentity, query.data == nil else {
            throw StatusError.parameter("An identity is added by its reference and without data.")
        }
        guard let keys = IdentityParts(query).keys(of: identity.certificate.fields.publicKeyHash),
            query.attributes[AttributeName.publicKeyHash.rawValue] == .data(identity.certificate.fields.publicKeyHash)
        else { throw StatusError.parameter("The certificate and the key of an identity must have one public key.") }
        let newCertificate = try IdentityParts.new(identity.certificate, of: dictionary)
        let newKey = try IdentityParts.new(identity.privateKey, of: dictionary)
        _ = try (NewItem(newCertificate), NewItem(newKey))

        let ofSameKey = ItemSelection(
            itemClass: keys.itemClass,
            attributes: keys.attributes.filter { ["klbl", "kcls", "agrp"].contains($0.key) },
            synchronizable: keys.synchronizable)
        let hasKey = try exists(ofSameKey)
        let certificate = try addCertificate(newCertificate, identity.certificate)
        guard certificate.isNew || !hasKey else {
            throw StatusError(errSecDuplicateItem, "The keychain holds the certificate and the key already.")
        }
        let key = try hasKey ? nil : addKey(newKey, besides: certificate)
        guard !query.returned.isEmpty else { return nil }
        let needsKey = !query.returned.isDisjoint(with: [.attributes, .persistentReference])
        let shown = try key ?? (needsKey ? storedKey(ofSameKey, query) : certificate.item)
        return try ItemAnswer(
            certificate: certificate.item, key: shown, data: identity.certificate.bytes, object: identity
        ).value(of: query.returned)
    }

    /// The certificate first: taken back, it takes nothing with it, while the item of an enclave key takes the key.
    /// One that is there stays; another one with its issuer and number is in the way, and the daemon's refusal is
    /// thrown.
    func addCertificate(
        _ query: KeychainQuery, _ certificate: SecCertificate
    ) throws -> (item: StoredItem, isNew: Bool) {
        do {
            return (try items.store(NewItem(query), query, returningAttributes: true), true)
        } catch let error as OstiaryError where error.isFailure(.duplicate) {
            // Issuer and serial number make it a duplicate; only the very same certificate counts as being there.
            var selection = query.selection
            selection.attributes = selection.attributes.filter { ["issr", "slnr", "ctyp", "agrp"].contains($0.key) }
            var present: StoredItem?
            try service.findItems(
                selection, limit: nil, returningData: true, returningAttributes: true,
                use: query.authentication.use(reason: "use an identity of your keychain")
            ) { item, data in if ItemCalls.exposed(data) == certificate.bytes { present = present ?? item } }
            guard let present else { throw error }
            return (present, false)
        }
    }

    private func addKey(_ query: KeychainQuery, besides certificate: (item: StoredItem, isNew: Bool)) throws
        -> StoredItem
    {
        do { return try items.store(NewItem(query), query, returningAttributes: true) } catch {
            // The first error says what went wrong.
            if certificate.isNew { _ = try? service.deleteItems(.certificate(certificate.item.id)) }
            throw error
        }
    }

    private func storedKey(_ selection: ItemSelection, _ query: KeychainQuery) throws -> StoredItem {
        var key: StoredItem?
        try service.findItems(
            selection, limit: 1, returningData: false, returningAttributes: true,
            use: query.authentication.use(reason: "use an identity of your keychain")
        ) { item, _ in key = item }
        guard let key else { throw Self.notFound }
        return key
    }

    // MARK: delete

    /// Deletes certificates with their keys, both or neither; a key that another certificate uses stays.
    ///
    /// The deletion itself asks nobody. Which keys belong to a certificate stands in the certificate, so a locked one asks
    /// as in a search.
    func delete(_ query: KeychainQuery) throws {
        let parts = IdentityParts(query)
        let use = try query.authentication.use(reason: "delete an identity of your keychain", asksRepeatedly: true)
        let certificates = try hashes(parts.certificates, use)
        let ids = Set(certificates.map(\.id))
        let identities = try certificates.compactMap { id, hash -> [ItemSelection]? in
            guard let keys = parts.keys(of: hash), try exists(keys) else { return nil }
            return try [.certificate(id)] + (isUsed(hash, besides: ids, use) ? [] : [keys])
        }
        guard !identities.isEmpty else { throw Self.notFound }
        let countOfStep = max(1, min(Self.countOfStep, Self.byteCountOfStep / (Self.byteCountOfOne + query.byteCount)))
        for begin in stride(from: 0, to: identities.count, by: countOfStep) {
            _ = try service.deleteItems(identities[begin...].prefix(countOfStep).flatMap(\.self))
        }
    }

    /// Identities that are deleted in one step: as many as one request of the daemon's takes.
    private static let countOfStep = 500
    /// What the selections of one step may say, well below the size of a message, and what they say of one identity
    /// besides the attributes of the query.
    private static let (byteCountOfStep, byteCountOfOne) = (128 * 1024, 200)

    private func hashes(_ selection: ItemSelection, _ use: ItemUse) throws -> [(id: Data, hash: Data)] {
        var found: [(Data, Data)] = []
        try Self.unlessAbsent {
            try service.findItems(
                selection, limit: nil, returningData: false, returningAttributes: true, use: use
            ) { item, _ in if let hash = item.publicKeyHash { found.append((item.id, hash)) } }
        }
        return found
    }

    /// Whether a certificate that stays holds the same public key.
    private func isUsed(_ hash: Data, besides ids: Set<Data>, _ use: ItemUse) throws -> Bool {
        let selection = ItemSelection(
            itemClass: KeychainClass.certificate.rawValue,
            attributes: [AttributeName.publicKeyHash.rawValue: .data(hash)],
            synchronizable: .any)
        return try hashes(selection, use).contains { !ids.contains($0.id) }
    }

    // MARK: presence

    /// Whether an item is there. Nobody is asked about a protected one: that it would ask says that it is there.
    private func exists(_ selection: ItemSelection) throws -> Bool {
        do {
            return try Self.unlessAbsent {
                try service.findItems(
                    selection, limit: 1, returningData: false, returningAttributes: false, use: ItemUse()
                ) { _, _ in }
            }
        } catch let error as OstiaryError where error.isFailure(.notInteractive) || error.isFailure(.locked) {
            return true
        }
    }

    /// Whether what `work` is about was there.
    @discardableResult
    private static func unlessAbsent(_ work: () throws -> Void) throws -> Bool {
        do { try work() } catch let error as OstiaryError where error.isFailure(.notFound) { return false }
        return true
    }
}

extension KeychainQuery {
    /// What its attributes take in a message, roughly.
    fileprivate var byteCount: Int {
        attributes.reduce(0) { sum, attribute in
            let value =
                switch attribute.value {
                case .data(let data): data.count
                case .text(let text): text.utf8.count
                case .number, .date: 10
                }
            return sum + attribute.key.utf8.count + value + 10
        }
    }
}

extension StoredItem {
    /// `pkhh` of a certificate.
    fileprivate var publicKeyHash: Data? {
        if case .data(let hash)? = attributes[AttributeName.publicKeyHash.rawValue] { hash } else { nil }
    }
}

extension ItemSelection {
    fileprivate static func certificate(_ id: Data) -> ItemSelection {
        ItemSelection(itemClass: KeychainClass.certificate.rawValue, synchronizable: .any, id: id)
    }
}

extension ItemAnswer {
    /// An identity: the key's attributes with those of the certificate over them, the key's access control, the ids
    /// of both, and the data of the certificate. The bytes of the private key are given to nobody who did not ask for
    /// a key.
    fileprivate init(certificate: StoredItem, key: StoredItem, data: Data?, object: SecIdentity?) {
        let ofKey = key.attributes.filter { $0.key != AttributeName.label.rawValue }
        let ofCertificate = certificate.attributes.filter { IdentityParts.certificateAttributes.contains($0.key) }
        self.init(
            item: StoredItem(
                id: certificate.id, itemClass: KeychainClass.identity.rawValue,
                attributes: ofKey.merging(ofCertificate) { $1 },
                accessControl: key.accessControl, shownAccessControl: key.shownAccessControl,
                hasData: certificate.hasData),
            itemClass: .identity, data: data, object: object, keyItemID: key.id)
    }
}
