import DoorSupport
import Foundation
import Glibc
import OstiaryClient
import UnixSocket

/// A door as it lies on this machine.
struct InstalledDoor {
    let program: DoorProgram
    /// Without links; nil where it is not installed.
    let path: String?
    /// The links by which other software starts it, and what each leads to; nil for one that is missing.
    let links: [(name: String, target: String?)]

    /// Looks beside this command, in the folders that belong to its own one, and where packages put programs.
    init(_ program: DoorProgram) {
        self.init(program, in: Self.folders(besides: Self.ownFolder))
    }

    init(_ program: DoorProgram, in folders: [String]) {
        self.program = program
        func target(of name: String) -> String? {
            folders.lazy.map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 }.flatMap(Self.withoutLinks)
        }
        path = target(of: program.name)
        links = program.otherNames.map { ($0, target(of: $0)) }
    }

    /// None of them comes from the environment.
    private static var ownFolder: String { PathName.folder(of: ownPath ?? "/usr/bin/ostiary") }

    /// The path of this command, without links.
    static var ownPath: String? { withoutLinks("/proc/self/exe") }

    private static func folders(besides own: String) -> [String] {
        let prefix = PathName.folder(of: own)
        return [
            own, "\(prefix)/libexec/ostiary", "/usr/bin", "/usr/libexec/ostiary", "/usr/local/bin",
            "/usr/local/libexec/ostiary",
        ]
    }

    private static func withoutLinks(_ path: String) -> String? {
        guard let found = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(found) }
        return unsafe String(cString: found)
    }

    /// What `ostiary doors register` asks for; nil where the program is not installed.
    var registration: RegisteredApplication? {
        path.map { path in
            RegisteredApplication(
                path: path, applicationID: program.applicationID, accessGroups: program.accessGroups,
                isDoor: program.isDoor, label: "", isChanged: false, isOfSystem: false)
        }
    }
}

extension DoorProgram {
    /// In order: new things of this command go to its own group, those of doors to the shared one.
    var accessGroups: [String] { isDoor ? [Self.accessGroup] : [applicationID, Self.accessGroup] }
}

/// The socket of a door as it lies in the runtime folder. Nobody connects to it: that would start the door.
enum DoorSocket: String, Encodable {
    case present, missing, foreign

    static func folder() throws -> String { try DoorListener.runtimeFolder() }

    init(at path: String) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else {
            self = .missing
            return
        }
        self = status.st_mode & S_IFMT == S_IFSOCK && status.st_uid == geteuid() ? .present : .foreign
    }
}
