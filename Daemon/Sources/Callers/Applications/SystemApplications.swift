import ExactNames
import Foundation
import Glibc
import Settings
import UnixSocket

/// The registrations that the administrator made for all users: files `*.conf` in one folder, each for one program.
///
///     # /etc/ostiary/apps.d/example.conf
///     application-id = com.example.app
///     path = /usr/bin/example
///     access-groups = com.example.shared, com.example.other
///     webcredentials = example.com
///     setgid = example
///
/// Folder and files must belong to root, and nobody else may write to them; otherwise they do not count. A file with a
/// line that is not understood does not count at all.
struct SystemApplications: Sendable {
    private static let fileCount = 256

    let folder: String
    /// Called once for each state of a file that does not count.
    let log: @Sendable (_ file: String, _ defect: String) -> Void
    private let reported = ReportedDefects()

    init(folder: String, log: @escaping @Sendable (_ file: String, _ defect: String) -> Void) {
        self.folder = folder
        self.log = log
    }

    /// All valid registrations. If two files name one path or application, the first by file name counts.
    func registrations() -> [Registration] {
        let (found, defects) = read()
        for defect in reported.new(in: defects) { log(defect.file, defect.what) }
        return found
    }

    private func read() -> (found: [Registration], defects: [ReportedDefects.Defect]) {
        let names: [String]
        do { names = try Self.fileNames(in: folder) } catch {
            return ([], [ReportedDefects.Defect(folder, "\(error)")])
        }
        var found: [Registration] = []
        var defects: [ReportedDefects.Defect] = []
        for name in names.prefix(Self.fileCount) {
            let path = "\(folder)/\(name)"
            do {
                guard let registration = try Self.registration(path) else { continue }
                if let clash = found.lazy.compactMap({ registration.clash(with: $0) }).first {
                    defects.append(ReportedDefects.Defect(path, "an earlier file conflicts with it: \(clash)"))
                    continue
                }
                found.append(registration)
            } catch { defects.append(ReportedDefects.Defect(path, "\(error)")) }
        }
        return (found, defects)
    }

    /// The stamps of the folder and of its files, by their paths. They show each change of a registration. Reads no file.
    var stamps: [String: FileStamp] {
        var stamps: [String: FileStamp] = [:]
        stamps[folder] = FileStamp(path: folder)
        // Of a folder that does not count, no file counts.
        let names = (try? Self.fileNames(in: folder)) ?? []
        for path in names.prefix(Self.fileCount).map({ "\(folder)/\($0)" }) {
            stamps[path] = FileStamp(following: path)
        }
        return stamps
    }

    /// The names in order; none when there is no such folder.
    private static func fileNames(in folder: String) throws(SystemApplicationError) -> [String] {
        var status = stat()
        guard unsafe lstat(folder, &status) == 0 else {
            guard errno == ENOENT else { throw .unreadableFolder }
            return []
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .notAFolder }
        guard status.st_uid == 0 else { throw .folderOfOtherOwner }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else { throw .folderWritableByOthers }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else { throw .unreadableFolder }
        return names.filter { $0.hasSuffix(".conf") }.sorted()
    }

    /// What a file says; nil when it is gone.
    private static func registration(_ path: String) throws(SystemApplicationError) -> Registration? {
        let text: String?
        do throws(ConfigurationError) { text = try ConfigurationFile.text(path, userID: 0) } catch {
            throw .file(error)
        }
        return try text.map { text throws(SystemApplicationError) in try parse(text) }
    }

