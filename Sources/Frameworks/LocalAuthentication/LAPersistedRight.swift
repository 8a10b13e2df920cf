public import Foundation
import OstiaryClient

/// A right that the daemon stores, with a key and perhaps a secret that nobody can use before it is authorized (Apple's
/// `LAPersistedRight`).
///
/// It comes from ``LARightStore`` alone. Requirement, key and secret are fixed for good and never leave this machine.
/// Like any right it has to be authorized again in each process that uses it. Once it was removed from the store it can
/// be neither authorized nor used: `errSecItemNotFound` (`NSOSStatusErrorDomain`).
public final class LAPersistedRight: LARight {
    /// The private key behind the right, P-256.
    public let key: LAPrivateKey

    /// The secret that was stored with the right; loading it fails when there is none.
    public let secret: LASecret

    let id: Data

    init(stored: StoredRight, service: any AuthorizationService) {
        let authorization = RightAuthorization(.right(id: stored.id), service: service)
        id = stored.id
        key = LAPrivateKey(authorization: authorization, stored: stored)
        secret = LASecret(authorization: authorization, rightID: stored.id)
        super.init(authorization, accessControl: stored.accessControl)
    }
}

extension LAPersistedRight {
    /// A statement of this machine's TPM on ``key``, for a server: the key was made in the chip and cannot leave it, and its
    /// rule was fixed when it was made. If the rule always needs the passcode, the chip itself enforces that. Ostiary's own;
    /// Apple has nothing like it for rights.
    ///
    /// Needs the right to be authorized, as ``LAPrivateKey`` does, and counts as a use. Nothing prompts. The server verifies the
    /// statement with the library `AttestationVerification`, after this machine's attestation key was enrolled there once
    /// (`ostiary attest enroll`).
    ///
    /// - Parameter challenge: random bytes of the server, 16 to 1024, each used once.
    /// - Throws: `errSecParam` (`NSOSStatusErrorDomain`) for a challenge of another length, `errSecItemNotFound` before the
    ///   attestation key was enrolled, and an error when the keys are in software, where nothing vouches for them.
    public func attestation(for challenge: Data) async throws -> Data {
        try await key.attestation(for: challenge)
    }
}

extension LAPrivateKey {
    fileprivate func attestation(for challenge: Data) async throws -> Data {
        try await BlockingCalls.run { [self] cancellation in
            try authorization.use {
                try $0.attestation(challenge: challenge, right: rightID, cancellation: cancellation)
            }
        }
    }
}
