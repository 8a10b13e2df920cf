import CertificateReading
import Foundation
import OstiaryClient

/// The four calls, which do not allow the same things in a query.
enum ItemCall {
    case add, find, update, delete
}

/// Which parts of an item a call returns.
struct ReturnedParts: OptionSet, Sendable {
    let rawValue: Int

    static let data = ReturnedParts(rawValue: 1 << 0)
    static let attributes = ReturnedParts(rawValue: 1 << 1)
    static let reference = ReturnedParts(rawValue: 1 << 2)
    static let persistentReference = ReturnedParts(rawValue: 1 << 3)

    /// Whether an item is returned as a dictionary of its parts rather than as its only one.
    var isSeveral: Bool { rawValue.nonzeroBitCount > 1 }
}

/// How many items a search returns. One is returned by itself, several as an array even if there is only one.
enum MatchLimit: Equatable {
    case one, several(Int), all

    var count: Int? {
        switch self {
        case .one: 1
        case .several(let count): count
        case .all: nil
        }
    }
}

/// The dictionary of one of the four calls, read and checked: nothing in it is left that could be refused before the daemon
/// is asked. The checks are those of Apple's data-protection keychain.
struct KeychainQuery {
    let itemClass: KeychainClass
    /// Without accessibility, access control and synchronizability when the item is new.
    let attributes: ItemAttributeValues
    /// Nil when the query does not say.
    let synchronizable: ItemSelection.Synchronizable?
    let protection: ItemProtection?
    /// `kSecValueData`.
    let data: Data?
    /// `kSecValueRef`, already expanded into ``attributes``.
    let object: (any ItemObject)?
    let persistentReference: PersistentReference?
    /// `kSecMatchItemList`; nil when the query has none.
    let itemList: ItemList?
    /// The enclave key that the query names and says nothing more of: by ``object``, or by its token and its object id.
    let enclaveKeyID: Data?
    let limit: MatchLimit
    let hostOrSubdomainOf: String?
    /// Empty for classes other than certificates and identities.
    let certificateMatch: CertificateMatch
    let returned: ReturnedParts
    let authentication: ItemAuthentication

    /// Reads the query of `call`.
    ///
    /// - Throws: `errSecParam`, `errSecNoSuchAttr`, `errSecNoSuchClass` or `errSecUnimplemented`.
    init(_ dictionary: CFDictionary, for call: ItemCall) throws(StatusError) {
        var dictionary = try QueryDictionary(dictionary)
        let named = try dictionary.itemClass()
        data = try dictionary[.value(.data)]?.dataOrText(of: "kSecValueData")
        let given = try dictionary.object()
        object = if given == nil, call == .add { try Self.certificate(named, data) } else { given }
        enclaveKeyID = Self.enclaveKeyID(dictionary.attributes, object)
        if let object { dictionary.complete(with: try object.itemAttributes()) }
        // A search is not narrowed by them: keys that were stored without their uses would not be found.
        if call == .add, let object { dictionary.complete(with: object.keyUses()) }
        if call == .add, let label = (object as? SecCertificate)?.fields.subjectSummary {
            dictionary.complete(with: [.label: .text(label)])
        }
        authentication = try ItemAuthentication(dictionary, for: call)
        persistentReference = try dictionary.persistentReference(for: call)
        itemClass = try Self.itemClass(named, object, persistentReference)
        returned = try dictionary.returnedParts(for: call)
        let matching = try dictionary.matching(for: call, itemClass)
        (limit, hostOrSubdomainOf, certificateMatch) = (matching.limit, matching.host, matching.certificate)
        itemList = matching.items

        let conditions = try GivenAttributes(dictionary.attributes, of: itemClass)
        synchronizable = conditions.synchronizable
        protection = try conditions.protection()
        attributes = call == .add ? try conditions.ofNewItem() : conditions.ofSearch()
        guard persistentReference == nil || conditions.areEmpty else {
            throw .parameter("A query with a persistent reference takes no attributes.")
        }
        guard persistentReference == nil || itemList == nil else {
            throw .parameter("A query with a persistent reference takes no list of items.")
        }
    }

    /// The certificate that is added as bytes: its attributes come from them.
    private static func certificate(_ itemClass: KeychainClass?, _ data: Data?) throws(StatusError) -> SecCertificate? {
        guard itemClass == .certificate, let data else { return nil }
        return try SecCertificate(data)
    }

