import Authenticators
import CanonicalEncoding
import SecretMemory

/// What the daemon says to `pam_ostiary.so`: `Documentation/formats/sign-in.md`.
enum SignInAnswer: Equatable, Sendable {
    case hello
    case wait
    case info(String)
    case ask(String)
    case error(String)
    case ok
    case no
    case unavailable(SignInObstacle)
    case done(SignInResult)

    /// The bytes of the message.
    var bytes: [UInt8] {
        var writer = CanonicalWriter(capacity: 64)
        writer.write(fixed: ModuleMessage.head)
        writer.write(kind)
        switch self {
        case .info(let text), .ask(let text), .error(let text):
            writer.write(Self.shown(text), length: UInt16.self)
        case .unavailable(let obstacle): writer.write(obstacle.rawValue)
        case .done(let result): writer.write(result.rawValue)
        case .hello, .wait, .ok, .no: break
        }
        return writer.takeBytes()
    }

    private var kind: UInt8 {
        switch self {
        case .hello: 0x01
        case .wait: 0x02
        case .info: 0x03
        case .ask: 0x04
        case .error: 0x05
        case .ok: 0x06
        case .no: 0x07
        case .unavailable: 0x08
        case .done: 0x09
        }
    }

    /// The text without the bytes that a module takes from nobody, as long as it may be.
    private static func shown(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        for scalar in text.unicodeScalars where scalar.value >= 0x20 && scalar.value != 0x7F {
            let more = Array(String(scalar).utf8)
            guard bytes.count + more.count <= SignInLimits.textByteCount else { break }
            bytes += more
        }
        return bytes
    }
}

/// Why the daemon cannot say who it is. The number is for the log of the machine alone.
enum SignInObstacle: UInt8, Equatable, Sendable {
    /// The user is unknown, or the caller may not ask about them. Both are one number, so that it tells nobody which users there are.
    case nobody = 1
    /// Nothing can be proved now: no passcode is set, no sensor may be used, nobody may be asked.
    case nothingToProve = 2
    /// The person was asked and gave no answer.
    case noAnswer = 3
    /// Wrong tries have brought a pause.
    case pause = 4
    /// The daemon failed, ends, or is asked too much.
    case fault = 5
}

/// What came of an `open`, `change` or `reset`.
enum SignInResult: UInt8, Equatable, Sendable {
    case done = 0
    case notBound = 1
    case wrong = 2
    case unavailable = 3
}

/// What a module says.
enum ModuleMessage: Sendable {
    case authenticate(SignInQuery)
    case typed(Credential)
    case cancelled
    case open(user: String, service: SignInService, secret: Credential)
    case change(user: String, old: Credential, new: Credential)
    case reset(user: String)

    static let head: [UInt8] = [0x4F, 0x50, 0x01]

    /// Reads a message strictly: every byte is accounted for.
    ///
    /// - Parameters:
    ///   - bytes: hold the message at their beginning.
    ///   - count: how many bytes the message has.
    init(_ bytes: borrowing SecretBytes, count: Int) throws(CanonicalEncodingError) {
        guard count <= min(bytes.count, SignInLimits.messageByteCount) else { throw .trailingBytes }
        self = try unsafe bytes.withUnsafeBytes { whole throws(CanonicalEncodingError) in
            var reader = unsafe BorrowedCanonicalReader(UnsafeRawBufferPointer(rebasing: whole[..<count]))
            let message = try ModuleMessage(&reader)
            try reader.finish()
            return message
        }
    }

    private init(_ reader: inout BorrowedCanonicalReader) throws(CanonicalEncodingError) {
        for byte in Self.head {
            guard try reader.read(UInt8.self) == byte else { throw .unknownChoice }
        }
        switch try reader.read(UInt8.self) {
        case 0x10: self = .authenticate(try SignInQuery(&reader))
        case 0x11: self = .typed(try reader.readSecret())
        case 0x12: self = .cancelled
        case 0x20:
            self = .open(
                user: try reader.readName(), service: SignInService(try reader.readPlainText()),
                secret: try reader.readSecret())
        case 0x30:
            self = .change(
                user: try reader.readName(), old: try reader.readSecret(), new: try reader.readSecret())
        case 0x31: self = .reset(user: try reader.readName())
        default: throw .unknownChoice
        }
    }
}

/// A question about a user. All names are claims of the program.
struct SignInQuery: Equatable, Sendable {
    let user: String
    let service: SignInService
    /// Whether the program says that the person is at another machine.
    let isRemote: Bool
    /// Whether the program shows no text but questions.
    let isSilent: Bool
    /// Whether the person's terminal comes along.
    let hasTerminal: Bool
    /// Whether the program's conversation may be used.
    let mayAsk: Bool

    fileprivate init(_ reader: inout BorrowedCanonicalReader) throws(CanonicalEncodingError) {
        user = try reader.readName()
        service = SignInService(try reader.readPlainText())
        isRemote = try !reader.readPlainText().isEmpty
        // The kernel names the terminal.
        _ = try reader.readPlainText()
        let flags = try reader.read(UInt8.self)
        guard flags < 8 else { throw .unknownChoice }
        (isSilent, hasTerminal, mayAsk) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0)
    }
}

/// The name of the PAM service, as the log has it.
struct SignInService: Equatable, Sendable {
    let name: String

    /// Longer names are no names of files in `/etc/pam.d`.
    private static let maximumByteCount = 64

    /// - Parameter claim: the name that the program says. Only one that could be a file's is kept: the log shows no words of a program.
    init(_ claim: String) {
        let isName = !claim.isEmpty && claim.utf8.count <= Self.maximumByteCount && claim.utf8.allSatisfy(Self.isOfName)
        name = isName ? claim : "an unnamed service"
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}

extension BorrowedCanonicalReader {
    fileprivate mutating func readPlainText() throws(CanonicalEncodingError) -> String {
        let text = try readText(length: UInt16.self)
        guard !text.utf8.contains(0) else { throw .invalidText }
        return text
    }

    fileprivate mutating func readName() throws(CanonicalEncodingError) -> String {
        let name = try readPlainText()
        guard !name.isEmpty else { throw .invalidText }
        return name
    }

    /// A secret, copied into memory of its own.
    fileprivate mutating func readSecret() throws(CanonicalEncodingError) -> Credential {
        let field = try unsafe read(length: UInt16.self)
        guard unsafe !field.isEmpty, unsafe !field.contains(0) else { throw .invalidText }
        var secret = SecretBytes(zeroedForPasscode: field.count)
        unsafe secret.withUnsafeMutableBytes { unsafe $0.copyMemory(from: field) }
        return Credential(secret)
    }
}
