package import AccessControl
import ExactNames
package import Foundation
package import KeySlots
import OstiaryMessages
import OwnerKeys
package import Refusals
package import SecretMemory
package import Vault

/// The checked parts of a new item.
package struct ItemDraft: ~Copyable {
    package let itemClass: ItemClass
    package let attributes: ItemAttributes
    package let accessControl: AccessControl
    package let keyID: VaultID?
    package let data: SecretBytes?
    package let applicationPassword: ApplicationPassword?

    package init(
        itemClass: ItemClass, attributes: ItemAttributes, accessControl: AccessControl, keyID: VaultID?,
        data: consuming SecretBytes?, applicationPassword: consuming ApplicationPassword?
    ) {
        self.itemClass = itemClass
        self.attributes = attributes
        self.accessControl = accessControl
        self.keyID = keyID
        self.data = data
        self.applicationPassword = applicationPassword
    }
}

/// The changes that an update makes in each item. A part that is nil stays unchanged.
package struct ItemChange: ~Copyable {
    package let attributes: ItemAttributes
    package let accessControl: AccessControl?
    package let data: SecretBytes?
    package let applicationPassword: ApplicationPassword?
    /// Whether the free attributes take the place of all that an item has.
    let replacesFreeAttributes: Bool

    package init(
        attributes: ItemAttributes, accessControl: AccessControl?, data: consuming SecretBytes?,
        applicationPassword: consuming ApplicationPassword?, replacingFreeAttributes: Bool = false
    ) {
        self.attributes = attributes
        self.accessControl = accessControl
        self.data = data
        self.applicationPassword = applicationPassword
        replacesFreeAttributes = replacingFreeAttributes
    }

    package var replacesData: Bool {
        switch data {
        case .some: true
        case .none: false
        }
    }

    /// Whether the change replaces wraps or data. No copy of the old ones may stay in the journal.
    var replacesSecrets: Bool { replacesData || accessControl != nil || attributes["pdmn"] != nil }
}

extension ItemAttributes {
    /// Completes the attributes of a new item and returns its access control.
    ///
    /// - Parameters:
    ///   - given: the access control of the request, canonical; empty for one that asks for nothing.
    ///   - isForKey: the access control is the key's; the accessibility is the item's own.
    package mutating func prepareForAdding(
        as itemClass: ItemClass, given: Data, isForKey: Bool, groups: AccessGroups, now: Double
    ) throws -> AccessControl {
        try dropWhatIsTheStores()
        guard !isForKey || !itemClass.hasFreeAttributes else {
            throw Refusal(
                .invalidParameter, "An item with free attributes cannot stand for a key.", cause: "item.key")
        }
        if itemClass.hasFreeAttributes { self["kind"] = self["kind"] ?? .number(0) }
        dropEmptyPrograms()
        self["agrp"] = .text(try groups.home(text("agrp").map { ExactName($0) }).text)
        self["sync"] = .number(try synchronizable(default: 0))
        self["cdat"] = .date(now)
        self["mdat"] = .date(now)
        let accessControl = given.isEmpty ? nil : try AccessControl(canonicalBytes: Array(given))
        let accessibility =
            try accessibility ?? (isForKey ? nil : accessControl.map { Accessibility($0.availability) })
            ?? itemClass.defaultAccessibility
        self["pdmn"] = .text(accessibility.rawValue)
        try requireSize()
        try requireFreeform(itemClass)
        guard let accessControl else {
            let unrestricted = try AccessControl(ofUnrestrictedItem: accessibility.availability)
            try requireRuleForPrograms(unrestricted)
            return unrestricted
        }
        if !isForKey { try Self.require(accessControl, accessibility) }
        try requireSynchronizable(accessControl, isForKey: isForKey)
        try requireRuleForPrograms(accessControl)
        return accessControl
    }

    /// Throws unless the attributes that only items with free ones have are possible.
    func requireFreeform(_ itemClass: ItemClass) throws(Refusal) {
        guard itemClass.hasFreeAttributes else { return }
        switch self["kind"] {
        case nil: break
        case .number(let number)? where 0...1 ~= number: break
        default: throw Refusal(.invalidParameter, "The kind of an item must be 0 or 1.", cause: "item.kind")
        }
        try programs?.requireKnowable()
    }

    /// The accessibility that is named, if one is.
    package var accessibility: Accessibility? {
        get throws(Refusal) {
            guard let value = self["pdmn"] else { return nil }
            guard case .text(let name) = value, let found = Accessibility(rawValue: name) else {
                throw Refusal(.invalidParameter, "The accessibility is unknown.", cause: "item.accessibility")
            }
            return found
        }
    }

    static func require(_ accessControl: AccessControl, _ accessibility: Accessibility) throws(Refusal) {
        guard accessControl.availability == accessibility.availability else {
            throw Refusal(
                .invalidParameter, "The accessibility differs from the access control's.",
                cause: "item.accessibility")
        }
    }

    /// An item that asks for something stays where the one who can prove it is, and the item of a key where the key is.
    func requireSynchronizable(_ accessControl: AccessControl, isForKey: Bool) throws(Refusal) {
        guard try synchronizable(default: 0) == 1 else { return }
        guard !isForKey, accessControl[.read] == .unrestricted, self["ggrp"] == nil else {
            throw Refusal(
                .invalidParameter,
                "A synchronizable item can have no rule and no sharing group, and cannot stand for an enclave key.",
                cause: "item.synchronizable")
        }
    }

    private func synchronizable(default absent: Int64) throws(Refusal) -> Int64 {
        switch self["sync"] {
        case nil: return absent
        case .number(let number)? where 0...1 ~= number: return number
        default: throw Refusal(.invalidParameter, "Synchronizable must be 0 or 1.", cause: "item.synchronizable")
        }
    }

    /// An item is no tombstone, which a synchronizing store leaves for a deleted item. Attributes that a program read
    /// say so, and the program may give them again.
    private mutating func dropWhatIsTheStores() throws(Refusal) {
        for name in ItemClass.ofStore { self[name] = nil }
        guard self["tomb"] ?? .number(0) == .number(0) else {
            throw Refusal(.invalidParameter, "A new item cannot be marked as deleted.", cause: "item.attribute")
        }
        self["tomb"] = nil
    }

    /// Whether an update with these attributes moves the item away from where its programs find it, or gives it to others: what another
    /// program may no more do than replace the data.
    package var concernsPrograms: Bool {
        [ItemPrograms.attribute, "agrp", "pdmn"].contains { self[$0] != nil }
    }

    /// Checks the parts of an update that do not depend on the item.
    package mutating func prepareForUpdating(_ itemClass: ItemClass, groups: AccessGroups) throws(Refusal) {
        // The store says when something was made and changed; the user's view is not an item's to choose.
        for name in ["cdat", "mdat", "musr"] { self[name] = nil }
        try dropWhatIsTheStores()
        guard self["ggrp"] == nil else {
            throw Refusal(.invalidParameter, "The sharing group cannot be changed.", cause: "item.attribute")
        }
        if let group = text("agrp") { try groups.require(ExactName(group)) }
        _ = try synchronizable(default: 0)
        _ = try accessibility
        try requireFreeform(itemClass)
    }
}
