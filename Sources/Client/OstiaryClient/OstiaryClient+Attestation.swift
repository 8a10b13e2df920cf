public import Foundation
import OstiaryMessages
public import SecretMemory

extension OstiaryClient {
    /// The data with which a server enrols the attestation key of this machine's store. Makes the key when there is none. The
    /// owner is asked, because the certificate of the chip names the machine.
    ///
    /// Throws `unsupportedAlgorithm` for a store in software, `notFound` for a chip without a certificate.
    public func attestationEnrollment(interaction: Interaction) throws -> Data {
        let request = WireEnrollAttestationRequest.with { $0.question = interaction.question }
        return Data(exposing: try call(.enrollAttestation(request), terminal: interaction.terminal).takeTail())
    }

    /// The secret in a credential that a server made for the chip and its attestation key. Asks nobody.
    ///
    /// Throws `invalidParameter` for anything else, `notFound` before there is an attestation key.
    public func secret(inAttestationCredential credential: Data) throws -> SecretBytes {
        let request = WireActivateAttestationRequest()
        return try call(.activateAttestation(request), tail: SecretBytes(sending: credential)).takeTail()
    }
}
