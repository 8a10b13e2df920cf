import Foundation
import PAMProtocol

/// The service files of PAM, as libpam reads them (pam.conf(5)).
struct PAMServiceFolder {
    /// libpam follows no more files into each other.
    private static let depth = 16
    private static let fileByteCount = 64 * 1024

    private let path: String
    /// The lines of each file that was read, by its name.
    private let files: [String: [PAMFileLine]]

    /// - Throws: when the folder cannot be listed. Files that cannot be read are missing.
    init(_ path: String = PAMServiceFile.standardFolder) throws {
        self.path = path
        var files: [String: [PAMFileLine]] = [:]
        // libpam opens no hidden file for a service either.
        for name in try FileManager.default.contentsOfDirectory(atPath: path) where !name.hasPrefix(".") {
            files[name] = Self.lines(of: path + "/" + name)
        }
        self.files = files
    }

    private static func lines(of path: String) -> [PAMFileLine]? {
        guard let file = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? file.close() }
        do {
            let bytes = try file.read(upToCount: fileByteCount) ?? Data()
            return PAMFileLine.all(in: String(decoding: bytes, as: UTF8.self), of: path)
        } catch { return nil }
    }

    /// The services: files that are part of no other one, in the order of their names.
    var services: [String] {
        let parts = Set(files.values.joined().compactMap { $0.part.map(file(named:)) })
        return files.keys.filter { !parts.contains(path + "/" + $0) }.sorted()
    }

    /// Whether a line of any file, also of one that no service reaches, names the module.
    func names(_ module: String) -> Bool {
        files.values.joined().contains { if case .module(let line) = $0.kind { line.isOf(module) } else { false } }
    }

    func stack(_ type: PAMStack.Kind, of service: String) throws(PAMStackFault) -> PAMStack {
        PAMStack(entries: try entries(type, path + "/" + service, level: 0, depth: 0))
    }

    private func file(named name: String) -> String { name.hasPrefix("/") ? name : path + "/" + name }

    private func entries(
        _ type: PAMStack.Kind, _ file: String, level: Int, depth: Int
    ) throws(PAMStackFault) -> [PAMStack.Entry] {
        guard depth < Self.depth else { throw .nested(file) }
        // Files of other folders can be parts too.
        let own = file.hasPrefix(path + "/") ? files[String(file.dropFirst(path.count + 1))] : nil
        guard let lines = own ?? Self.lines(of: file) else { throw .unreadable(file) }
        var entries: [PAMStack.Entry] = []
        for line in lines {
            switch line.kind {
            case .module(let module):
                if module.type == type {
                    entries.append(PAMStack.Entry(line: module, level: level))
                }
            case .part(let name, nil):
                entries += try self.entries(type, self.file(named: name), level: level, depth: depth + 1)
            case .part(let name, type):
                entries += try self.entries(type, self.file(named: name), level: level, depth: depth + 1)
            case .substack(let name, type):
                // For a jump it is one line.
                entries.append(PAMStack.Entry(line: nil, level: level))
                entries += try self.entries(type, self.file(named: name), level: level + 1, depth: depth + 1)
            case .part, .substack: break
            case .malformed: throw .malformed(file, line.number)
            }
        }
        return entries
    }
}

/// Why it is not known what libpam does for a service. libpam itself refuses everybody then.
enum PAMStackFault: Error, Equatable, CustomStringConvertible {
    case unreadable(String)
    /// Files include each other, or too many of them one another.
    case nested(String)
    case malformed(String, Int)

    var description: String {
        switch self {
        case .unreadable(let file): "\(file) cannot be read"
        case .nested(let file): "\(file) is included too deeply, perhaps by itself"
        case .malformed(let file, let number): "\(file):\(number) has no form that libpam knows"
        }
    }
}

/// A line of a service file.
struct PAMFileLine: Equatable {
    enum Kind: Equatable {
        case module(PAMModuleLine)
        /// The lines of another file stand here: all of them, or those of one type.
        case part(String, PAMStack.Kind?)
        /// The same, as a stack of its own.
        case substack(String, PAMStack.Kind)
        case malformed
    }

    let number: Int
    let kind: Kind

    /// The file that stands here.
    var part: String? {
        switch kind {
        case .part(let name, _), .substack(let name, _): name
        case .module, .malformed: nil
        }
    }

