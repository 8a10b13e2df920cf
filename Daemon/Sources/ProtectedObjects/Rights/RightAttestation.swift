import CanonicalCBOR
import Crypto
package import Enclave
package import Foundation
import KeySlots
import SecretMemory
package import StoreKeys

/// The data handed out about attestation keys and the keys that they attest: `Documentation/formats/attestation.md`.
package enum AttestationDocument {
    private static let version = CBORValue.number(1)

    package static func enrollment(_ endorsement: AttestationKeyEndorsement) -> Data {
        Data(
            CBORValue.map([
                "fmt": .text("ostiary-tpm-enrollment"), "ver": version, "ak": .bytes(endorsement.attestationKey),
                "akParent": .bytes(endorsement.parentName), "ek": .bytes(endorsement.endorsementKey),
                "ekCert": .bytes(endorsement.certificate),
            ]).encoded)
    }

    /// - Parameter header: ``SlotHeader/encoded``, whose digest stands in the key's public area.
    static func statement(_ evidence: KeyEvidence, header: Data) -> Data {
        let passcode = evidence.passcode
        return Data(
            CBORValue.map([
                "fmt": .text("ostiary-tpm-key"), "ver": version, "header": .bytes(header), "key": .bytes(evidence.key),
                "storageKey": .bytes(evidence.storageKeyName), "certInfo": .bytes(evidence.statement.content),
                "sig": .bytes(evidence.statement.signature), "parent": passcode.map { .bytes($0.parent) },
                "index": passcode.map { .bytes($0.index) }, "writing": passcode.map { .bytes($0.writingPolicy) },
                "indexInfo": passcode.map { .bytes($0.statement.content) },
                "indexSig": passcode.map { .bytes($0.statement.signature) },
                "approver": evidence.approver.map { .bytes($0) },
            ]).encoded)
    }

    /// The bytes that the chip signs for a challenge: its digest, so that no challenge is a digest for another purpose.
    static func digest(of challenge: Data) -> Data {
        Data(SHA256.hash(data: Data("ostiary.attestation.v1".utf8) + challenge))
    }
}

extension CBORValue {
    fileprivate static func bytes(_ data: Data) -> CBORValue { .bytes([UInt8](data)) }
}

extension OpenedRight {
    /// The chip's word on the key, for `challenge`, with the access control that the key was made for.
    package func attestation(
        for challenge: Data, by enclave: any AttestingEnclave, with attestationKey: borrowing AttestationKey
    ) throws -> Data {
        let evidence = try enclave.attest(
            key, binding: binding, challenge: AttestationDocument.digest(of: challenge),
            attestationKey: attestationKey.blob, authorization: attestationKey.authorization)
        return AttestationDocument.statement(evidence, header: header.encoded)
    }
}
