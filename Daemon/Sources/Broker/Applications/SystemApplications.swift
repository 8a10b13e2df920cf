import Foundation
import Glibc
import Prompting

/// The registrations that the administrator made for all users: files `*.conf` in one folder, each for one program.
///
///     # /etc/ostiary/apps.d/example.conf
///     application-id = com.example.app
///     path = /usr/bin/example
///     access-groups = com.example.shared, com.example.other
///
/// Folder and files belong to root and nobody else may write to them, else they do not count. What is not understood makes
/// the whole file void: half a registration is none.
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

    /// All that count now, the first by file name where two are for one path or application.
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
                guard let text = try ConfigurationFile.text(path, userID: 0) else { continue }
                let registration = try Self.parse(text)
                guard !found.contains(where: { $0.clashes(with: registration) }) else {
                    defects.append(ReportedDefects.Defect(path, "another file names the same program or application"))
                    continue
                }
                found.append(registration)
            } catch { defects.append(ReportedDefects.Defect(path, "\(error)")) }
        }
        return (found, defects)
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

    /// Reads a file's text.
    static func parse(_ text: String) throws -> Registration {
        var values: [String: String] = [:]
        try ConfigurationFile.forEachEntry(in: text) { (key, value) throws(ConfigurationLineError) in
            switch key {
            case "application-id": guard Registration.isName(value) else { throw .badValue }
            case "path": guard value.hasPrefix("/") else { throw .badValue }
            case "access-groups": guard groups(value).allSatisfy(Registration.isName) else { throw .badValue }
            default: throw .unknownKey
            }
            values[key] = value
        }
        guard let id = values["application-id"], let path = values["path"] else { throw SystemApplicationError.incomplete }
        let registration = Registration(
            applicationID: id, groups: values["access-groups"].map(groups) ?? [], path: path, identity: .rootOwned,
            isOfSystem: true)
        guard registration.isWellFormed else { throw SystemApplicationError.contradictory }
        guard !CallerProgram.isInterpreter(path) else { throw SystemApplicationError.interpreter }
        return registration
    }

    private static func groups(_ value: String) -> [String] {
        value.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
    }
}

/// A defect of the folder, or of a file in it whose lines are in order. The folder or the file then does not count.
enum SystemApplicationError: Error, Equatable, Sendable, CustomStringConvertible {
    case notAFolder
    /// The folder belongs to another user than root.
    case folderOfOtherOwner
    /// The folder's group or everybody can write to it.
    case folderWritableByOthers
    case unreadableFolder
    /// It names no path or no application.
    case incomplete
    /// A group is named twice, or like the application, or there are too many.
    case contradictory
    /// It names an interpreter, whose scripts are not told apart.
    case interpreter

    var description: String {
        switch self {
        case .notAFolder: "it is not a folder"
        case .folderOfOtherOwner: "the folder belongs to another user than root"
        case .folderWritableByOthers: "other users can write to the folder"
        case .unreadableFolder: "the folder cannot be read"
        case .incomplete: "it names no path or no application"
        case .contradictory: "it names a group twice, a group like the application, or too many groups"
        case .interpreter: "it names an interpreter, which runs many scripts"
        }
    }
}

extension Registration {
    /// Whether two registrations cannot stand side by side: they name one program or one application, or one names the
    /// other's application as a group and would see what that one keeps for itself.
    func clashes(with other: Registration) -> Bool {
        path == other.path || applicationID == other.applicationID || groups.contains(other.applicationID)
            || other.groups.contains(applicationID)
    }
}
