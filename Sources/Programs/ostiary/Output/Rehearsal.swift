import Foundation
import KeyAlgorithms
import OstiaryClient

/// The consequences of a loss of the enclave, step by step. They follow from the daemon's lists alone. Nothing changes.
struct Rehearsal {
    /// `software` or `tpm`.
    let enclave: String
    let rights: [ListedRight]
    let keyCount: Int
    /// The domain of each passkey.
    let passkeys: [String]
    /// The doctor's finding on the keychain items.
    let items: String
    /// Nil when the person named none.
    let recovery: RecoveryKeys?

    private var intact: [StoredRight] {
        rights.compactMap { if case .intact(let right) = $0 { right } else { nil } }
            .sorted { ($0.identifier, $0.application) < ($1.identifier, $1.application) }
    }

    var findings: [FindingDocument] {
        [loss] + intact.map(finding) + unreadable + otherKeys + passkeyFindings + [itemFinding, beginning]
    }

    private var loss: FindingDocument {
        enclave == "tpm"
            ? .notice(
                "loss",
                "The TPM is replaced or cleared, or counts ten wrong passcodes. Nothing of this store opens any more, and "
                    + "no backup helps.", "")
            : .notice(
                "loss",
                "The state folder is gone. A backup of the whole folder brings it back; without one, nothing opens "
                    + "any more.",
                "Keep a backup where nobody else reads it: anyone who has it can guess the passcode.")
    }

    private func finding(_ right: StoredRight) -> FindingDocument {
        let check = "right \(right.identifier)"
        let secret = right.hasSecret ? " Its secret is lost too." : ""
        guard let recovery else {
            return .notice(
                check, "Its key is lost.\(secret)",
                "Have a second key at each account that uses it, and name its folder with --recovery-keys.")
        }
        let own = Set(intact.map(\.publicKey))
        switch recovery.key(for: right.identifier) {
        case .found(let key) where own.contains(key):
            return .problem(
                check, "\(recovery.path(of: right.identifier)) is a key of this store, and is lost with it.\(secret)",
                "Make the second key on another machine or in a security key.")
        case .found where right.hasSecret:
            return .notice(
                check, "Its second key takes over.\(secret)",
                "Keep the secret in a second place, or be ready to replace it.")
        case .found: return .ok(check, "Its second key takes over.")
        case .absent:
            return .problem(
                check, "Its key is lost, and \(recovery.path(of: right.identifier)) does not exist.\(secret)",
                "Make a second key on another machine or in a security key, give it to the account, and put its public half "
                    + "there.")
        case .unusable:
            return .problem(
                check, "\(recovery.path(of: right.identifier)) is no public key of P-256 in PEM.\(secret)",
                "Put the public half of the second key there: `ostiary right public-key` writes one.")
        }
    }

    private var unreadable: [FindingDocument] {
        let count = rights.count - intact.count
        guard count > 0 else { return [] }
        return [.notice("rights", "\(count) rights cannot be read, and were not looked at.", "See `ostiary doctor`.")]
    }

    private var otherKeys: [FindingDocument] {
        guard keyCount > 0 else { return [] }
        return [
            .notice(
                "keys", "\(keyCount) keys that programs made are lost.",
                "`ostiary key list --all` shows them. Ask each program how it begins again.")
        ]
    }

    private var passkeyFindings: [FindingDocument] {
        passkeys.sorted().map {
            .notice(
                "passkey \($0)", "You cannot sign in with it any more.",
                "Register a second passkey or a security key at \($0), and keep its recovery codes.")
        }
    }

    private var itemFinding: FindingDocument {
        .notice(
            "items", "All keychain items are lost. Now: \(items)",
            "Keep the irreplaceable items in a second place.")
    }

    private var beginning: FindingDocument {
        .ok(
            "begin again",
            "End the daemon, move the state folder away, and run `ostiary passcode set`. Then make rights with `ostiary right "
                + "create`, sign in to each account with the second key, and give it the new public key.")
    }
}

/// The public halves of second keys, in a folder: NAME.pem for the right NAME.
struct RecoveryKeys {
    let folder: String

    enum Lookup: Equatable {
        /// The X9.63 point.
        case found(Data)
        case absent
        case unusable
    }

    /// A name that no file can have, or that leads out of the folder, finds nothing.
    func key(for name: String) -> Lookup {
        guard !name.contains("/"), !name.contains("\0") else { return .absent }
        guard FileManager.default.fileExists(atPath: path(of: name)) else { return .absent }
        guard let file = InputFile(argument: path(of: name)), let text = try? file.data(limit: Self.byteLimit) else {
            return .unusable
        }
        return Self.point(ofPEM: String(decoding: text, as: UTF8.self)).map(Lookup.found) ?? .unusable
    }

    /// A PEM of P-256 has 178 bytes.
    private static let byteLimit = 4096

    func path(of name: String) -> String { "\(folder)/\(name).pem" }

    /// The point of a key in PEM; nil for anything but the PEM that this command writes for the same key.
    static func point(ofPEM text: String) -> Data? {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }.filter {
            !$0.isEmpty
        }
        guard lines.count > 2, let der = Data(base64Encoded: lines.dropFirst().dropLast().joined()),
            let key = try? P256PublicKey(x963: Data(der.suffix(65)))
        else { return nil }
        let own = key.pem.split(whereSeparator: \.isNewline).map(String.init)
        guard own.dropFirst().dropLast().joined() == lines.dropFirst().dropLast().joined(), lines.first == own.first,
            lines.last == own.last
        else { return nil }
        return key.x963
    }
}

extension FindingDocument {
    fileprivate static func ok(_ check: String, _ message: String) -> FindingDocument {
        FindingDocument(check: check, verdict: .ok, message: message, advice: "")
    }

    fileprivate static func notice(_ check: String, _ message: String, _ advice: String) -> FindingDocument {
        FindingDocument(check: check, verdict: .notice, message: message, advice: advice)
    }

    fileprivate static func problem(_ check: String, _ message: String, _ advice: String) -> FindingDocument {
        FindingDocument(check: check, verdict: .problem, message: message, advice: advice)
    }
}