    /// Reads a file's text.
    static func parse(_ text: String) throws(SystemApplicationError) -> Registration {
        var values: [String: (value: String, line: Int)] = [:]
        do throws(ConfigurationError) {
            try ConfigurationFile.forEachEntry(in: text) { (key, value, line) throws(ConfigurationLineError) in
                guard
                    [
                        "application-id", "path", "access-groups", "webcredentials", "browser", "door", "setgid",
                    ].contains(key)
                else { throw .unknownKey }
                values[key] = (value, line)
            }
        } catch { throw .file(error) }
        guard let id = values["application-id"] else { throw .without(key: "application-id") }
        guard let path = values["path"] else { throw .without(key: "path") }
        let groups = values["access-groups"].map { Self.names($0.value) } ?? []
        let webCredentials = values["webcredentials"].map { Self.names($0.value) } ?? []
        if let defect = NameDefect(id.value) { throw .defect(line: id.line, .name(.applicationID, defect)) }
        guard PathName.isAbsolute(path.value) else { throw .defect(line: path.line, .relativePath) }
        if let defect = Registration.defect(of: groups) {
            throw .defect(line: values["access-groups"]?.line ?? 0, defect)
        }
        if let defect = Registration.defect(ofWebCredentials: webCredentials) {
            throw .defect(line: values["webcredentials"]?.line ?? 0, defect)
        }
        let isBrowser = try isYes(values["browser"])
        let isDoor = try isYes(values["door"])
        guard !CallerProgram.isInterpreter(path.value) else { throw .interpreter }
        var registration = Registration(
            applicationID: ExactName(id.value), groups: groups, webCredentials: webCredentials,
            isBrowser: isBrowser, isDoor: isDoor, path: ExactName(path.value), identity: .rootOwned, isOfSystem: true)
        registration.ownGroup = try ownGroup(values["setgid"])
        return registration
    }

    private static func ownGroup(
        _ entry: (value: String, line: Int)?
    ) throws(SystemApplicationError) -> OwnGroup? {
        guard let entry else { return nil }
        guard OwnGroup.isName(entry.value) else { throw .notAGroup(line: entry.line) }
        return OwnGroup(name: entry.value)
    }

    /// Whether a value that must be `yes` or `no` is `yes`; it is not without one.
    private static func isYes(_ entry: (value: String, line: Int)?) throws(SystemApplicationError) -> Bool {
        guard ["yes", "no", nil].contains(entry?.value) else { throw .notYesOrNo(line: entry?.line ?? 0) }
        return entry?.value == "yes"
    }

    private static func names(_ value: String) -> [ExactName] {
        value.split(separator: ",", omittingEmptySubsequences: false)
            .map { ExactName($0.trimmingCharacters(in: .whitespaces)) }
    }
}

/// Why the folder does not count, or a file in it. The description is for the daemon's log: what is wrong, and what to do.
enum SystemApplicationError: Error, Equatable, Sendable, CustomStringConvertible {
    case notAFolder
    /// The folder belongs to another user than root.
    case folderOfOtherOwner
    /// The folder's group or everybody can write to it.
    case folderWritableByOthers
    case unreadableFolder
    /// The file cannot be read as one of this form.
    case file(ConfigurationError)
    /// It lacks a key that it needs.
    case without(key: String)
    /// A value breaks a rule of registrations.
    case defect(line: Int, RegistrationDefect)
    /// A value that is neither `yes` nor `no`.
    case notYesOrNo(line: Int)
    /// A value that is no name of a group.
    case notAGroup(line: Int)
    /// It names an interpreter, whose scripts are not told apart.
    case interpreter

    var description: String {
        switch self {
        case .notAFolder: "it is not a folder; make it one, not a link to one"
        case .folderOfOtherOwner: "the folder belongs to another user than root; give it to root"
        case .folderWritableByOthers: "other users can write to the folder; take that permission away"
        case .unreadableFolder: "the folder cannot be read"
        case .file(let error): "\(error)"
        case .without(let key): "the file names no \(key); add a line with one"
        case .defect(let line, let defect): "line \(line): \(defect)"
        case .notYesOrNo(let line): "line \(line): the value is neither yes nor no; write one of them"
        case .notAGroup(let line): "line \(line): the value is no name of a group; write one in lower case"
        case .interpreter: "the program is an interpreter, whose scripts cannot be told apart; name another one"
        }
    }
}
