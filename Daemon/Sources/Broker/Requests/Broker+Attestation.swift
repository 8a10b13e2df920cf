import AccessControl
import Auditing
import Authenticators
import Callers
import Enclave
import ExactNames
import Foundation
import Opening
import OstiaryMessages
import Owners
import ProtectedObjects
import Refusals
import SecretMemory
import Sessions
import StoreKeys

/// Attestation of keys by their chip.
extension Broker {
    /// Makes the store's attestation key if there is none, and hands out the data for its enrolment. The endorsement certificate
    /// names this machine wherever it is shown, so the owner is asked.
    func enrollAttestation(_ body: WireEnrollAttestationRequest, _ exchange: Exchange) throws -> Reply {
        let enclave = try attestingEnclave()
        let asking = try exchange.asking(body.question)
        let event = exchange.event()
        try askOwner(
            "show the certificate of this machine's TPM to a program", exchange.caller.application.text, asking,
            exchange,
            for: event)
        try exchange.verifyCaller()
        let enrollment = try exchange.account.changing.withLock {
            try asking.cancellation.check()
            try exchange.trail.change(event)
            let key = try makeAttestationKey(in: enclave)
            return AttestationDocument.enrollment(try enclave.endorsement(ofAttestationKey: key.blob))
        }
        exchange.trail.note(event)
        return .payload(SecretBytes(enrollment))
    }

    func activateAttestation(_ exchange: Exchange) throws -> Reply {
        let enclave = try attestingEnclave()
        let key = try attestationKey()
        let secret: SecretBytes
        do {
            secret = try enclave.secret(
                in: Data(exposing: exchange.request.tail), forAttestationKey: key.blob, authorization: key.authorization
            )
        } catch EnclaveError.unreadable {
            throw Refusal(
                .invalidParameter,
                "The file is no credential for this TPM and its attestation key. Ask for another one with the output of "
                    + "`ostiary attest enroll`.", cause: "attestation.credential")
        }
        try exchange.verifyCaller()
        try exchange.trail.change(exchange.event())
        return .payload(secret)
    }

    func attest(_ body: WireAttestRequest, _ exchange: Exchange) throws -> Reply {
        try use(
            body.contextID, body.rightID, .sign, exchange, recordedAs: exchange.event(), isForSSHKeys: true,
            attestation(answering: exchange.request)
        )
    }

    /// Makes the statement on an opened right for the challenge that a request brings.
    func attestation(answering request: IncomingRequest) throws -> (OpenedRight) throws -> SecretBytes {
        guard AttestationLimits.challengeByteCounts.contains(request.tail.count) else {
            let counts = AttestationLimits.challengeByteCounts
            throw Refusal(
                .invalidParameter, "A challenge has \(counts.lowerBound) to \(counts.upperBound) bytes.",
                cause: "attestation.challenge")
        }
        let enclave = try attestingEnclave()
        let signer = SharedAttestationKey(try attestationKey())
        let challenge = Data(exposing: request.tail)
        return { right in SecretBytes(try right.attestation(for: challenge, by: enclave, with: signer.key)) }
    }

    private final class SharedAttestationKey {
        let key: AttestationKey
        init(_ key: consuming AttestationKey) { self.key = key }
    }

    // MARK: the key

    private func attestingEnclave() throws(Refusal) -> any AttestingEnclave {
        // The key is the machine's: each user could use another user's enrolment.
        guard configuration.serves.sole != nil else {
            throw Refusal(
                .operationNotPermitted,
                "This daemon serves several users, and none of them can enrol or use the machine's key.",
                cause: "attestation.of-machine")
        }
        guard let enclave = enclave as? any AttestingEnclave else {
            throw Refusal(
                .unsupportedAlgorithm,
                "The keys of this store are in software, and nothing vouches for software. Only keys in a TPM are attested.",
                cause: "attestation.software")
        }
        return enclave
    }

    private func attestationKey() throws -> AttestationKey {
        do {
            if let key = try attestationKeys.read() { return key }
        } catch { throw Self.refusal(for: error) }
        throw Refusal(
            .notFound, "This store has no attestation key yet. Make and enrol one with `ostiary attest enroll`.",
            cause: "attestation.not-enrolled")
    }

    private func makeAttestationKey(in enclave: any AttestingEnclave) throws -> AttestationKey {
        do {
            if let key = try attestationKeys.read() { return key }
            let value = KeyAuthorization.derived(from: SecretBytes(random: KeyAuthorization.byteCount))
            let blob = try enclave.makeAttestationKey(authorization: value)
            try attestationKeys.create(AttestationKey(authorization: value, blob: blob))
        } catch let error as StoreKeysFileError { throw Self.refusal(for: error) }
        return try attestationKey()
    }

    private static func refusal(for error: StoreKeysFileError) -> Refusal {
        let name = AttestationKeyFile.name
        return switch error {
        case .unusable(let defect):
            Refusal(
                .storeUnreadable,
                "The file \(name) in the state folder cannot be used: \(defect.words). Move it away and enrol again.",
                cause: "attestation.key-file")
        case .notWritten(let code):
            Refusal(
                .internal,
                "The file \(name) could not be made in the state folder (errno \(code)). Free space and try again.",
                cause: "attestation.key-file")
        case .missing, .enclave:
            Refusal(.internal, "The file \(name) could not be used.", cause: "attestation.key-file")
        }
    }
}
