import AccessControl
import DoorSupport
import Foundation

/// A key as `age-plugin-ostiary` prints it, for programs with `--json` and for files that age reads.
package struct AgeKeyDocument: Encodable {
    let name: String
    /// `p256tag` or `mlkem768p256tag`, the type of the stanzas.
    let type: String
    let requires: String
    let enclave: String
    let recipient: String
    /// The same for age before 1.3.
    let pluginRecipient: String
    let identity: String
    /// The ids of the keys in the enclave, as hexadecimal digits.
    let keys: [String]

    package init(_ key: AgeKey) {
        name = key.name
        type = key.recipient.kind.rawValue
        let isAtPlace = key.accessControl.isAtTrustedPlace
        requires = "\(key.accessControl.keyRequirement)" + (isAtPlace ? PlacedRule.suffix : "")
        enclave = key.enclaveKind
        (recipient, pluginRecipient) = (key.recipient.text, key.recipient.pluginText)
        identity = key.identity.text
        keys = key.identity.keys.map { $0.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
    }

    /// An identity file.
    package var identityFile: String {
        """
        #      Name: \(name.onOneLine)
        #  Requires: \(requires)
        # Recipient: \(recipient)
        # Recipient for age before 1.3: \(pluginRecipient)
        \(identity)
        """
    }

    /// Lines of a recipients file.
    package func recipientLines(forOlderAge: Bool) -> String {
        """
        # \(name.onOneLine), requires \(requires)
        \(forOlderAge ? pluginRecipient : recipient)
        """
    }
}

extension String {
    /// The text without what could end a line or steer a terminal, so that no name is read as a recipient. Names come from other
    /// programs.
    fileprivate var onOneLine: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0.isShown ? $0 : "\u{FFFD}" }))
    }
}
