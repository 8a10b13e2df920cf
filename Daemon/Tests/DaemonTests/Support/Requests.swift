import AccessControl
import Foundation
import OstiaryMessages

/// The requests that tests send again and again.
extension WireRequest.OneOf_Body {
    static let status = Self.status(WireStatusRequest())
    static let lock = Self.lock(WireLockRequest())

    /// The digest that ``sign(_:in:)`` is sent with.
    static let digest = [UInt8](repeating: 0x5A, count: 32)

    static func createRight(
        _ name: String, _ requirement: Requirement, hasSecret: Bool = false, replace: Bool = false
    ) -> Self {
        .createRight(
            .with {
                $0.identifier = name
                $0.accessControl = Data(AccessControl(availability: .whenUnlocked, using: requirement).canonicalBytes)
                $0.hasSecret_p = hasSecret
                $0.replace = replace
                $0.question = .reason("to make a right")
            })
    }

    static func findRight(_ name: String) -> Self { .findRight(.with { $0.identifier = name }) }

    static func removeRight(_ name: String) -> Self { .removeRight(.with { $0.which = .identifier(name) }) }

    static func authorize(_ right: Data, in context: UInt64, reason: String = "to test") -> Self {
        .authorize(
            .with {
                $0.contextID = context
                $0.subject = .rightID(right)
                $0.question = .reason(reason)
            })
    }

    static func sign(_ right: Data, in context: UInt64) -> Self {
        .sign(
            .with {
                $0.contextID = context
                $0.rightID = right
                $0.algorithm = "algid:sign:ECDSA:digest-X962:SHA256"
            })
    }

    static func readSecret(_ right: Data, in context: UInt64) -> Self {
        .readSecret(
            .with {
                $0.contextID = context
                $0.rightID = right
            })
    }

    static func passcode(_ action: WirePasscodeAction) -> Self {
        .passcode(
            .with {
                $0.action = action
                $0.question = .reason("to test")
            })
    }
}

extension WireQuestion {
    static func reason(_ reason: String) -> WireQuestion { .with { $0.reason = reason } }
}
