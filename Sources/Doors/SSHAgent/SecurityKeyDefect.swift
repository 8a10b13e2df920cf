import SSHFormats
import SSHKeyFiles

/// Why this agent cannot sign with a security key that a program gives it.
enum SecurityKeyDefect: Equatable {
    /// Ostiary speaks to security keys, and this agent runs without it.
    case nobodyToAsk
    /// Its library would be loaded.
    case library
    /// The credential was made for something else than SSH.
    case relyingParty

    /// Nil for a key that the agent takes.
    init?(_ addition: KeyAddition, isAskingOstiary: Bool) {
        // `internal` is OpenSSH's word for its own way to security keys.
        if let provider = addition.constraints.securityKeyProvider, provider != "internal" {
            self = .library
        } else if !addition.key.key.publicKey.isCredentialForSSH {
            self = .relyingParty
        } else if !isAskingOstiary {
            self = .nobodyToAsk
        } else {
            return nil
        }
    }
}

extension SecurityKeyDefect: CustomStringConvertible {
    var description: String {
        switch self {
        case .nobodyToAsk: "Ostiary speaks to security keys, and this agent asks nobody (--no-store)"
        case .library: "this agent loads no libraries"
        case .relyingParty: "its application does not begin with ssh:, so it may be a website's"
        }
    }
}

extension KeyAdditionConstraints {
    /// Whether the key may be used by everybody, for ever.
    var areNone: Bool { lifetime == nil && !confirms && destinations.isEmpty }
}
