import AccessControl
import OstiaryClient

/// What stands before the secret of an item: a rule, and the programs that the item is for.
public struct SecretProtection: Sendable {
    public enum Readers: Sendable, Equatable {
        /// Those that the item has.
        case unchanged
        /// Every program.
        case any
        /// Programs by the paths of their files or their application ids.
        case only([String])
    }

    /// As `ostiary` writes rules; nil for none.
    public let rule: String?
    public let readers: Readers
    let accessControl: AccessControl

    /// - Parameters:
    ///   - text: a rule; nil, or one that asks for nothing, for none. Every program may read an item without a rule.
    /// - Throws: `usage` for a rule that cannot be read, and for programs without a rule.
    public init(rule text: String?, readers: Readers) throws(SecretsFailure) {
        let placed = try Self.placed(text)
        rule = placed.flatMap { $0.rule == .unrestricted ? nil : "\($0)" }
        if rule == nil, case .only = readers {
            throw .usage(
                "Only a rule that asks for something keeps items for certain programs. Give one with --require.")
        }
        self.readers = rule == nil ? .any : readers
        let item = NewSecret(collection: "", label: "", rule: rule)
        do throws(StoreRefusal) { accessControl = try item.accessControl() } catch { throw .usage(error.description) }
    }

    private static func placed(_ text: String?) throws(SecretsFailure) -> PlacedRule? {
        guard let text else { return nil }
        let placed: PlacedRule
        do throws(RuleSyntaxError) { placed = try PlacedRule(parsing: text) } catch {
            throw .usage("The rule cannot be read: \(error).")
        }
        do throws(RuleError) { _ = try Requirement(placed.rule) } catch {
            throw .usage("The rule cannot be used: \(error).")
        }
        return placed
    }

    /// The programs, one a line; empty for every program, nil for those that the item has.
    public var readerLines: String? {
        switch readers {
        case .unchanged: nil
        case .any: ""
        case .only(let names): names.joined(separator: "\n")
        }
    }

    /// The attribute of an item that is changed.
    var values: ItemAttributeValues { readerLines.map { [SecretAttribute.readers: .text($0)] } ?? [:] }
}

/// The attributes of a collection's row that say how its new items are protected. Programs see none of them. The row has the same rule and
/// programs itself.
public enum CollectionDefaults {
    public static let rule = "rule"
    /// The programs, one a line.
    public static let readers = "only"
    /// The name of the collection that is always there.
    public static let login = "login"
    /// Where the secrets of applications in sandboxes lie, which is no collection for programs.
    public static let portal = "portal"

    /// What a new collection takes over from `login`, so that no program gets rid of it by a collection of its own.
    ///
    /// - Parameter login: the attributes of the row of `login`.
    public static func inherited(from login: [String: String]) -> [String: String] {
        login.filter { $0.key.utf8.elementsEqual(rule.utf8) || $0.key.utf8.elementsEqual(readers.utf8) }
    }

    /// Whether new items of one collection lack the protection that those of another one have.
    public static func isLacking(_ one: [String: String], _ other: [String: String]) -> Bool {
        let wanted = inherited(from: other)
        return !wanted.isEmpty && inherited(from: one) != wanted
    }

    /// The attributes of a row after its collection got other defaults.
    public static func attributes(
        _ present: [String: String], with protection: SecretProtection
    ) -> [String: String] {
        var attributes = present
        attributes[rule] = protection.rule
        if let lines = protection.readerLines { attributes[readers] = lines.isEmpty ? nil : lines }
        return attributes
    }
}
