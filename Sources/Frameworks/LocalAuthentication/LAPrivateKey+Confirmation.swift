public import Foundation
import KeyAlgorithms
import OstiaryClient
public import Security

/// Uses of rights that confirm each signature (``LARight/confirmsEachSignature``). Extensions.
extension LAPrivateKey {
    /// Asks the person for one signature, and signs. The question shows `data`, if it is short text, or else its size, and its
    /// SHA-256 digest in any case. The right is not authorized for it.
    ///
    /// - Parameters:
    ///   - data: a message of at most 1 MiB, or a digest, as `algorithm` says. Of a digest the person sees nothing else.
    ///   - algorithm: ECDSA with SHA-256.
    ///   - localizedReason: why the program asks; shown in the question.
    /// - Throws: an ``LAError`` when the person does not agree, `errSecParam` (`NSOSStatusErrorDomain`) for another algorithm or
    ///   length, or for a right that does not confirm each signature.
    public func sign(_ data: Data, algorithm: SecKeyAlgorithm, localizedReason: String) async throws -> Data {
        guard !localizedReason.isEmpty else { throw ErrorTranslation.emptyReason }
        return try await BlockingCalls.run { [self] cancellation in
            try authorization.service.confirmAndSign(
                data, right: rightID, algorithm: algorithm.known().rawValue,
                interaction: Interaction(reason: localizedReason), cancellation: cancellation)
        }
    }

    fileprivate func attestation(for challenge: Data, reason: String) async throws -> Data {
        guard !reason.isEmpty else { throw ErrorTranslation.emptyReason }
        return try await BlockingCalls.run { [self] cancellation in
            try authorization.service.confirmAndAttest(
                challenge: challenge, right: rightID, interaction: Interaction(reason: reason),
                cancellation: cancellation)
        }
    }
}

extension LAPersistedRight {
    /// As ``attestation(for:)``, for a right that confirms each signature. Asks the person.
    public func attestation(for challenge: Data, localizedReason: String) async throws -> Data {
        try await key.attestation(for: challenge, reason: localizedReason)
    }
}
