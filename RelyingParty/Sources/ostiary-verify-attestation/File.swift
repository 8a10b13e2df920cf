import AttestationVerification
import Foundation
import SwiftASN1

/// Files of the command line.
enum File {
    /// Every file that is read here is smaller.
    private static let byteCount = 64 * 1024

    static func read(_ path: String) throws -> Data {
        guard let handle = FileHandle(forReadingAtPath: path) else { throw FileError.unreadable(path) }
        guard let bytes = try handle.read(upToCount: byteCount + 1) else { return Data() }
        guard bytes.count <= byteCount else { throw FileError.tooLarge(path) }
        return bytes
    }

    /// The certificates of a file, in DER.
    static func certificates(_ path: String) throws -> [Data] {
        let text = String(decoding: try read(path), as: UTF8.self)
        do {
            let documents = try PEMDocument.parseMultiple(pemString: text)
            guard !documents.isEmpty else { throw FileError.noCertificate(path) }
            return documents.map { Data($0.derBytes) }
        } catch {
            throw FileError.noCertificate(path)
        }
    }

    /// For its owner alone: anyone who can write the file decides about trust.
    static func write(_ bytes: Data, to path: String) throws {
        do {
            try bytes.write(to: URL(fileURLWithPath: path), options: .atomic)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        } catch {
            throw FileError.unwritable(path)
        }
    }
}

enum FileError: Error, Equatable {
    case unreadable(String)
    case tooLarge(String)
    case noCertificate(String)
    case unwritable(String)
}

extension Error {
    /// The error and the next step.
    var words: String {
        switch self as any Error {
        case FileError.unreadable(let path): "Error: \(path) cannot be read."
        case FileError.tooLarge(let path): "Error: \(path) is too large."
        case FileError.noCertificate(let path): "Error: \(path) holds no certificate in PEM."
        case FileError.unwritable(let path): "Error: \(path) cannot be written."
        case let error as RightAttestationError: "Refused: \(error.words)"
        default: "\(self)"
        }
    }
}

extension RightAttestationError {
    fileprivate var words: String {
        switch self {
        case .unreadable(let document), .structure(let document, _):
            "the file is no intact \(document.name) of Ostiary."
        case .version(let document): "the \(document.name) has another version; upgrade this program."
        case .anchorUnreadable(let index): "certificate \(index + 1) cannot be read."
        case .endorsementCertificate: "the TPM's certificate is none for an endorsement key."
        case .untrusted:
            "no chain leads from the TPM's certificate to one of the anchors. Name its maker's certificates."
        case .endorsementKey: "the endorsement key is not that of the TPM's certificate."
        case .attestationKey: "the attestation key could sign something that the TPM does not say."
        case .wrongSecret: "this is not the secret that was encrypted for the TPM."
        case .signature: "the statement is not signed by the known attestation key of the TPM."
        case .signer: "the attestation key lies elsewhere in the TPM than when it was enrolled."
        case .challenge: "the statement answers another challenge."
        case .subject: "the TPM speaks of something else than the statement shows."
        case .challengeByteCount(let count):
            "the challenge has \(count) bytes; 16 to 1024 are needed, so that nobody guesses it."
        case .otherKey: "the statement is about another key than the expected one."
        case .key: "the key is not bound to the TPM, or was not made in it."
        case .approver:
            "the rule confirms each signature, and the statement does not show the key that approves them; or the reverse."
        case .accessControl: "the rule is not the one that was fixed when the key was made."
        case .parent: "the key lies elsewhere in the TPM than the statement shows."
        case .passcodeParent: "the rule needs the passcode, and the TPM does not ask for it; or the reverse."
        case .index: "the TPM does not count wrong passcodes for this key as it must."
        case .restarted: "the TPM was restarted during the statement. Ask for another one."
        }
    }
}

extension AttestationDocument {
    fileprivate var name: String {
        switch self {
        case .enrollment: "enrolment"
        case .pendingKey: "pending key"
        case .knownKey: "known key"
        case .statement: "statement"
        }
    }
}
