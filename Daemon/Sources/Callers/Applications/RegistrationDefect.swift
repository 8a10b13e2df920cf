import ExactNames
import UnixSocket

/// A rule of registrations that is broken. Its description says which one and what to do, and repeats no name: what a caller
/// sends goes into no message.
package enum RegistrationDefect: Error, Equatable, Sendable, CustomStringConvertible {
    case name(RegistrationPart, NameDefect)
    /// The group with this number was named before.
    case repeatedGroup(Int)
    case tooManyGroups
    case relativePath
    /// The relying party with this number is no domain.
    case webCredential(Int)
    /// The relying party with this number was named before.
    case repeatedWebCredential(Int)
    case tooManyWebCredentials

    package var description: String {
        switch self {
        case .name(let part, let defect): "\(part) \(defect)"
        case .repeatedGroup(let number): "Access group \(number) is named twice; name each group once."
        case .tooManyGroups: "There are more than \(Registration.groupCount) access groups; name fewer."
        case .relativePath: "The path does not begin with /; give the whole path."
        case .webCredential(let number):
            "Domain \(number) for credentials is no domain; write it in lower case and ASCII, such as example.com."
        case .repeatedWebCredential(let number):
            "Domain \(number) for credentials is named twice; name each domain once."
        case .tooManyWebCredentials:
            "There are more than \(Registration.webCredentialCount) domains for credentials; name fewer."
        }
    }
}

/// A part of a registration that is a name.
package enum RegistrationPart: Equatable, Sendable, CustomStringConvertible {
    case applicationID
    /// Counted from 1.
    case group(Int)

    package var description: String {
        switch self {
        case .applicationID: "The application id"
        case .group(let number): "Access group \(number)"
        }
    }
}

/// Why a text cannot name an application or group. A name has 1 to 128 letters, digits, `.`, `-` and `_` of ASCII, the
/// first one a letter or digit. So no name is a path or "unknown program". Names that begin with `com.apple.` are
/// reserved for Apple's own groups, such as `com.apple.token`.
package enum NameDefect: Equatable, Sendable, CustomStringConvertible {
    case empty, tooLong, firstCharacter, character, reserved

    package init?(_ text: String) {
        guard let first = text.utf8.first else {
            self = .empty
            return
        }
        let marks = [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_")]
        if text.utf8.count > Self.byteCount {
            self = .tooLong
        } else if !text.utf8.allSatisfy({ Self.isAlphanumeric($0) || marks.contains($0) }) {
            self = .character
        } else if !Self.isAlphanumeric(first) {
            self = .firstCharacter
        } else if text.hasPrefix("com.apple.") {
            self = .reserved
        } else {
            return nil
        }
    }

    private static let byteCount = 128

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    package var description: String {
        switch self {
        case .empty: "is empty; give it a name."
        case .tooLong: "is longer than \(Self.byteCount) characters; choose a shorter name."
        case .firstCharacter: "begins with neither a letter nor a digit; choose a name that begins with one."
        case .character:
            "has a character that is none of letters, digits, '.', '-' and '_'; choose a name without it."
        case .reserved: "begins with com.apple., and such names are Apple's; choose one of your own."
        }
    }
}

extension Registration {
    /// The first rule that is broken; nil when names, groups and path are as they must be.
    package var defect: RegistrationDefect? {
        if let defect = NameDefect(applicationID.text) { return .name(.applicationID, defect) }
        guard PathName.isAbsolute(path.text) else { return .relativePath }
        return Self.defect(of: groups) ?? Self.defect(ofWebCredentials: webCredentials)
    }

    /// The same of the relying parties alone.
    static func defect(ofWebCredentials domains: [ExactName]) -> RegistrationDefect? {
        guard domains.count <= webCredentialCount else { return .tooManyWebCredentials }
        var seen: Set<ExactName> = []
        for (index, domain) in domains.enumerated() {
            guard RelyingPartyIdentifier(domain.text) != nil else { return .webCredential(index + 1) }
            guard seen.insert(domain).inserted else { return .repeatedWebCredential(index + 1) }
        }
        return nil
    }

    /// The same of the groups alone.
    static func defect(of groups: [ExactName]) -> RegistrationDefect? {
        guard groups.count <= groupCount else { return .tooManyGroups }
        var seen: Set<ExactName> = []
        for (index, group) in groups.enumerated() {
            if let defect = NameDefect(group.text) { return .name(.group(index + 1), defect) }
            guard seen.insert(group).inserted else { return .repeatedGroup(index + 1) }
        }
        return nil
    }
}