    private static func enclaveKeyID(_ given: [String: QueryValue], _ object: (any ItemObject)?) -> Data? {
        if let object { return given.isEmpty ? object.enclaveKey?.key.id : nil }
        guard given.count == 2, case .text(EnclaveKey.tokenID)? = given[AttributeName.tokenID.rawValue],
            case .data(let handle)? = given[AttributeName.tokenObjectID.rawValue]
        else { return nil }
        return EnclaveKeyHandle(bytes: handle)?.keyID
    }

    private static func itemClass(
        _ named: KeychainClass?, _ object: (any ItemObject)?, _ reference: PersistentReference?
    ) throws(StatusError) -> KeychainClass {
        guard let itemClass = named ?? object?.itemClass ?? reference?.itemClass else {
            throw .parameter("The query names no class.")
        }
        guard object.map({ itemClass.holds($0.itemClass) }) ?? true else {
            throw .parameter("The object in the query has another class than the query.")
        }
        guard reference.map({ itemClass.holds($0.itemClass) }) ?? true else {
            throw .parameter("The persistent reference has another class than the query.")
        }
        return itemClass
    }

    /// Which items a search, update or deletion is about.
    var selection: ItemSelection {
        if let persistentReference { return persistentReference.selection }
        return ItemSelection(
            itemClass: itemClass.rawValue, attributes: attributes, synchronizable: synchronizable ?? .no,
            hostOrSubdomainOf: hostOrSubdomainOf)
    }

    /// The same as a list: several when the query names its items, and none when none of these can match.
    var selections: [ItemSelection] {
        itemList?.narrowing(selection, synchronizable: synchronizable) ?? [selection]
    }
}

extension KeychainQuery {
    /// The selection of an update, which happens in one step and so is one request.
    func onlySelection() throws(StatusError) -> ItemSelection {
        let selections = selections
        guard let selection = selections.first else {
            throw StatusError(errSecItemNotFound, "None of the listed items matches.")
        }
        guard selections.count == 1 else {
            throw StatusError(errSecUnimplemented, "An update changes the items of a list one at a time.")
        }
        return selection
    }
}

extension KeychainClass {
    /// Whether a query of this class can be about something of the class `other`: a certificate stands for its identities.
    fileprivate func holds(_ other: KeychainClass) -> Bool {
        self == other || self == .identity && other == .certificate
    }
}

// MARK: - Control keys

extension QueryDictionary {
    fileprivate func object() throws(StatusError) -> (any ItemObject)? {
        guard let value = self[.value(.reference)] else { return nil }
        // A password's reference only names it, see below.
        if case .object(let object) = value, object is SecKeychainItem { return nil }
        guard case .object(let object) = value, let object = object as? any ItemObject else {
            throw .parameter("kSecValueRef must be a password, a key, a certificate or an identity.")
        }
        return object
    }

    fileprivate func persistentReference(for call: ItemCall) throws(StatusError) -> PersistentReference? {
        let value = self[.value(.persistentReference)]
        var item: SecKeychainItem?
        if case .object(let object)? = self[.value(.reference)] { item = object as? SecKeychainItem }
        guard value != nil || item != nil else { return nil }
        guard call != .add else { throw .parameter("A new item has no reference yet.") }
        let bytes = try value?.data(of: "kSecValuePersistentRef")
        let reference = try bytes.map { bytes throws(StatusError) in try PersistentReference(bytes: bytes) }
        guard let item else { return reference }
        guard reference == nil || reference == item.reference else {
            throw .parameter("The two references in the query name different items.")
        }
        return item.reference
    }

    /// What is returned. Updates and deletions return nothing and do not mind being asked, as on macOS.
    fileprivate func returnedParts(for call: ItemCall) throws(StatusError) -> ReturnedParts {
        var parts: ReturnedParts = []
        for (key, part) in Self.parts {
            if try self[.returning(key)]?.boolean(of: key.rawValue) == true { parts.insert(part) }
        }
        return call == .update || call == .delete ? [] : parts
    }

    private static let parts: [(ControlKey.ReturnKey, ReturnedParts)] = [
        (.data, .data), (.attributes, .attributes), (.reference, .reference),
        (.persistentReference, .persistentReference),
    ]
}

// MARK: - Match keys

extension QueryDictionary {
    fileprivate struct Matching {
        var limit = MatchLimit.one
        var host: String?
        var certificate = CertificateMatch()
        var items: ItemList?
    }

