import AccessControl
import AttestationVerification
import Foundation

/// The verified claims, for programs.
struct Report: Encodable {
    struct Sentence: Encodable {
        let source: AttestedSentence.Source
        let text: String
    }

    let publicKey: Data
    let rule: String
    let confirmsEachSignature: Bool
    let passcodeIsRequired: Bool
    let wrongPasscodes: UInt32?
    let passcodeLimit: UInt32?
    let resetCount: UInt32
    let restartCount: UInt32
    let certificateSHA256: String
    let sentences: [Sentence]

    init(_ attestation: RightAttestation) {
        publicKey = attestation.publicKey
        rule = attestation.accessControl.keyRequirement.description
        confirmsEachSignature = attestation.accessControl.confirmsEachSignature
        passcodeIsRequired = attestation.passcode != nil
        wrongPasscodes = attestation.passcode?.wrongCount
        passcodeLimit = attestation.passcode?.limit
        resetCount = attestation.chip.resetCount
        restartCount = attestation.chip.restartCount
        certificateSHA256 = attestation.certificateDigest.map { String(format: "%02x", $0) }.joined()
        sentences = attestation.sentences.map { Sentence(source: $0.source, text: $0.text) }
    }

    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    /// For people.
    static func text(of attestation: RightAttestation) -> String {
        let sentences = attestation.sentences
        func lines(_ source: AttestedSentence.Source) -> [String] {
            sentences.filter { $0.source == source }.map { "  - \($0.text)" }
        }
        let parts = ["The TPM proves:"] + lines(.chip) + ["Only the daemon says:"] + lines(.daemon)
        return parts.joined(separator: "\n")
    }
}
