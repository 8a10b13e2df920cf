import Foundation
import Glibc
import PAMProtocol
import PromptProtocol
public import UnixSocket

/// Reads `ostiaryd.conf`: lines of `key = value`, empty lines, and comments that begin with `#`. Strict: an unknown or
/// malformed line is an error, and nothing falls back to a default.
public enum ConfigurationFile {
    /// Far more than all keys need.
    static let maximumByteCount = 64 * 1024

    /// The configuration in the file at `path`; nil when there is no such file. The file names the program that people
    /// type passcodes into. So it must belong to `userID` or root, and nobody else may write it.
    ///
    /// - Parameter usual: what counts where the file says nothing.
    public static func load(
        _ path: String, userID: UInt32, over usual: PromptConfiguration = PromptConfiguration()
    ) throws(ConfigurationError) -> PromptConfiguration? {
        guard let text = try text(path, userID: userID) else { return nil }
        return try parse(text, over: usual)
    }

    /// The text of a file of this form, after the checks of ``load(_:userID:)``; nil when there is no such file.
    public static func text(_ path: String, userID: UInt32) throws(ConfigurationError) -> String? {
        let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard number >= 0 else {
            if errno == ENOENT { return nil }
            throw .unreadable(SystemCallError("open", subject: path))
        }
        let file = Descriptor(owning: number)
        var status = stat()
        guard unsafe fstat(file.number, &status) == 0 else {
            throw .unreadable(SystemCallError("fstat", subject: path))
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile }
        guard status.st_uid == userID || status.st_uid == 0 else { throw .otherOwner }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else { throw .writableByOthers }
        return try contents(of: file, path)
    }

