import AccessControl
public import Foundation

/// The proof that a right needs before it is granted (Apple's `LAAuthenticationRequirement`).
public final class LAAuthenticationRequirement: NSObject, Sendable {
    let requirement: Requirement

    /// The same as ``default``.
    public override convenience init() { self.init(anyOf: [[.biometry], [.passcode]]) }

    private init(anyOf alternatives: [FactorSet]) {
        do { requirement = try Requirement(anyOf: alternatives) } catch {
            preconditionFailure("The requirements named in this file can be enforced, but: \(error)")
        }
        super.init()
    }

    /// Whatever authenticates the user on this machine: biometry or the passcode (Apple's `defaultRequirement`).
    public class var `default`: LAAuthenticationRequirement { biometryOrPasscode }

    /// Biometry; cannot be granted where there is no sensor or nothing is enrolled.
    public class var biometry: LAAuthenticationRequirement { anyBiometry }

    /// Biometry with the fingers that are enrolled when the right is saved. The right cannot be granted any more after
    /// the enrolment changed.
    public class var biometryCurrentSet: LAAuthenticationRequirement { currentBiometry }

    /// Biometry, or `fallback` when biometry fails, is not available, or the person prefers the fallback.
    public class func biometry(fallback: LABiometryFallbackRequirement) -> LAAuthenticationRequirement {
        // Both fallbacks are the passcode: there is no other authentication that a machine is sure to have.
        biometryOrPasscode
    }

    private static let biometryOrPasscode = LAAuthenticationRequirement(anyOf: [[.biometry], [.passcode]])
    private static let anyBiometry = LAAuthenticationRequirement(anyOf: [[.biometry]])
    private static let currentBiometry = LAAuthenticationRequirement(anyOf: [[.biometryCurrentSet]])
}

/// The factor that may take the place of biometry (Apple's `LABiometryFallbackRequirement`).
public final class LABiometryFallbackRequirement: NSObject, Sendable {
    /// The machine's own fallback, which is the passcode (Apple's `defaultRequirement`).
    public class var `default`: LABiometryFallbackRequirement { machineFallback }

    /// The passcode (Apple's `devicePasscodeRequirement`).
    public class var devicePasscode: LABiometryFallbackRequirement { passcode }

    private static let machineFallback = LABiometryFallbackRequirement()
    private static let passcode = LABiometryFallbackRequirement()
}
