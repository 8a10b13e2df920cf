public import Foundation

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
