import Foundation
import SecretMemory

/// Finds the recipient of an identity to which age encrypts. Asks nobody.
protocol RecipientSource {
    func recipient(of identity: AgeIdentity) throws -> AgeRecipient
}

/// Encryption: the plugin's side of `recipient-v1` (C2SP age-plugin). Public keys encrypt, so nobody is asked.
struct RecipientSession: ~Copyable {
    private var conversation: PluginConversation
    private let source: any RecipientSource
    private var recipients: [String] = []
    private var identities: [String] = []
    private var fileKeys: [HeldSecret] = []
    private var takesLabels = false

    /// Carries out one session. It ends without a stanza where one recipient cannot be encrypted to, and age hears why.
    static func run(_ stream: some StanzaStream, _ source: some RecipientSource) throws {
        var session = RecipientSession(stream, source)
        try session.read()
        try session.answer()
    }

    private init(_ stream: some StanzaStream, _ source: some RecipientSource) {
        conversation = PluginConversation(stream)
        self.source = source
    }

    // MARK: what age says

    private mutating func read() throws {
        var (recipients, identities, fileKeys, takesLabels) = ([String](), [String](), [HeldSecret](), false)
        try conversation.readCommands { command in
            switch command.type {
            case "add-recipient": recipients.append(try command.soleArgument())
            case "add-identity": identities.append(try command.soleArgument())
            case "wrap-file-key": fileKeys.append(try command.fileKey())
            case "extension-labels":
                try command.requireForm(argumentCount: 0)
                takesLabels = true
            default: break
            }
        }
        (self.recipients, self.identities) = (recipients, identities)
        (self.fileKeys, self.takesLabels) = (fileKeys, takesLabels)
    }

    // MARK: what the plugin says

    private mutating func answer() throws {
        var faults: [Fault] = []
        let parsed = parsedRecipients(&faults) + parsedIdentities(&faults)
        if faults.isEmpty, let fault = mixture(of: parsed) { faults.append(fault) }
        guard faults.isEmpty else {
            for fault in faults { try conversation.say(error: fault.place, fault.explanation) }
            return try conversation.end()
        }
        try wrap(parsed)
    }

    private struct Fault {
        let place: [String]
        let explanation: String
    }

    private func parsedRecipients(_ faults: inout [Fault]) -> [AgeRecipient] {
        var parsed: [AgeRecipient] = []
        for (index, text) in recipients.enumerated() {
            do { parsed.append(try AgeRecipient(text)) } catch {
                faults.append(
                    Fault(place: ["recipient", "\(index)"], explanation: AgeRecipient.explanation(of: error)))
            }
        }
        return parsed
    }

    private func parsedIdentities(_ faults: inout [Fault]) -> [AgeRecipient] {
        var parsed: [AgeRecipient] = []
        for (index, text) in identities.enumerated() {
            let explanation: String
            do {
                parsed.append(try source.recipient(of: AgeIdentity(text)))
                continue
            } catch let error as AgeTextError {
                explanation = AgeIdentity.explanation(of: error, "encrypted")
            } catch { explanation = "\(error)" }
            faults.append(Fault(place: ["identity", "\(index)"], explanation: explanation))
        }
        return parsed
    }

    /// A file that anybody can open who breaks P-256 gains nothing from a hybrid recipient beside.
    private func mixture(of all: [AgeRecipient]) -> Fault? {
        guard let first = all.first, let index = all.firstIndex(where: { $0.labels != first.labels }) else {
            return nil
        }
        let place =
            index < recipients.count ? ["recipient", "\(index)"] : ["identity", "\(index - recipients.count)"]
        return Fault(
            place: place,
            explanation:
                "A post-quantum recipient stands beside one that is none, and the file would be as weak as that. "
                + "Nothing was encrypted; leave one of them out.")
    }

    private mutating func wrap(_ all: [AgeRecipient]) throws {
        let stanzas = try fileKeys.map { fileKey in try all.map { try $0.wrap(fileKey.bytes) } }
        if takesLabels { try conversation.say(["labels"] + (all.first?.labels ?? [])) }
        for (index, stanzas) in stanzas.enumerated() {
            for stanza in stanzas {
                try conversation.say(
                    ["recipient-stanza", "\(index)"] + stanza.words, SecretBytes(copying: stanza.ciphertext))
            }
        }
        try conversation.end()
    }
}

extension AgeRecipient {
    /// What a person hears of a text that is no recipient.
    fileprivate static func explanation(of error: AgeTextError) -> String {
        "The recipient is none of Ostiary's: \(error.explanation). Nothing was encrypted; `age-plugin-ostiary --list` shows "
            + "yours."
    }
}

extension AgeIdentity {
    /// What a person hears of a text that is no identity.
    static func explanation(of error: AgeTextError, _ verb: String) -> String {
        "The identity is none of Ostiary's: \(error.explanation). Nothing was \(verb); `age-plugin-ostiary --identity` shows "
            + "yours."
    }
}

extension Stanza {
    fileprivate borrowing func soleArgument() throws -> String {
        try requireForm(argumentCount: 1)
        return words[1]
    }

    fileprivate borrowing func fileKey() throws -> HeldSecret {
        guard arguments.isEmpty, body.count == TaggedStanza.fileKeyByteCount else {
            throw ConversationError.message(type: type)
        }
        return HeldSecret(SecretBytes(copying: body))
    }
}
