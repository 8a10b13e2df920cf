package import AccessControl
import AuthenticatorRequests
import Foundation
import KeySlots
import OstiaryMessages
package import OwnerKeys
package import Refusals
import SecretMemory
package import SecurityKeys

/// Proves that one of the owner's security keys is here. The key's output opens slots.
package struct SecurityKeyAuthenticator: Authenticator {
    let keys: SecurityKeys
    package let life: SecurityKeyLife
    /// Derives the salt of a generation, 32 bytes. It is not stored anywhere.
    let salt: @Sendable (UInt32) -> [UInt8]
    let strength: Strength

    package init(
        _ keys: SecurityKeys, life: SecurityKeyLife, strength: Strength, salt: @escaping @Sendable (UInt32) -> [UInt8]
    ) {
        self.keys = keys
        self.life = life
        self.strength = strength
        self.salt = salt
    }

    package var factors: FactorSet { .securityKey }

    package func availability(of factor: Factor, for demand: Demand?) throws -> FactorAvailability.State {
        // A key that is not plugged in can be, while the question is visible.
        try record().keys.isEmpty ? .unavailable(.securityKeyNotEnrolled) : .available
    }

    package func strength(of factor: Factor) -> Strength {
        let keys = (try? life.load().keys) ?? []
        return keys.allSatisfy(\.isVerified) ? strength : .touchOnly
    }

    package func note(on factor: Factor) -> String? {
        guard let count = try? life.load().keys.count, count > 0 else { return nil }
        return count == 1 ? "one is enrolled; enrol a second one in case it is lost" : "\(count) are enrolled"
    }

    package func requireBindable(_ factor: Factor) throws(Refusal) { try requireEnrolled() }

    package func requireProvableEver(_ factor: Factor) throws(Refusal) { try requireEnrolled() }

    private func requireEnrolled() throws(Refusal) {
        guard try record().keys.isEmpty else { return }
        throw Refusal.unavailable(.securityKey, because: .securityKeyNotEnrolled)
    }

    /// - Throws: when the list cannot be read, which is not the same as no keys.
    package func record() throws(Refusal) -> SecurityKeyRecord {
        do { return try life.load() } catch {
            throw Refusal(
                .storeUnreadable, "The list of security keys does not verify; run `ostiary doctor`.",
                cause: "security-key.unreadable")
        }
    }

    package func begin(
        _ factor: Factor, for demand: Demand, _ asking: Asking, after proofs: [Proof]
    ) throws -> FactorAttempt {
        .sensing([SecurityKeyAttempt(self, try record())])
    }
}
