import Foundation

/// A key of a query.
enum QueryKey {
    /// Four letters; whether the class has such an attribute is seen later.
    case attribute(String)
    case control(ControlKey)
    /// Accepted everywhere and without a meaning here.
    case ignored

    /// Apple's private mark of app clips, refused in every call.
    private static let appClip = "clip"
    /// `kSecUseDataProtectionKeychain`: there is no other keychain here.
    private static let dataProtection = "nleg"

    init(_ key: Any) throws(StatusError) {
        guard let name = key as? String else { throw .parameter("The keys of a query must be strings.") }
        if name.utf8.count == 4 {
            guard name != Self.appClip else { throw .parameter("There are no app clips here.") }
            self = name == Self.dataProtection ? .ignored : .attribute(name)
        } else if let control = ControlKey.named[name] {
            self = .control(control)
        } else {
            guard name.hasPrefix("f") else { throw .parameter("A key of the query is not one of Apple's.") }
            self = .ignored
        }
    }
}

/// A key that controls the call.
enum ControlKey: Equatable {
    case itemClass
    case match(MatchKey)
    case returning(ReturnKey)
    case use(UseKey)
    case value(ValueKey)

    enum MatchKey: String, CaseIterable {
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

    enum ReturnKey: String, CaseIterable {
        case data = "r_Data"
        case attributes = "r_Attributes"
        case reference = "r_Ref"
        case persistentReference = "r_PersistentRef"
    }

    enum UseKey: String, CaseIterable {
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

    enum ValueKey: String, CaseIterable {
        case data = "v_Data"
        case reference = "v_Ref"
        case persistentReference = "v_PersistentRef"
    }

    /// By the strings of Apple's constants.
    static let named: [String: ControlKey] = Dictionary(
        uniqueKeysWithValues: [("class", .itemClass)] + MatchKey.allCases.map { ($0.rawValue, .match($0)) }
            + ReturnKey.allCases.map { ($0.rawValue, .returning($0)) }
            + UseKey.allCases.map { ($0.rawValue, .use($0)) } + ValueKey.allCases.map { ($0.rawValue, .value($0)) })
}

/// A dictionary of one of the calls with its keys and values told apart; nothing is checked but that they can be.
struct QueryDictionary {
    private static let maximumKeyCount = 128

    private(set) var attributes: [String: QueryValue] = [:]
    /// A handful: looking through them costs less than hashing.
    private(set) var controls: [(key: ControlKey, value: QueryValue)] = []

    init(_ dictionary: CFDictionary) throws(StatusError) {
        guard dictionary.count <= Self.maximumKeyCount else {
            throw .parameter("A query has at most \(Self.maximumKeyCount) keys.")
        }
        // The dictionary's iterator would look each key up once more, and hand it out as an object.
        var (keys, values): ([Any], [Any]) = ([], [])
        dictionary.getObjects(&values, andKeys: &keys, count: dictionary.count)
        for (key, value) in zip(keys, values) { try insert(QueryValue(value), for: QueryKey(key)) }
    }

    private mutating func insert(_ value: QueryValue, for key: QueryKey) throws(StatusError) {
        switch key {
        case .ignored: return
        case .attribute(let name):
            guard attributes.updateValue(value, forKey: name) == nil else { throw Self.repeatedKey }
        case .control(let key):
            guard self[key] == nil else { throw Self.repeatedKey }
            controls.append((key, value))
        }
    }

    private static let repeatedKey = StatusError.parameter("A key of the query occurs twice.")

    subscript(key: ControlKey) -> QueryValue? { controls.first { $0.key == key }?.value }

    /// Adds the attributes that the query does not give itself.
    mutating func complete(with attributes: [AttributeName: QueryValue]) {
        self.attributes.merge(attributes.map { ($0.key.rawValue, $0.value) }) { given, _ in given }
    }

    /// The class that the query names; nil when it names none.
    func itemClass() throws(StatusError) -> KeychainClass? {
        guard let value = self[.itemClass] else { return nil }
        guard let itemClass = KeychainClass(rawValue: try value.text(of: "class")) else {
            throw StatusError(errSecNoSuchClass, "There is no such class of items.")
        }
        return itemClass
    }
}