    /// - Parameter file: the path of the file, which its lines keep.
    static func all(in text: String, of file: String) -> [PAMFileLine] {
        var lines: [PAMFileLine] = []
        var (collected, start) = ("", 0)
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if collected.isEmpty { start = index + 1 }
            let content = line.prefix { $0 != "#" }
            // A line goes on after a backslash at its end.
            if content.count == line.count, content.hasSuffix("\\") {
                collected += content.dropLast() + " "
                continue
            }
            let words = words(of: collected + content)
            collected = ""
            if let kind = kind(words, file, start) { lines.append(PAMFileLine(number: start, kind: kind)) }
        }
        return lines
    }

    /// The words of a line. One in square brackets keeps them, and its spaces.
    private static func words(of line: String) -> [String] {
        var words: [String] = []
        var (word, isInBrackets) = ("", false)
        for character in line {
            if character.isWhitespace, !isInBrackets {
                if !word.isEmpty { words.append(word) }
                word = ""
                continue
            }
            if word.isEmpty, character == "[" { isInBrackets = true }
            if character == "]", word.last != "\\" { isInBrackets = false }
            word.append(character)
        }
        return word.isEmpty ? words : words + [word]
    }

    /// Nil for an empty line.
    private static func kind(_ words: [String], _ file: String, _ number: Int) -> Kind? {
        guard let first = words.first else { return nil }
        if first == "@include" { return words.count == 2 ? .part(words[1], nil) : .malformed }
        // With a dash in front, libpam logs no missing module. It refuses all the same.
        let name = first.hasPrefix("-") ? first.dropFirst() : first[...]
        guard let type = PAMStack.Kind(rawValue: name.lowercased()), words.count >= 3 else { return .malformed }
        switch words[1].lowercased() {
        case "include": return .part(words[2], type)
        case "substack": return .substack(words[2], type)
        case let control:
            guard let control = PAMControl(control) else { return .malformed }
            return .module(
                PAMModuleLine(
                    file: file, number: number, type: type, control: control, module: words[2],
                    arguments: words.dropFirst(3).map(unbracketed)))
        }
    }

    private static func unbracketed(_ word: String) -> String {
        word.hasPrefix("[") && word.hasSuffix("]") ? String(word.dropFirst().dropLast()) : word
    }
}

/// A line that calls a module.
struct PAMModuleLine: Hashable {
    /// The path of its file.
    let file: String
    let number: Int
    let type: PAMStack.Kind
    let control: PAMControl
    /// The module's file name, or its absolute path.
    let module: String
    let arguments: [String]

    var place: String { "\(file):\(number)" }

    /// - Parameter name: a file name.
    func isOf(_ name: String) -> Bool { module == name || module.hasSuffix("/" + name) }
}

/// What follows from the results of a module.
struct PAMControl: Hashable {
    enum Action: Hashable {
        /// It counts for nothing, refuses at the end, refuses at once, counts as a yes, ends with a yes, forgets all.
        case ignore, bad, die, ok, done, reset
        /// So many lines are passed over.
        case jump(Int)
    }

    /// PAM_SUCCESS.
    let success: Action
    /// PAM_AUTHINFO_UNAVAIL.
    let unavailable: Action
    /// PAM_AUTH_ERR.
    let failure: Action
    /// PAM_MODULE_UNKNOWN: the module, or what it should do there, is missing.
    let withoutModule: Action
    /// Whether the file says `sufficient`.
    let isSufficient: Bool

    /// Nil for a text that libpam does not know.
    init?(_ text: String) {
        isSufficient = text == "sufficient"
        switch text {
        case "required": (success, failure) = (.ok, .bad)
        case "requisite": (success, failure) = (.ok, .die)
        case "sufficient": (success, failure) = (.done, .ignore)
        case "optional": (success, failure) = (.ok, .ignore)
        default:
            guard text.hasPrefix("["), text.hasSuffix("]"), text.count > 2 else { return nil }
            var actions: [Substring: Action] = [:]
            for pair in text.dropFirst().dropLast().split(whereSeparator: \.isWhitespace) {
                let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2, Self.results.contains(parts[0]), let action = Self.action(parts[1]) else {
                    return nil
                }
                actions[parts[0]] = action
            }
            let other = actions["default"] ?? .bad
            success = actions["success"] ?? other
            unavailable = actions["authinfo_unavail"] ?? other
            failure = actions["auth_err"] ?? other
            withoutModule = actions["module_unknown"] ?? other
            return
        }
        (unavailable, withoutModule) = (failure, failure)
    }

    /// libpam refuses everybody at a line with another word.
    private static let results: Set<Substring> = [
        "success", "open_err", "symbol_err", "service_err", "system_err", "buf_err", "perm_denied", "auth_err",
        "cred_insufficient", "authinfo_unavail", "user_unknown", "maxtries", "new_authtok_reqd", "acct_expired",
        "session_err", "cred_unavail", "cred_expired", "cred_err", "no_module_data", "conv_err", "authtok_err",
        "authtok_recover_err", "authtok_lock_busy", "authtok_disable_aging", "try_again", "ignore", "abort",
        "authtok_expired", "module_unknown", "bad_item", "conv_again", "incomplete", "default",
    ]

    private static func action(_ word: Substring) -> Action? {
        switch word {
        case "ignore": .ignore
        case "bad": .bad
        case "die": .die
        case "ok": .ok
        case "done": .done
        case "reset": .reset
        default: Int(word).flatMap { $0 > 0 ? .jump($0) : nil }
        }
    }
}

/// The lines that libpam goes through for one service and one purpose.
struct PAMStack {
    enum Kind: String, CaseIterable { case auth, account, session, password }

    struct Entry {
        /// Nil for the beginning of a substack.
        let line: PAMModuleLine?
        /// How many substacks the line stands in.
        let level: Int
    }

    let entries: [Entry]

    /// The entry that has its turn after another one, or the count of entries at the end. Nil for a jump past the end.
    func next(after index: Int, _ action: PAMControl.Action) -> Int? {
        let level = entries[index].level
        switch action {
        case .ignore, .bad, .ok, .reset: return index + 1
        // The end of its substack.
        case .done, .die: return entries[(index + 1)...].firstIndex { $0.level < level } ?? entries.count
        case .jump(let count):
            var place = index + 1
            for _ in 0..<count {
                guard place < entries.count, entries[place].level >= level else { return nil }
                // A substack is passed over as one line.
                repeat { place += 1 } while place < entries.count && entries[place].level > level
            }
            return place
        }
    }
}