    /// What the match keys say, most of which only a search has. Updates and deletions are about all that match: a limit is
    /// checked and left out of account, as on macOS, and a list of items is kept to. All other match keys there would
    /// promise less than is changed.
    fileprivate func matching(
        for call: ItemCall, _ itemClass: KeychainClass
    ) throws(StatusError) -> Matching {
        let keys = controls.compactMap { if case .match(let key) = $0.key { key } else { nil } }
        let isChange = call == .update || call == .delete
        guard call == .find || isChange && keys.allSatisfy({ $0 == .limit || $0 == .itemList }) || keys.isEmpty else {
            throw .parameter("Only a search takes match keys.")
        }
        var matching = Matching()
        for key in keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let value = self[.match(key)] else { continue }
            switch key {
            case .limit: matching.limit = try Self.limit(value)
            case .hostOrSubdomain: matching.host = try Self.host(value, itemClass)
            case .itemList:
                guard itemClass != .identity else {
                    throw StatusError(errSecUnimplemented, "Identities cannot be looked for among listed items.")
                }
                matching.items = try ItemList(value)
            default: try matching.certificate.read(key, value, itemClass)
            }
        }
        if isChange { matching.limit = .all }
        // Passwords and keys are not narrowed by what means certificates, as on Apple's systems.
        if !itemClass.isCertificateLike { matching.certificate = CertificateMatch() }
        return matching
    }

    private static func limit(_ value: QueryValue) throws(StatusError) -> MatchLimit {
        switch value {
        case .text("m_LimitOne"): return .one
        case .text("m_LimitAll"): return .all
        case .number(let number):
            guard let count = Int(exactly: number), count > 0 else { break }
            return count == 1 ? .one : .several(count)
        default: break
        }
        throw .parameter("kSecMatchLimit must be one of its two constants or a number above zero.")
    }

    private static func host(_ value: QueryValue, _ itemClass: KeychainClass) throws(StatusError) -> String {
        guard itemClass == .internetPassword else {
            throw StatusError(errSecUnimplemented, "Only internet passwords have a host.")
        }
        return try value.text(of: "kSecMatchHostOrSubdomainOfHost")
    }
}

extension CertificateMatch {
    /// Reads a match key that means certificates. What cannot be looked for here is refused, since the search would be wider
    /// than was asked for.
    fileprivate mutating func read(
        _ key: ControlKey.MatchKey, _ value: QueryValue, _ itemClass: KeychainClass
    ) throws(StatusError) {
        switch key {
        case .limit, .hostOrSubdomain, .itemList: return
        case .policy, .searchList:
            throw StatusError(errSecUnimplemented, "\(key.rawValue) does not work here.")
        case .issuers: issuers = try Self.issuers(value, itemClass)
        case .emailAddress: emailAddress = try value.text(of: key.rawValue)
        case .subjectContains: subject.append((try value.text(of: key.rawValue), [], false))
        case .subjectStartsWith: subject.append((try value.text(of: key.rawValue), .anchored, false))
        case .subjectEndsWith: subject.append((try value.text(of: key.rawValue), [.anchored, .backwards], false))
        case .subjectWholeString: subject.append((try value.text(of: key.rawValue), .anchored, true))
        case .caseInsensitive: try set(.caseInsensitive, if: value, key)
        case .diacriticInsensitive: try set(.diacriticInsensitive, if: value, key)
        case .widthInsensitive: try set(.widthInsensitive, if: value, key)
        case .validOnDate:
            switch value {
            case .date(let given): date = given
            case .null: date = Date()
            default: throw .parameter("kSecMatchValidOnDate must be a date, or null for now.")
            }
        case .trustedOnly:
            guard try value.boolean(of: key.rawValue), itemClass.isCertificateLike else { return }
            throw StatusError(
                errSecUnimplemented,
                "kSecMatchTrustedOnly is not supported: a search verifies no chains. Ask SecTrust about what it finds.")
        }
    }

    private mutating func set(
        _ option: String.CompareOptions, if value: QueryValue, _ key: ControlKey.MatchKey
    ) throws(StatusError) {
        if try value.boolean(of: key.rawValue) { options.insert(option) }
    }

    /// An empty list narrows nothing, as on Apple's systems: a server that names no authorities takes any.
    private static func issuers(_ value: QueryValue, _ itemClass: KeychainClass) throws(StatusError) -> Set<Data>? {
        guard itemClass.isCertificateLike else {
            throw StatusError(errSecUnimplemented, "Only certificates and identities have issuers.")
        }
        guard case .object(let object) = value, let names = object as? [Any] else { throw notIssuers }
        var issuers: Set<Data> = []
        for element in names {
            guard case .data(let name) = QueryValue(element) else { throw notIssuers }
            issuers.insert(name)
        }
        return issuers.isEmpty ? nil : issuers
    }

    private static let notIssuers = StatusError.parameter("kSecMatchIssuers is an array of names, each of them data.")
}
