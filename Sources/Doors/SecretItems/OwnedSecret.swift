import AccessControl
import Foundation
import OstiaryClient

/// An item, or the row of a collection, as the owner's own commands see it: without its secret.
public struct OwnedSecret: Sendable, Equatable {
    public var id: SecretID
    public var lock: ListedSecret.Lock
    /// Nil while nobody may see it: as long as the store is locked.
    public var contents: SecretContents?
    /// The rule for reading it, as `ostiary` writes rules; nil for none, and while nobody may see it.
    public var rule: String?
    /// The programs that may read it; empty for all.
    public var readers: [String]
    /// Where an import brought it from, in the import's own words.
    public var origin: String?

    public init(
        id: SecretID, lock: ListedSecret.Lock = .open, contents: SecretContents?, rule: String? = nil,
        readers: [String] = [], origin: String? = nil
    ) {
        (self.id, self.lock, self.contents) = (id, lock, contents)
        (self.rule, self.readers, self.origin) = (rule, readers, origin)
    }
}

extension OwnedSecret {
    /// Nil for an answer whose id is none.
    init?(_ item: StoredItem) {
        guard let listed = ListedSecret(item) else { return nil }
        self.init(
            id: listed.id, lock: listed.lock, contents: listed.contents,
            rule: listed.accessControl.flatMap(Self.rule),
            readers: Self.lines(of: Self.text(item, SecretAttribute.readers) ?? ""),
            origin: Self.text(item, SecretAttribute.origin))
    }

    /// Nil for a rule that asks for nothing.
    private static func rule(_ accessControl: AccessControl) -> String? {
        guard let reading = accessControl[.read], !reading.isUnrestricted else { return nil }
        return "\(reading)" + (accessControl.isAtTrustedPlace ? PlacedRule.suffix : "")
    }

    private static func text(_ item: StoredItem, _ key: String) -> String? {
        switch item.attributes[key] {
        case .text(let text): text
        case .data(let data): String(decoding: data, as: UTF8.self)
        default: nil
        }
    }

    /// A line ends with the byte of a newline alone.
    private static func lines(of text: String) -> [String] {
        text.utf8.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension SecretAttribute {
    /// The alias of Apple's items (`kSecAttrAlias`). No program of the Secret Service sees or changes it, so an import notes in it where it
    /// brought the item from.
    static let origin = "alis"
}
