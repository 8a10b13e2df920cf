import Foundation

/// A key of a query: one of the attributes of items, or one that says what the call shall do.
enum QueryKey: Hashable {
    case itemClass
    /// Four letters; whether the class has such an attribute is seen later.
    case attribute(String)
    case match(MatchKey)
    case returning(ReturnKey)
    case use(UseKey)
    case value(ValueKey)
    /// Accepted everywhere and without a meaning here.
    case ignored

    enum MatchKey: String {
        case limit = "m_Limit"
        case policy = "m_Policy"
        case issuers = "m_Issuers"
        case emailAddress = "m_EmailAddressIfPresent"
        case subjectContains = "m_SubjectContains"
        case subjectStartsWith = "m_SubjectStartsWith"
        case subjectEndsWith = "m_SubjectEndsWith"
        case subjectWholeString = "m_SubjectWholeString"
        case hostOrSubdomain = "m_HostOrSubdomainOfHost"
        case caseInsensitive = "m_CaseInsensitive"
        case diacriticInsensitive = "m_DiacriticInsensitive"
        case widthInsensitive = "m_WidthInsensitive"
        case trustedOnly = "m_TrustedOnly"
        case validOnDate = "m_ValidOnDate"
        case itemList = "m_ItemList"
        case searchList = "m_SearchList"
    }

    enum ReturnKey: String {
        case data = "r_Data"
        case attributes = "r_Attributes"
        case reference = "r_Ref"
        case persistentReference = "r_PersistentRef"
    }

    enum UseKey: String {
        case itemList = "u_ItemList"
        case operationPrompt = "u_OpPrompt"
        case noAuthenticationUI = "u_NoAuthUI"
        case authenticationUI = "u_AuthUI"
        case authenticationContext = "u_AuthCtx"
        case credentialReference = "u_CredRef"
        case callerName = "u_CallerName"
        case userIndependentKeychain = "u_UserIndependentKeychain"
        case systemKeychainAlways = "u_SystemKeychainAlways"
        case tombstones = "u_Tomb"
        case tokenRawItems = "u_TokenRawItems"
    }

    enum ValueKey: String {
        case data = "v_Data"
        case reference = "v_Ref"
        case persistentReference = "v_PersistentRef"
    }

    /// Apple's private mark of app clips, refused in every call.
    private static let appClip = "clip"
    /// `kSecUseDataProtectionKeychain`: there is no other keychain here.
    private static let dataProtection = "nleg"

    init(_ key: Any) throws(StatusError) {
        guard let name = key as? String else { throw .parameter("The keys of a query are strings.") }
        guard name != Self.appClip else { throw .parameter("There are no app clips here.") }
        let known: QueryKey? =
            switch name {
            case "class": .itemClass
            case Self.dataProtection: .ignored
            case _ where name.utf8.count == 4: .attribute(name)
            default:
                switch name.first {
                case "m": MatchKey(rawValue: name).map(QueryKey.match)
                case "r": ReturnKey(rawValue: name).map(QueryKey.returning)
                case "u": UseKey(rawValue: name).map(QueryKey.use)
                case "v": ValueKey(rawValue: name).map(QueryKey.value)
                case "f": .ignored
                default: nil
                }
            }
        guard let known else { throw .parameter("A key of the query is none of Apple's.") }
        self = known
    }
}

/// A dictionary of one of the calls with its keys and values told apart; nothing is checked but that they can be.
struct QueryDictionary {
    private static let maximumKeyCount = 128

    private(set) var entries: [QueryKey: QueryValue] = [:]

    init(_ dictionary: CFDictionary) throws(StatusError) {
        guard dictionary.count <= Self.maximumKeyCount else {
            throw .parameter("A query has at most \(Self.maximumKeyCount) keys.")
        }
        for (key, value) in dictionary {
            let key = try QueryKey(key)
            guard entries.updateValue(QueryValue(value), forKey: key) == nil || key == .ignored else {
                throw .parameter("A key of the query occurs twice.")
            }
        }
    }

    subscript(key: QueryKey) -> QueryValue? { entries[key] }

    /// Adds what the query does not say itself.
    mutating func complete(with attributes: [AttributeName: QueryValue]) {
        for (name, value) in attributes {
            let key = QueryKey.attribute(name.rawValue)
            if entries[key] == nil { entries[key] = value }
        }
    }

    /// The attributes among the entries.
    var attributes: [String: QueryValue] {
        entries.reduce(into: [:]) { attributes, entry in
            if case .attribute(let name) = entry.key { attributes[name] = entry.value }
        }
    }

    /// The class that the query names; nil when it names none.
    func itemClass() throws(StatusError) -> ItemClass? {
        guard let value = entries[.itemClass] else { return nil }
        guard let itemClass = ItemClass(rawValue: try value.text(of: "class")) else {
            throw StatusError(errSecNoSuchClass, "There is no such class of items.")
        }
        return itemClass
    }
}