    private static func contents(of file: borrowing Descriptor, _ path: String) throws(ConfigurationError) -> String {
        var bytes = [UInt8](repeating: 0, count: maximumByteCount + 1)
        var filled = 0
        while filled < bytes.count {
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe read(file.number, $0.baseAddress! + filled, $0.count - filled)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .unreadable(SystemCallError("read", subject: path)) }
            if count == 0 { break }
            filled += count
        }
        guard filled <= maximumByteCount else { throw .tooLarge }
        guard let text = String(validating: bytes[..<filled], as: UTF8.self) else { throw .notUTF8 }
        return text
    }

    /// Reads the file's text.
    ///
    /// - Parameter usual: what counts where the text says nothing.
    public static func parse(
        _ text: String, over usual: PromptConfiguration = PromptConfiguration()
    ) throws(ConfigurationError) -> PromptConfiguration {
        var configuration = usual
        try forEachEntry(in: text) { (key, value, _) throws(ConfigurationLineError) in
            try set(key, to: value, in: &configuration)
        }
        return configuration
    }

    /// Calls `body` with each line's key, value and number, counted from 1, in order. A key may stand only once.
    public static func forEachEntry(
        in text: String, _ body: (_ key: String, _ value: String, _ line: Int) throws(ConfigurationLineError) -> Void
    ) throws(ConfigurationError) {
        var seen: Set<String> = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            do throws(ConfigurationLineError) {
                let (key, value) = try split(line)
                guard seen.insert(key).inserted else { throw .repeatedKey }
                try body(key, value, index + 1)
            } catch {
                throw .line(index + 1, error)
            }
        }
    }

    private static func split(_ line: String) throws(ConfigurationLineError) -> (key: String, value: String) {
        let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw .noKeyAndValue }
        let (key, value) = (
            parts[0].trimmingCharacters(in: .whitespaces), parts[1].trimmingCharacters(in: .whitespaces)
        )
        guard !key.isEmpty, !value.isEmpty else { throw .noKeyAndValue }
        guard value.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else { throw .badValue }
        return (key, value)
    }

    private static func set(
        _ key: String, to value: String, in configuration: inout PromptConfiguration
    ) throws(ConfigurationLineError) {
        switch key {
        case "prompt.front-ends": configuration.frontEnds = try frontEnds(value)
        case "prompt.terminal":
            guard let policy = TerminalPolicy(rawValue: value) else { throw .badValue }
            configuration.terminalPolicy = policy
        case "finger.on-terminals":
            guard let policy = TerminalPolicy(rawValue: value) else { throw .badValue }
            configuration.fingerPolicy = policy
        case "face.on-terminals":
            guard let policy = TerminalPolicy(rawValue: value) else { throw .badValue }
            configuration.facePolicy = policy
        case "face.pam-service":
            guard PAMServiceFile.isName(value) else { throw .badValue }
            configuration.faceService = value
        case "prompt.pinentry": configuration.pinentryPath = try absolutePath(value)
        case "prompt.display": configuration.display = value
        case "prompt.wayland-display": configuration.waylandDisplay = value
        case "prompt.xauthority": configuration.xAuthority = try absolutePath(value)
        case "prompt.sheet-colors":
            guard let isDark = ["light": false, "dark": true][value] else { throw .badValue }
            configuration.sheetIsDark = isDark
        case "prompt.sheet-text-percent":
            configuration.sheetTextPercent = try number(value, in: PromptConfiguration.textPercentBounds)
        case "prompt.sheet-language":
            guard let language = SheetLanguage(rawValue: value) else { throw .badValue }
            configuration.sheetLanguage = language
        case "prompt.time-limit-seconds":
            configuration.timeLimitSeconds = try number(value, in: PromptConfiguration.timeLimitBounds)
        case "users.store-mebibytes":
            configuration.storeMebibytes = try number(value, in: PromptConfiguration.storeBounds)
        case "enclave":
            guard let kind = EnclaveConfiguration.Kind(rawValue: value) else { throw .badValue }
            configuration.enclave.kind = kind
        case "tpm.tcti":
            guard EnclaveConfiguration.isTPM(value) else { throw .badValue }
            configuration.enclave.tpm = value
        case "prompt.context-seconds":
            configuration.contextSeconds = try number(value, in: PromptConfiguration.contextBounds)
        default: throw .unknownKey
        }
    }

    private static func frontEnds(_ value: String) throws(ConfigurationLineError) -> [PromptConfiguration.FrontEnd] {
        var frontEnds: [PromptConfiguration.FrontEnd] = []
        for name in value.split(separator: ",", omittingEmptySubsequences: false) {
            guard let frontEnd = PromptConfiguration.FrontEnd(rawValue: name.trimmingCharacters(in: .whitespaces)),
                !frontEnds.contains(frontEnd)
            else { throw .badValue }
            frontEnds.append(frontEnd)
        }
        return frontEnds
    }

    private static func number(_ value: String, in bounds: ClosedRange<Int>) throws(ConfigurationLineError) -> Int {
        guard let number = Int(value), bounds.contains(number) else { throw .badValue }
        return number
    }

    private static func absolutePath(_ value: String) throws(ConfigurationLineError) -> String {
        guard value.hasPrefix("/") else { throw .badValue }
        return value
    }
}

/// Why a configuration is not used. With any of these errors the daemon does not start.
public enum ConfigurationError: Error, Equatable, Sendable {
    case unreadable(SystemCallError)
    case notAFile
    /// It belongs neither to the user nor to root.
    case otherOwner
    /// Its group or everybody can write it.
    case writableByOthers
    case tooLarge
    case notUTF8
    /// The line with this number, counted from 1.
    case line(Int, ConfigurationLineError)
}

extension ConfigurationError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreadable(let error): "\(error)"
        case .notAFile: "it is not a plain file"
        case .otherOwner: "it belongs to another user"
        case .writableByOthers: "other users can write to it"
        case .tooLarge: "it is larger than \(ConfigurationFile.maximumByteCount) bytes"
        case .notUTF8: "it is not UTF-8 text"
        case .line(let number, let error): "line \(number): \(error)"
        }
    }
}

/// A mistake in one line.
public enum ConfigurationLineError: Error, Equatable, Sendable, CustomStringConvertible {
    case noKeyAndValue
    case unknownKey
    case badValue
    case repeatedKey

    public var description: String {
        switch self {
        case .noKeyAndValue: "it is not of the form key = value"
        case .unknownKey: "the key is unknown"
        case .badValue: "the value does not fit the key"
        case .repeatedKey: "the key was given before"
        }
    }
}
