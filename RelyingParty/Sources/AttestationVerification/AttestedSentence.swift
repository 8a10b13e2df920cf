import AccessControl
import Foundation

/// One sentence of a statement, and its source.
public struct AttestedSentence: Sendable, Equatable {
    public enum Source: String, Sendable, Codable {
        /// The chip signed it, or it follows from the chip's signature.
        case chip
        /// The chip knows nothing of it. The machine's daemon says so, and anyone who controls that machine when the key is
        /// made can let another program say the same.
        case daemon
    }

    public let source: Source
    public let text: String
}

extension RightAttestation {
    /// The verified claims and the daemon's claims, for people. The order is fixed; programs take the properties.
    public var sentences: [AttestedSentence] {
        let rule = accessControl.keyRequirement
        let chip: [String] = [
            "The key was made inside this TPM and cannot leave it.",
            "The TPM's certificate has the SHA-256 digest \(certificateDigest.map { String(format: "%02x", $0) }.joined()).",
            "The digest of this rule was fixed when the key was made: \(rule).",
            "The TPM \(accessControl.confirmsEachSignature ? "certifies" : "uses") the key only for a program that brings its "
                + "secret value of up to 32 bytes; one brought it for this statement.",
        ]
        return (chip + chipOnApproval + chipOnPasscode + chipOnItself).map { AttestedSentence(source: .chip, text: $0) }
            + daemon.map { AttestedSentence(source: .daemon, text: $0) }
    }

    private var chipOnApproval: [String] {
        guard accessControl.confirmsEachSignature else { return [] }
        return [
            "The TPM signs with the key only a digest that a second key, outside the TPM, approved before; each approval is for "
                + "one digest and one signature.",
            "The second key was fixed when the key was made. The key does nothing but sign.",
        ]
    }

    private var chipOnPasscode: [String] {
        guard let passcode else {
            return ["The TPM itself asks for no passcode before it loads this key."]
        }
        return [
            "The TPM loads the key only for a program that brings the value of an index that counts wrong values.",
            "The index takes \(passcode.limit) wrong values in a row and then none any more; now \(passcode.wrongCount) "
                + "were wrong.",
        ]
    }

    private var chipOnItself: [String] {
        [
            "At this statement the TPM had been reset \(chip.resetCount) times, and restarted \(chip.restartCount) times "
                + "since the last reset."
        ]
    }

    private var daemon: [String] {
        let rule = accessControl.keyRequirement
        var sentences = [
            "Ostiary's daemon made this key, and gives its secret value to nobody before the rule is satisfied."
        ]
        if passcode != nil {
            sentences += [
                "The value of the index comes from a passcode that a person typed.",
                "The value that lets the index be written again was thrown away when it was made.",
            ]
            if !accessControl.confirmsEachSignature {
                sentences.append("How long the key stays loaded after the passcode was typed.")
            }
        } else if rule.factors.contains(.passcode) {
            sentences.append("That a passcode was typed, where it was.")
        }
        if accessControl.confirmsEachSignature {
            sentences += [
                "The second key exists only while a proof of the rule is used, and is then wiped.",
                "Before each approval a person was shown the data, or its size, and its digest.",
            ]
        }
        if !rule.factors.isDisjoint(with: [.biometry, .biometryCurrentSet]) {
            sentences.append("That a finger or face was recognised, and whose it is.")
        }
        if rule.factors.contains(.securityKey) {
            sentences.append("That a security key took part.")
        }
        if rule.factors.contains(.applicationPassword) {
            sentences.append("That the password of the program was given.")
        }
        if rule.isUnrestricted {
            sentences.append("Nothing: the rule asks for nobody, so this key demands no person.")
        }
        return sentences
    }
}
