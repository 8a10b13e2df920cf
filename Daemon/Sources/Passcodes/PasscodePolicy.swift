public import SecretMemory

/// Who limits the number of guesses at a passcode, once somebody holds the files.
///
/// The module Enclave has a type of its own with the same meaning. The two modules do not know each other; the broker
/// translates.
public enum PasscodeExposure: Equatable, Sendable, CaseIterable {
    /// Nobody: an attacker who copies the files can guess offline, as with the software enclave.
    case offline
    /// A chip that counts guesses and refuses after a few.
    case limitedByHardware
}

/// Which new passcodes are accepted. It is asked when a passcode is set, never when one is entered.
public struct PasscodePolicy: Equatable, Sendable {
    /// Longest passcode in UTF-8 bytes; also the largest entry that a prompt takes.
    public static let maximumByteCount = 1024

    public let exposure: PasscodeExposure

    public init(exposure: PasscodeExposure) { self.exposure = exposure }

    /// Fewest characters (Unicode scalars): eight where guessing is offline, six where a chip counts.
    public var minimumCharacterCount: Int {
        switch exposure {
        case .offline: 8
        case .limitedByHardware: 6
        }
    }

    /// The first rule that `passcode` breaks; nil when it is accepted. Makes no copy of it.
    public func violation(of passcode: borrowing SecretBytes) -> PasscodeViolation? {
        guard passcode.count <= Self.maximumByteCount else { return .tooLong }
        guard let shape = unsafe passcode.withUnsafeBytes({ unsafe PasscodeShape(of: $0) }) else { return .notUTF8 }
        if shape.hasControlCharacter { return .controlCharacter }
        if shape.characterCount < minimumCharacterCount { return .tooShort(minimumCharacterCount) }
        if shape.isOneCharacterRepeated { return .oneCharacterRepeated }
        if shape.isSequence { return .sequence }
        if exposure == .offline, shape.isDigitsOnly { return .digitsOnly }
        return nil
    }
}

/// Why a new passcode is not accepted.
public enum PasscodeViolation: Error, Equatable, Sendable {
    /// Fewer characters than this.
    case tooShort(Int)
    case tooLong
    case notUTF8
    case controlCharacter
    case digitsOnly
    case oneCharacterRepeated
    case sequence

    /// The sentence to show to the person who chose it.
    public var sentence: String {
        switch self {
        case .tooShort(let minimum): "A passcode needs at least \(minimum) characters."
        case .tooLong: "A passcode has at most \(PasscodePolicy.maximumByteCount) bytes."
        case .notUTF8: "A passcode must be text in UTF-8."
        case .controlCharacter: "A passcode cannot hold control characters."
        case .digitsOnly: "Somebody who copies the files can guess digits alone. Use letters or words too."
        case .oneCharacterRepeated: "One repeated character is easy to guess. Use different characters."
        case .sequence: "A run along the alphabet, the digits or the keyboard is guessed early. Choose something else."
        }
    }
}
