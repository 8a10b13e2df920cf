import AccessControl
public import Cancellations
import DoorSupport
import OstiaryClient
public import SecretMemory

/// A secret that several parts of a program hold, for as long as a call takes.
public final class HeldSecret: Sendable {
    public let bytes: SecretBytes

    public init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}

/// A secret that was read.
public struct OpenedSecret: Sendable {
    public let secret: HeldSecret
    public let contentType: String
    /// Whether only certain programs may have it.
    public let isForSomePrograms: Bool

    public init(_ secret: HeldSecret, contentType: String, isForSomePrograms: Bool = false) {
        (self.secret, self.contentType, self.isForSomePrograms) = (secret, contentType, isForSomePrograms)
    }
}

/// How the person is asked, if somebody has to be.
public struct SecretQuestion: Sendable {
    /// The door's words, which the question shows.
    public let reason: String
    /// Takes the question away.
    public let cancellation: Cancellation

    public init(_ reason: String, cancellation: Cancellation) {
        (self.reason, self.cancellation) = (reason, cancellation)
    }

    var interaction: Interaction { Interaction(reason: reason) }
}

/// An item, or a collection, that is to be made.
public struct NewSecret: Sendable {
    public var kind: SecretKind
    public var collection: String
    public var label: String
    public var contentType: String
    public var attributes: [String: String]
    /// The rule for reading it, as `ostiary` writes rules; nil for none.
    public var rule: String?
    /// The names of the programs that may read it, one a line; nil for all.
    public var readers: String?
    /// Nil for a collection.
    public var secret: HeldSecret?

    public init(
        _ kind: SecretKind = .item, collection: String, label: String, contentType: String = "",
        attributes: [String: String] = [:], rule: String? = nil, readers: String? = nil, secret: HeldSecret? = nil
    ) {
        (self.kind, self.collection, self.label, self.contentType) = (kind, collection, label, contentType)
        (self.attributes, self.rule, self.readers, self.secret) = (attributes, rule, readers, secret)
    }

    /// The row of a collection. It has the rule and the programs itself that its attributes give new items.
    ///
    /// - Parameter collection: empty for one that has its row's id for a name.
    public static func row(
        of collection: String = "", label: String, attributes: [String: String] = [:]
    ) -> NewSecret {
        NewSecret(
            .collection, collection: collection, label: label, attributes: attributes,
            rule: attributes[CollectionDefaults.rule], readers: attributes[CollectionDefaults.readers])
    }

    /// A collection without a name has its id for one.
    var values: ItemAttributeValues {
        var values: ItemAttributeValues = [
            SecretAttribute.group: .text(DoorProgram.accessGroup), SecretAttribute.kind: .number(kind.rawValue),
            SecretAttribute.label: .text(label), SecretAttribute.accessibility: .text("aku"),
        ]
        if !collection.isEmpty { values[SecretAttribute.collection] = .text(collection) }
        if kind == .item { values[SecretAttribute.contentType] = .text(contentType) }
        if let readers { values[SecretAttribute.readers] = .text(readers) }
        values.setFree(attributes)
        return values
    }

    /// Reading needs the rule. The daemon asks for the same before such an item is changed or deleted.
    ///
    /// - Throws: `invalid` for a rule that cannot be read: such an item would have none.
    func accessControl() throws(StoreRefusal) -> AccessControl {
        do {
            let placed = try rule.map { try PlacedRule(parsing: $0) }
            let reading = try placed.map { try Requirement($0.rule) } ?? .unrestricted
            let limits = placed?.isAtTrustedPlace == true ? try GrantLimits(isAtTrustedPlace: true) : nil
            return try AccessControl(
                availability: .whenUnlocked,
                requirements: [
                    .create: .unrestricted, .read: reading, .change: .unrestricted, .delete: .unrestricted,
                ], limits: limits)
        } catch {
            throw .invalid(
                "The rule for new items of this collection cannot be read (\(error)), so none was made. Set it again.")
        }
    }
}

/// What is to be another of an item; nil for what stays.
public struct SecretChange: Sendable {
    public var label: String?
    /// All attributes that it has from then on.
    public var attributes: [String: String]?
    public var contentType: String?
    public var secret: HeldSecret?

    public init(
        label: String? = nil, attributes: [String: String]? = nil, contentType: String? = nil,
        secret: HeldSecret? = nil
    ) {
        (self.label, self.attributes, self.contentType, self.secret) = (label, attributes, contentType, secret)
    }

    var values: ItemAttributeValues {
        var values: ItemAttributeValues = [:]
        if let label { values[SecretAttribute.label] = .text(label) }
        if let contentType { values[SecretAttribute.contentType] = .text(contentType) }
        if let attributes { values.setFree(attributes) }
        return values
    }
}
