import Foundation
public import PromptProtocol

/// The file of a PAM service for one biometric module.
///
/// Only a file with exactly one line passes, and this line must name one `auth` module. So no other module's word counts,
/// and none asks for a password. The form is stricter than that of libpam (pam.conf(5)): what this reader accepts, libpam
/// reads in the same way.
public struct PAMServiceFile: Equatable, Sendable {
    /// The service's name.
    public let service: String
    /// The module's file name, or its absolute path.
    public let module: String
    /// All of the file: two values are equal only if nothing in it differs, such as the module's arguments.
    private let contents: Data

    /// Where services are configured.
    public static let standardFolder = "/etc/pam.d"

    static let nameByteCount = 64
    static let fileByteCount = 16 * 1024
    /// libpam reads longer lines in pieces.
    static let lineByteCount = 1000

    /// Reads and checks the file of a service.
    ///
    /// - Parameter trustedUserID: the user to whom the file, its folders and a module that is named by its path must
    ///   belong if they do not belong to root; root, except in tests.
    public init(
        of service: String, in folder: String = Self.standardFolder, trustedUserID: UInt32 = 0
    ) throws(PAMServiceDistrust) {
        guard Self.isName(service) else { throw .badName(service) }
        let path = folder + "/" + service
        try Self.verify(path, trustedUserID)
        guard let bytes = FileManager.default.contents(atPath: path) else { throw .unreadable(path) }
        self.service = service
        contents = bytes
        module = try Self.module(in: bytes, path)
        guard module.hasPrefix("/") else { return }
        try Self.verify(module, trustedUserID)
    }

    /// Whether libpam takes `name` as it is: it makes letters small and drops folders.
    public static func isName(_ name: String) -> Bool {
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
            default: false
            }
        }
        // libpam reads "other" for services without a file.
        return isPlain && (1...nameByteCount).contains(name.utf8.count) && !name.hasPrefix(".") && name != "other"
    }

    private static func verify(_ path: String, _ userID: UInt32) throws(PAMServiceDistrust) {
        do throws(ProgramDistrust) { try ProgramTrust.verifyFile(path, userID: userID) } catch {
            switch error {
            case .missing(let part): throw .missing(part)
            case .otherOwner, .writableByOthers: throw .untrusted(error)
            }
        }
    }

    /// The module of the only line that is no comment.
    static func module(in bytes: Data, _ path: String) throws(PAMServiceDistrust) -> String {
        guard bytes.count <= fileByteCount, let text = String(validating: bytes, as: UTF8.self) else {
            throw .unreadable(path)
        }
        var module: String?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard let found = try self.module(inLine: line, index + 1, path) else { continue }
            guard module == nil else { throw .severalModules(path, line: index + 1) }
            module = found
        }
        guard let module else { throw .withoutModule(path) }
        return module
    }

    /// Nil for a line that says nothing.
    private static func module(
        inLine line: Substring, _ number: Int, _ path: String
    ) throws(PAMServiceDistrust) -> String? {
        // A backslash continues a line. libpam also ends a field at control characters.
        let isPlain = line.unicodeScalars.allSatisfy { $0 == "\t" || $0.properties.generalCategory != .control }
        guard line.utf8.count <= lineByteCount, isPlain, !line.contains("\\") else {
            throw .badLine(path, line: number)
        }
        let fields = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }
        guard let type = fields.first else { return nil }
        if type == "@include" || fields.dropFirst().first.map({ ["include", "substack"].contains($0) }) ?? false {
            throw .includes(path, line: number)
        }
        guard type == "auth" else { throw .otherType(path, line: number) }
        // With other words, libpam would not tell why the module said no.
        guard fields.count >= 3, ["required", "requisite"].contains(fields[1]) else {
            throw .badLine(path, line: number)
        }
        let module = String(fields[2])
        let isPath = module.hasPrefix("/")
        guard isPath || !module.contains("/"), !module.contains("$"), !module.contains("[") else {
            throw .badLine(path, line: number)
        }
        return module
    }
}

/// Why a PAM service is not used.
public enum PAMServiceDistrust: Error, Equatable, Sendable, CustomStringConvertible {
    /// It is no name of a service.
    case badName(String)
    /// The file, or the module that it names, does not exist.
    case missing(String)
    /// Somebody else than root can change the file, or the module that it names.
    case untrusted(ProgramDistrust)
    /// The file cannot be read, is too large, or is not UTF-8.
    case unreadable(String)
    /// The file names no module.
    case withoutModule(String)
    case severalModules(String, line: Int)
    /// The line includes another file.
    case includes(String, line: Int)
    /// The line is not for `auth`.
    case otherType(String, line: Int)
    /// The line is not of the form `auth required MODULE ARGUMENT…`.
    case badLine(String, line: Int)

    public var description: String {
        switch self {
        case .badName(let name): "\(name.debugDescription) is no name of a PAM service"
        case .missing(let path): "\(path) does not exist"
        case .untrusted(let distrust): "\(distrust)"
        case .unreadable(let path): "\(path) cannot be read"
        case .withoutModule(let path): "\(path) names no module"
        case .severalModules(let path, let line): "\(path), line \(line): only one module is allowed"
        case .includes(let path, let line): "\(path), line \(line): other files must not be included"
        case .otherType(let path, let line): "\(path), line \(line): only a line for auth is allowed"
        case .badLine(let path, let line): "\(path), line \(line): it is not of the form auth required MODULE"
        }
    }
}
