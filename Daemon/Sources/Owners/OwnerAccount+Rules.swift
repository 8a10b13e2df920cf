package import AccessControl
import Authenticators
import OstiaryMessages
import OwnerKeys
import Refusals

extension OwnerAccount {
    /// Refuses a rule that could not be satisfied on this machine, before a key is made that nobody could use.
    ///
    /// - Parameter isOfRight: whether it is for a right; only rights confirm each signature.
    package func requireUsable(_ accessControl: AccessControl, isOfRight: Bool = false) throws {
        try Self.requireCheckable(accessControl)
        if accessControl.confirmsEachSignature { try Self.requireConfirmable(accessControl, isOfRight: isOfRight) }
        let factors = accessControl.keyRequirement.factors
        let authenticators = evaluator.authenticators
        guard accessControl.limits == nil || !accessControl.keyRequirement.isUnrestricted else {
            throw Refusal(
                .invalidRule, "Limits need a rule that asks for something; without one a new grant costs nothing.",
                cause: "rule.limits-without-factor")
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

    private static func requireConfirmable(_ accessControl: AccessControl, isOfRight: Bool) throws(Refusal) {
        guard isOfRight else {
            throw Refusal(
                .invalidRule, "Only the key of a right confirms each signature.", cause: "rule.confirmed-without-right")
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
}
