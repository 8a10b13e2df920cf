import AccessControl
import Foundation
import Owners
import ProtectedObjects
import Vault

/// The labels of the items of one answer. Many items have the same rule, and a label may need the list of security keys.
final class ItemStrengths {
    private struct Rule: Hashable {
        let accessControl: Data
        let isForKey: Bool
    }

    private let account: OwnerAccount
    private var known: [Rule: String] = [:]

    init(of account: OwnerAccount) { self.account = account }

    func label(of opener: ItemOpener) -> String {
        let rule = Rule(accessControl: opener.record.accessControl, isForKey: opener.record.keyID != nil)
        if let label = known[rule] { return label }
        let label = account.strength(of: opener.accessControl, isForKey: rule.isForKey).rawValue
        known[rule] = label
        return label
    }
}
