public import Foundation

/// How a question is put.
public enum PromptFrontEnd: Codable, Equatable, Sendable {
    /// Drawn on the passed terminal by the prompt itself.
    case terminal
    /// Asked by a pinentry program.
    case pinentry(PinentryOptions)
    /// Drawn in a window by `ostiary-sheet`.
    case sheet(SheetOptions)
    /// Drawn on a console of Ostiary's own. No other request holds a sign.
    case trustedPlace(TrustedPlaceOptions)
}

/// What the trusted place shows beside the question, and what no other place shows.
public struct TrustedPlaceOptions: Codable, Equatable, Sendable {
    /// The user who is asked.
    public let owner: DisplayText
    /// The words by which the user knows the place; nil when none are set.
    public let sign: DisplayText?

    public init(owner: DisplayText, sign: DisplayText?) { (self.owner, self.sign) = (owner, sign) }
}

/// How a sheet is drawn. The display comes from the configuration or from the user's session, never from a caller.
public struct SheetOptions: Codable, Equatable, Sendable {
    public enum Display: Codable, Equatable, Sendable {
        /// On the connected socket ``PromptDescriptor/display``.
        case wayland
        /// On an X display, with the cookies in the file `authority`.
        case x11(name: String, authority: String?)
    }

    public let display: Display
    /// Light letters on a dark ground.
    public let isDark: Bool
    /// Size of the letters, 100 for the usual one.
    public let textPercent: Int
    /// The D-Bus address over which a screen reader reads the sheet; nil for none.
    public let accessibilityBus: String?
    public let language: SheetLanguage

    public init(
        display: Display, isDark: Bool, textPercent: Int, accessibilityBus: String? = nil,
        language: SheetLanguage = .english
    ) {
        (self.display, self.isDark, self.textPercent) = (display, isDark, textPercent)
        (self.accessibilityBus, self.language) = (accessibilityBus, language)
    }
}

/// How pinentry is started. All of it comes from configuration or from checks of the daemon, nothing from an environment.
public struct PinentryOptions: Codable, Equatable, Sendable {
    /// Absolute path of the program.
    public let program: String
    /// The caller's terminal, such as `/dev/pts/3`; nil for a dialog without one.
    public let terminalPath: String?
    /// Its terminfo name.
    public let terminalType: TerminalType
    /// Values for DISPLAY, WAYLAND_DISPLAY and XAUTHORITY.
    public let display: String?
    public let waylandDisplay: String?
    public let xAuthority: String?

    public init(
        program: String, terminalPath: String?, terminalType: TerminalType, display: String?, waylandDisplay: String?,
        xAuthority: String?
    ) {
        self.program = program
        self.terminalPath = terminalPath
        self.terminalType = terminalType
        self.display = display
        self.waylandDisplay = waylandDisplay
        self.xAuthority = xAuthority
    }
}

/// A name of a terminfo entry. A caller says it, and libraries build file names from it.
public struct TerminalType: Codable, Equatable, Sendable {
    public let name: String

    /// The lowest common terminal, which every terminfo collection has.
    public static let vt100 = TerminalType(unchecked: "vt100")

    /// nil unless `name` is 1 to 64 ASCII letters, digits, `+`, `-`, `.` and `_`, not beginning with a dot.
    public init?(_ name: String) {
        let isAllowed = name.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "+-._".utf8.contains(byte)
        }
        guard isAllowed, (1...64).contains(name.utf8.count), !name.hasPrefix(".") else { return nil }
        self.init(unchecked: name)
    }

    private init(unchecked name: String) { self.name = name }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let type = TerminalType(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a terminal type")
        }
        self = type
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }
}

/// The request that `ostiary-prompt` gets from the daemon, once, at its start. It holds no secret.
public struct PromptRequest: Codable, Equatable, Sendable {
    public private(set) var question: PromptQuestion
    /// The asking program as the daemon identified it.
    public let program: DisplayText
    /// The application id of a registered program: a name without blanks, slashes and anything but ASCII.
    public let application: DisplayText?
    /// How far the program's name can be trusted; nil where nothing is said of that.
    public let label: ProgramLabel?
    /// The program that asks for the asking one; nil when that asks itself.
    public let door: DisplayText?
    /// The door's name for the program, unchecked; nil when the door gives none.
    public let clientLabel: DisplayText?
    public let processID: Int32
    public let frontEnd: PromptFrontEnd
    public let timeLimitSeconds: Int

    public init(
        question: PromptQuestion, program: DisplayText, application: DisplayText? = nil, label: ProgramLabel? = nil,
        door: DisplayText? = nil,
        clientLabel: DisplayText? = nil, processID: Int32,
        frontEnd: PromptFrontEnd, timeLimitSeconds: Int
    ) {
        self.question = question
        self.program = program
        self.application = application
        self.label = label
        self.door = door
        self.clientLabel = clientLabel
        self.processID = processID
        self.frontEnd = frontEnd
        self.timeLimitSeconds = timeLimitSeconds
    }

    /// The request with its question put again. All else stays: the person sees the same program, and the same door before it.
    public func putting(_ question: PromptQuestion) -> PromptRequest {
        var request = self
        request.question = question
        return request
    }

    /// Largest encoded request. It must fit into a pipe (64 KiB), so that writing it never waits for the reader.
    public static let maximumByteCount = 32 * 1024

    /// Four bytes of length, big-endian, and that many bytes of JSON.
    public func encoded() throws -> Data {
        let body = try JSONEncoder().encode(self)
        guard body.count <= Self.maximumByteCount else { throw PromptRequestError.tooLarge }
        let header = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: body.count >> $0) }
        return Data(header) + body
    }

    /// Reads exactly one request: length, JSON and nothing behind.
    public init(decoding bytes: Data) throws(PromptRequestError) {
        let bytes = Data(bytes)
        guard bytes.count >= 4 else { throw .truncated }
        let count = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard count <= Self.maximumByteCount else { throw .tooLarge }
        guard bytes.count - 4 == count else { throw .truncated }
        do { self = try JSONDecoder().decode(Self.self, from: bytes.dropFirst(4)) } catch { throw .malformed }
    }
}

/// Why bytes are not a request.
public enum PromptRequestError: Error, Equatable, Sendable {
    case truncated
    case tooLarge
    case malformed
}
