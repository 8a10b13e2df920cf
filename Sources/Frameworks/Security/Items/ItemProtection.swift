import AccessControl
import Foundation
import OstiaryClient

/// The access control of an item in the forms that the daemon and the program know it by. The one place where the two meet.
struct ItemProtection {
    private let accessControl: SecAccessControl

    init(_ accessControl: SecAccessControl) { self.accessControl = accessControl }

    /// `pdmn`.
    var accessible: String { accessControl.protection }

    /// The access control that the daemon enforces.
    func canonical() throws(StatusError) -> AccessControl { try accessControl.canonical() }

    /// The bytes that a search returns again; empty for an access control that holds nothing beyond ``accessible``.
    var shown: Data { accessControl.operations == nil ? Data() : accessControl.derRepresentation }

    /// The access control as it was given, even if it only names the accessibility.
    var serialized: Data { accessControl.derRepresentation }

    /// The protection of an enclave key that was made without one: usable while unlocked, without asking anybody.
    static let standardOfEnclaveKey = ItemProtection(
        SecAccessControl(protection: "aku", operations: AccessControlOperations(SecAccessControlCreateFlags())))

    /// The access control in the attributes of `item`.
    static func shown(of item: StoredItem) throws -> SecAccessControl? {
        guard item.shownAccessControl.isEmpty else {
            return try SecAccessControl(derRepresentation: item.shownAccessControl)
        }
        guard case .text(let accessible) = item.attributes[AttributeName.accessible.rawValue] else { return nil }
        return shown(item.accessControl, accessible)
    }

    /// The access control of a key; nil for one that Apple's form cannot say, which other programs than this module's make.
    static func shown(of key: EnclaveKey) -> SecAccessControl? {
        if let given = try? SecAccessControl(derRepresentation: key.shownAccessControl) { return given }
        return SecAccessControl(key.accessControl)
    }

    /// An item that was added by another kind of program has a rule and no form that was given.
    private static func shown(_ canonical: AccessControl?, _ accessible: String) -> SecAccessControl? {
        let plain = SecAccessControl(protection: accessible, operations: nil)
        guard let canonical, !canonical.keyRequirement.isUnrestricted else { return plain }
        return SecAccessControl(canonical, protection: accessible)
    }
}
