public import AccessControl
public import Foundation
import OstiaryMessages

/// A keychain item as the daemon shows it, without its data.
public struct StoredItem: Sendable, Equatable {
    /// 16 bytes that name the item for good.
    public let id: Data
    public let itemClass: String
    /// Empty when they were not asked for.
    public let attributes: ItemAttributeValues
    /// Nil when attributes were not asked for.
    public let accessControl: AccessControl?
    /// The access control as the program gave it, for showing it again; empty when it gave none.
    public let shownAccessControl: Data
    public let hasData: Bool
    /// The enclave key that the item stands for.
    public let keyID: Data?
    /// The lock between the program and the item; nil unless the item was listed.
    package private(set) var lock: ItemLock?
    /// The label of the weakest way to open the item, for example `key-bound`; empty when attributes were not asked for, and from a
    /// daemon that does not say it.
    package private(set) var strength = ""

    public init(
        id: Data, itemClass: String, attributes: ItemAttributeValues = [:], accessControl: AccessControl? = nil,
        shownAccessControl: Data = Data(), hasData: Bool = false, keyID: Data? = nil
    ) {
        self.id = id
        self.itemClass = itemClass
        self.attributes = attributes
        self.accessControl = accessControl
        self.shownAccessControl = shownAccessControl
        self.hasData = hasData
        self.keyID = keyID
    }
}

extension StoredItem {
    init(_ item: WireItem) throws {
        self.init(
            id: item.itemID, itemClass: item.itemClass, attributes: try ItemAttributeValue.attributes(item.attributes),
            accessControl: try item.accessControl.isEmpty ? nil : AccessControl(answered: item.accessControl),
            shownAccessControl: item.shownAccessControl, hasData: item.hasData_p,
            keyID: item.keyID.isEmpty ? nil : item.keyID)
        lock = ItemLock(item.lock)
        strength = item.strength
    }
}

/// The lock between a program and an item.
package enum ItemLock: Sendable, Equatable {
    /// Reading it asks nobody.
    case open
    /// The store is locked for its class: the passcode opens it.
    case storeLocked
    /// Its rule asks for a proof.
    case needsProof
    /// Its rule asks for proofs that the context holds, so that reading it asks nobody.
    case proofHeld

    /// Nil for an item that was not listed. A lock that this version does not know is no open one.
    fileprivate init?(_ lock: WireItemLock) {
        switch lock {
        case .unspecified: return nil
        case .open: self = .open
        case .closed: self = .storeLocked
        case .ruled, .UNRECOGNIZED: self = .needsProof
        case .proved: self = .proofHeld
        }
    }
}

extension AccessControl {
    /// Reads canonical bytes of an answer.
    init(answered bytes: Data) throws {
        do { self = try AccessControl(canonicalBytes: Array(bytes)) } catch { throw OstiaryClient.unexpected() }
    }
}

extension SSHKeyConstraints {
    /// Reads canonical bytes of an answer; nil when there are none.
    init?(answered bytes: Data) throws {
        guard !bytes.isEmpty else { return nil }
        do { self = try SSHKeyConstraints(canonicalBytes: Array(bytes)) } catch { throw OstiaryClient.unexpected() }
    }
}
