package import AccessControl
import Authenticators
package import Enclave
import OstiaryMessages
import OwnerKeys
import Prompting
import Refusals

extension OwnerAccount {
    /// Refuses a rule that could not be satisfied on this machine, before a key is made that nobody could use.
    ///
    /// - Parameter type: of the key that it is for; nil for an item. Only P-256 keys confirm each signature.
    package func requireUsable(_ accessControl: AccessControl, ofKey type: EnclaveKeyType? = nil) throws {
        try Self.requireCheckable(accessControl)
        if accessControl.confirmsEachSignature { try Self.requireConfirmable(accessControl, ofKey: type) }
        let factors = accessControl.keyRequirement.factors
        let authenticators = evaluator.authenticators
        guard accessControl.limits == nil || !accessControl.keyRequirement.isUnrestricted else {
            throw Refusal(
                .invalidRule, "Limits need a rule that asks for something; without one a new grant costs nothing.",
                cause: "rule.limits-without-factor")
        }
        guard !accessControl.isAtTrustedPlace || evaluator.prompter.hasTrustedPlace else {
            throw Refusal(
                .invalidRule,
                "The rule asks for the trusted place, and this daemon has none. A daemon for the whole machine has one.",
                cause: "rule.without-place")
        }
        for factor in factors.factors.reversed() { try authenticators[factor].requireBindable(factor) }
        let needsPasscode = !factors.isDisjoint(with: [.passcode, .biometry, .biometryCurrentSet])
        guard ring.isPasscodeSet || !(needsPasscode || accessControl.availability == .whenPasscodeSet) else {
            throw Refusal.passcodeNotSet
        }
        let uses = accessControl.operations.filter(\.needsAccessSecret).compactMap { accessControl[$0] }
        for use in uses {
            for factor in Factor.allCases where use.alternatives.allSatisfy({ $0.contains(FactorSet(factor)) }) {
                try authenticators[factor].requireProvableEver(factor)
            }
        }
    }

    private static func requireConfirmable(
        _ accessControl: AccessControl, ofKey type: EnclaveKeyType?
    ) throws(Refusal) {
        guard type == .p256 else {
            throw Refusal(
                .invalidRule, "Only P-256 keys, those of rights too, confirm each signature.",
                cause: "rule.confirmed-without-key")
        }
        guard !accessControl.keyRequirement.isUnrestricted else {
            throw Refusal(
                .invalidRule, "Confirming each signature needs a rule that asks for something.",
                cause: "rule.confirmed-without-factor")
        }
    }

    /// Nobody is asked for anything when a right is created, deleted or changed, so a rule for one of these would promise
    /// what is not kept. Permitting it to nobody is kept.
    private static func requireCheckable(_ accessControl: AccessControl) throws(Refusal) {
        for operation in accessControl.operations where !operation.needsAccessSecret {
            guard accessControl[operation] == .unrestricted else {
                throw Refusal(
                    .invalidRule,
                    "A rule for the operation '\(operation.name)' is not supported; permit it or leave it out.",
                    cause: "rule.unsupported-operation")
            }
        }
    }

    /// How an item is held: the label of the weakest way to open it, by the factors that its rule names, or by the passcode that
    /// opens its class. Where nothing has to be proved, only the broker keeps it from other programs.
    ///
    /// - Parameter isForKey: whether the item stands for a key. The rule is then for uses of the key.
    package func strength(of accessControl: AccessControl, isForKey: Bool) -> Strength {
        let requirement = isForKey ? accessControl.keyRequirement : accessControl[.read]
        let ways = requirement?.alternatives ?? []
        return ways.map { strength(of: $0.isEmpty ? classFactors(accessControl.availability) : $0) }.min()
            ?? .brokerBound
    }

    /// The factors that must be proved before a class is open.
    private func classFactors(_ availability: AvailabilityClass) -> FactorSet {
        ring.isPasscodeSet && availability != .always ? .passcode : []
    }

    private func strength(of factors: FactorSet) -> Strength {
        factors.factors.map { evaluator.authenticators[$0].strength(of: $0) }.min() ?? .brokerBound
    }
}
