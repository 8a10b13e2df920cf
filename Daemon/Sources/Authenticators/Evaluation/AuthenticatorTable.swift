package import AccessControl
import OstiaryMessages
import Refusals

/// Who proves which factor. A factor without an authenticator has an ``AbsentAuthenticator``.
package struct AuthenticatorTable: Sendable {
    private let byFactor: [Factor: any Authenticator]

    /// - Parameter isHardware: whether keys are guarded by a chip; labels of absent factors say so.
    package init(_ authenticators: [any Authenticator], isHardware: Bool) {
        byFactor = Dictionary(
            uniqueKeysWithValues: Factor.allCases.map { factor in
                let present = authenticators.first { $0.factors.contains(FactorSet(factor)) }
                return (factor, present ?? AbsentAuthenticator(factor, isHardware: isHardware))
            })
    }

    package subscript(factor: Factor) -> any Authenticator {
        // There is one for each case.
        byFactor[factor]!
    }

    /// Why `factor` is unavailable while nothing can prove it.
    static func absence(of factor: Factor) -> Unavailability {
        AbsentAuthenticator.absences[factor]?.reason ?? .notOffered
    }
}

/// Authenticators beside those that every store has.
package struct AddedAuthenticators: Sendable {
    package let authenticators: [any Authenticator]

    package static let none = AddedAuthenticators(authenticators: [])
}

/// Stands for an authenticator that this daemon does not have.
private struct AbsentAuthenticator: Authenticator {
    struct Absence {
        let reason: Unavailability
        /// Nil where rules may name the factor beside another way: an authenticator that comes later serves them.
        let bindingRefusal: Refusal?
        let needRefusal: Refusal
    }

    let factors: FactorSet
    private let isHardware: Bool
    private let absence: Absence

    init(_ factor: Factor, isHardware: Bool) {
        factors = FactorSet(factor)
        self.isHardware = isHardware
        absence =
            Self.absences[factor]
            ?? Absence(
                reason: .notOffered, bindingRefusal: nil,
                needRefusal: Refusal.unavailable(factor, because: .notOffered))
    }

    /// What is said of each factor while nothing proves it.
    static let absences: [Factor: Absence] = [
        .biometry: Absence(
            reason: .biometryNotAvailable, bindingRefusal: nil,
            needRefusal: Refusal(
                .biometryNotAvailable,
                "Every way to satisfy the rule of an operation needs biometry, and there is no sensor.",
                cause: "biometry.no-sensor")),
        .biometryCurrentSet: Absence(
            reason: .biometryNotAvailable,
            bindingRefusal: Refusal(
                .biometryNotAvailable,
                "The rule names the current set of fingers, but no sensor can tell which these are. Use `biometry`.",
                cause: "biometry.no-sensor"),
            needRefusal: Refusal.unavailable(.biometryCurrentSet, because: .biometryNotAvailable)),
        .securityKey: Absence(
            reason: .securityKeyNotEnrolled,
            bindingRefusal: Refusal(
                .companionNotAvailable, "The rule names a security key, and none is enrolled.",
                cause: "security-key.not-enrolled"),
            needRefusal: Refusal.unavailable(.securityKey, because: .securityKeyNotEnrolled)),
    ]

    func availability(of factor: Factor, for demand: Demand?) -> FactorAvailability.State {
        .unavailable(absence.reason)
    }

    func strength(of factor: Factor) -> Strength { factor.strength(inHardware: isHardware) }

    func requireBindable(_ factor: Factor) throws(Refusal) {
        if let refusal = absence.bindingRefusal { throw refusal }
    }

    func requireProvableEver(_ factor: Factor) throws(Refusal) { throw absence.needRefusal }

    func begin(_ factor: Factor, for demand: Demand, _ asking: Asking, after proofs: [Proof]) throws -> FactorAttempt {
        // `plan` asks only for what is available.
        throw Refusal(.internal, "No authenticator serves \(factor.name).")
    }
}
