package import AccessControl
import Authenticators
import Passcodes
import Synchronization
package import Vault

/// A grant that stands, for the owner's list. It names no secret.
package struct ListedGrant: Sendable {
    package enum Kind: String, Sendable {
        case right, requirement, policy
        /// What a context keeps.
        case factors
    }

    package let id: UInt64
    package let kind: Kind
    /// The name of a right, the id of a key; empty where there is no object.
    package let object: String
    package let operations: [AccessControl.Operation]
    package let factors: [String]
    package let strength: String
    /// On CLOCK_BOOTTIME, as the next one.
    package let since: Duration
    /// Nil for a grant that does not end by time.
    package let end: Duration?
    package let usesLeft: UInt32?
}

extension EvaluationContext {
    /// The grants that stand.
    package var listedGrants: [ListedGrant] {
        let now = clock.now().time
        return contents.withLock { contents in
            contents.listedGrants(at: now).filter { grant in grant.end.map { now < $0 } ?? true }
        }
    }

    /// The rights and keys that are open here, also those whose grant has ended by time and that were not wiped yet.
    package var openObjects: [VaultID] { contents.withLock { Array($0.rights.keys) } }

    /// Whether a right or a requirement is granted.
    package var holdsGrant: Bool {
        let now = clock.now().time
        return contents.withLock { contents in
            !contents.leased.isEmpty
                || contents.heldGrants.contains { contents.end(of: $0.subject, at: now) == nil }
        }
    }
}

extension EvaluationContext.Contents {
    fileprivate func listedGrants(at now: Duration) -> [ListedGrant] {
        let rights = rights.values.map { grant in
            let meter = meters[.object(grant.right.id)]?.meter
            return ListedGrant(
                id: grant.number, kind: .right, object: grant.right.identifier,
                operations: grant.right.operations.sorted(), factors: grant.right.factorNames,
                strength: grant.right.strength, since: meter?.since ?? grant.since,
                end: [grant.time?.end, meter?.end].compactMap(\.self).min(), usesLeft: meter?.usesLeft)
        }
        let requirements = requirements.map { bytes, grant in
            let meter = meters[.requirement(bytes)]?.meter
            return ListedGrant(
                id: grant.number, kind: .requirement, object: "", operations: [], factors: grant.factorNames,
                strength: grant.strength, since: meter?.since ?? grant.since, end: meter?.end,
                usesLeft: meter?.usesLeft)
        }
        let policies = policies.values.map { grant, time in
            ListedGrant(
                id: grant.number, kind: .policy, object: "", operations: [], factors: grant.factorNames,
                strength: grant.strength, since: time.since, end: time.end, usesLeft: nil)
        }
        let factors = kept.map { kept in
            ListedGrant(
                id: kept.number, kind: .factors, object: "", operations: [],
                factors: kept.held.factors.factors.map(\.name),
                strength: kept.held.proofs.map(\.strength).min()?.rawValue ?? "", since: kept.time.since, end: kept.end,
                usesLeft: nil)
        }
        return (rights + requirements + policies + [factors].compactMap(\.self)).filter { $0.usesLeft != 0 }
    }
}

/// Numbers grants, so that the owner can name one. They tell nobody how many there were, and none returns after a restart.
enum GrantNumber {
    static func next() -> UInt64 { .random(in: 1 ... .max) }
}
