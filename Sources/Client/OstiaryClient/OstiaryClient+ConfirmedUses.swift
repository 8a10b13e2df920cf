public import Cancellations
public import Foundation
import OstiaryMessages
import SecretMemory

/// Uses of a right that confirms each signature (``AccessControl/AccessControl/confirmsEachSignature``). Such a right is never
/// authorized; each call asks the person.
extension OstiaryClient {
    /// Signs once. The person sees `data`, or its size, and its digest. Blocks while the person is asked.
    ///
    /// - Parameters:
    ///   - data: a message of at most 1 MiB, or a SHA-256 digest, as `algorithm` says. Of a digest the person sees nothing else.
    ///   - algorithm: Apple's string for ECDSA with SHA-256.
    public func confirmAndSign(
        _ data: Data, right: Data, algorithm: String, interaction: Interaction, cancellation: Cancellation? = nil
    ) throws -> Data {
        let request = WireConfirmedSignRequest.with {
            ($0.rightID, $0.algorithm, $0.question) = (right, algorithm, interaction.question)
        }
        return Data(
            exposing: try call(
                .confirmedSign(request), tail: SecretBytes(sending: data), terminal: interaction.terminal,
                cancellation: cancellation
            ).takeTail())
    }

    /// The chip's statement on the key of such a right, for a challenge of 16 to 1024 bytes. Blocks while the person is asked.
    public func confirmAndAttest(
        challenge: Data, right: Data, interaction: Interaction, cancellation: Cancellation? = nil
    ) throws -> Data {
        let request = WireConfirmedAttestRequest.with { ($0.rightID, $0.question) = (right, interaction.question) }
        return Data(
            exposing: try call(
                .confirmedAttest(request), tail: SecretBytes(sending: challenge), terminal: interaction.terminal,
                cancellation: cancellation
            ).takeTail())
    }
}
