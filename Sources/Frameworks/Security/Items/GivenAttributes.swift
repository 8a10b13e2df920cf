import Foundation
import OstiaryClient

/// The attributes that a dictionary gives, checked against the class and converted, with those set apart that are more than
/// values: accessibility, access control and synchronizability.
struct GivenAttributes {
    private let values: ItemAttributeValues
    private let itemClass: KeychainClass
    private let accessible: String?
    private let accessControl: SecAccessControl?
    let synchronizable: ItemSelection.Synchronizable?

    /// - Throws: `errSecNoSuchAttr` for an attribute that the class has not, `errSecParam` for a value that it cannot have.
    init(_ given: [String: QueryValue], of itemClass: KeychainClass) throws(StatusError) {
        let schema = ItemSchema.of(itemClass)
        var values: ItemAttributeValues = [:]
        var accessControl: SecAccessControl?
        var synchronizable: ItemSelection.Synchronizable?
        for (key, value) in given.sorted(by: { $0.key < $1.key }) {
            guard let name = AttributeName(rawValue: key), let kind = schema.attributes[name] else {
                throw StatusError(errSecNoSuchAttr, "Items of this class have no attribute of that name.")
            }
            switch name {
            case .accessControl: accessControl = try Self.accessControl(value)
            case .synchronizable: synchronizable = try Self.synchronizable(value)
            default: values[key] = try value.converted(to: kind, of: key)
            }
        }
        accessible = try Self.takeAccessible(&values)
        self.values = values
        self.itemClass = itemClass
        self.accessControl = accessControl
        self.synchronizable = synchronizable
    }

    /// Whether nothing was given that would narrow a search.
    var areEmpty: Bool { values.isEmpty && accessible == nil && accessControl == nil }

    /// The protection from accessibility and access control; nil when neither was given.
    ///
    /// An access control names its own accessibility. A query may give another accessibility only if both agree and the
    /// access control holds nothing else, as in the attributes of an item that was added without one.
    func protection() throws(StatusError) -> ItemProtection? {
        guard let accessControl else {
            return accessible.map { ItemProtection(SecAccessControl(protection: $0, operations: nil)) }
        }
        if let accessible {
            guard accessControl.operations == nil, accessControl.protection == accessible else {
                throw .parameter("kSecAttrAccessible and kSecAttrAccessControl exclude each other.")
            }
        }
        return ItemProtection(accessControl)
    }

    /// The attributes that narrow a search. The access control and `mdat` do not narrow it, so that the attributes of
    /// an item find it again. Values that every item shares are left out.
    func ofSearch() -> ItemAttributeValues {
        var attributes = values
        attributes[AttributeName.modificationDate.rawValue] = nil
        Self.removeConstants(&attributes)
        if let accessible { attributes[AttributeName.accessible.rawValue] = .text(accessible) }
        return attributes
    }

    /// The attributes of a new item. The store sets the dates.
    func ofNewItem() throws(StatusError) -> ItemAttributeValues {
        guard synchronizable != .any else { throw .parameter("A new item is either synchronizable or not.") }
        var attributes = values
        attributes[AttributeName.creationDate.rawValue] = nil
        attributes[AttributeName.modificationDate.rawValue] = nil
        Self.removeConstants(&attributes)
        try checkSynchronizable(attributes)
        return attributes
    }

    /// The attributes that an update sets.
    func ofChange() throws(StatusError) -> ItemAttributeValues {
        guard synchronizable != .any else { throw .parameter("An item is either synchronizable or not.") }
        guard values[AttributeName.sharingGroup.rawValue] == nil else {
            throw .parameter("The sharing group of an item cannot be changed.")
        }
        var attributes = values
        attributes[AttributeName.multiUser.rawValue] = nil
        attributes[AttributeName.modificationDate.rawValue] = nil
        Self.removeConstants(&attributes)
        try checkSynchronizable(attributes)
        if let accessible = accessControl?.protection ?? accessible {
            attributes[AttributeName.accessible.rawValue] = .text(accessible)
        }
        if let synchronizable {
            attributes[AttributeName.synchronizable.rawValue] = .number(synchronizable == .yes ? 1 : 0)
        }
        return attributes
    }

    private func checkSynchronizable(_ attributes: ItemAttributeValues) throws(StatusError) {
        guard synchronizable == .yes else { return }
        guard accessControl?.operations == nil else {
            throw .parameter("An item with an access control cannot be synchronizable.")
        }
        guard attributes[AttributeName.sharingGroup.rawValue] == nil else {
            throw .parameter("An item of a sharing group cannot be synchronizable.")
        }
    }

    // MARK: single values

    private static func accessControl(_ value: QueryValue) throws(StatusError) -> SecAccessControl {
        guard case .object(let object) = value, let accessControl = object as? SecAccessControl else {
            throw .parameter("kSecAttrAccessControl must be a SecAccessControl.")
        }
        return accessControl
    }

    private static func synchronizable(_ value: QueryValue) throws(StatusError) -> ItemSelection.Synchronizable {
        if case .text("syna") = value { return .any }
        switch try value.converted(to: .number, of: "kSecAttrSynchronizable") {
        case .number(0): return .no
        case .number(1): return .yes
        default: throw .parameter("kSecAttrSynchronizable must be a truth value or kSecAttrSynchronizableAny.")
        }
    }

    private static func takeAccessible(_ values: inout ItemAttributeValues) throws(StatusError) -> String? {
        guard let value = values.removeValue(forKey: AttributeName.accessible.rawValue) else { return nil }
        guard case .text(let accessible) = value, SecAccessControl.protections.contains(accessible) else {
            throw .parameter("kSecAttrAccessible must be one of its constants.")
        }
        return accessible
    }

    /// Attributes that results have and that are the same for every item here.
    private static let constants: ItemAttributeValues = [
        AttributeName.multiUser.rawValue: .data(Data()), AttributeName.tombstone.rawValue: .number(0),
        AttributeName.sharingGroup.rawValue: .text(""),
    ]

    private static func removeConstants(_ attributes: inout ItemAttributeValues) {
        for (key, value) in constants where attributes[key] == value { attributes[key] = nil }
    }
}
