import Foundation
import Glibc
import PromptProtocol
import Testing
import UnixSocket

/// Which programs may be given what people type. Folders lie in `/tmp`, whose sticky bit is what lets them pass.
@Suite struct ProgramTrustTests {
    private static let isRoot = geteuid() == 0
    private static let nobody: uid_t = 65534
    private let folder: String
    private let program: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("trust-\(UUID().uuidString)").path
        program = folder + "/bin/dialog"
        try Self.make(folder + "/bin")
        try Data("#!/bin/sh\n".utf8).write(to: URL(fileURLWithPath: program))
        try #require(chmod(program, 0o755) == 0)
    }

    private static func make(_ folder: String) throws {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
    }

    private func distrust(_ path: String, userID: uid_t = geteuid()) -> ProgramDistrust? {
        do throws(ProgramDistrust) { try ProgramTrust.verify(path, userID: userID) } catch { return error }
        return nil
    }

    private func removed(_ body: () throws -> Void) rethrows {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body()
    }

    @Test func `a program of the user or of root passes, links and all`() throws {
        try removed {
            #expect(distrust(program) == nil)
            let link = folder + "/link"
            for target in [program, "bin/dialog", "bin/../bin/./dialog"] {
                try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
                #expect(distrust(link) == nil)
                #expect(distrust(folder + "//bin/../link") == nil)
                try FileManager.default.removeItem(atPath: link)
            }
            #expect(distrust("/bin/sh", userID: 12345) == nil)
        }
    }

    @Test func `a folder counts also where the name below it begins with a mark that joins the slash`() throws {
        try removed {
            try Self.make(folder + "/open/\u{301}bin")
            let dialog = folder + "/open/\u{301}bin/dialog"
            try FileManager.default.copyItem(atPath: program, toPath: dialog)
            #expect(distrust(dialog) == nil)
            #expect(chmod(folder + "/open", 0o777) == 0)
            #expect(distrust(dialog) == .writableByOthers(folder + "/open"))
            let link = folder + "/link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: dialog)
            #expect(distrust(link) == .writableByOthers(folder + "/open"))
        }
    }

    @Test func `a slash is a byte of a path`() {
        let path = "/a/\u{301}b/c"
        #expect(PathName.folder(of: path) == "/a/\u{301}b")
        #expect(PathName.folder(of: PathName.folder(of: path)) == "/a")
        #expect(PathName.last(of: "/a/\u{301}b").utf8.elementsEqual("\u{301}b".utf8))
        #expect(PathName.isAbsolute("/\u{301}b") && !PathName.isAbsolute("\u{301}/b"))
        #expect(PathName.names(in: "//a/./\u{301}b/") == ["a", "\u{301}b"])
        #expect(PathName.folder(of: "/a") == "/" && PathName.folder(of: "a") == "." && PathName.last(of: "a/") == "")
    }

    @Test(arguments: [0o775, 0o757, 0o777] as [mode_t])
    func `what others can write to does not, file or folder`(_ mode: mode_t) {
        removed {
            for path in [program, folder + "/bin", folder] {
                #expect(chmod(path, mode) == 0)
                #expect(distrust(program) == .writableByOthers(path))
                #expect(chmod(path, 0o755) == 0)
            }
            #expect(distrust(program) == nil)
        }
    }

    @Test func `a sticky folder lets nobody replace what is another's, a sticky file is only a file`() {
        removed {
            #expect(chmod(folder, 0o1777) == 0)
            #expect(distrust(program) == nil)
            #expect(chmod(program, 0o1777) == 0)
            #expect(distrust(program) == .writableByOthers(program))
        }
    }

    @Test(.enabled(if: isRoot, "only root can give files away"))
    func `what belongs to another user does not, nor does a link of theirs`() throws {
        try removed {
            for path in [program, folder + "/bin", folder] {
                #expect(chown(path, Self.nobody, 0) == 0)
                #expect(distrust(program) == .otherOwner(path))
                #expect(distrust(program, userID: Self.nobody) == nil)
                #expect(chown(path, 0, 0) == 0)
            }
            let link = folder + "/link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: program)
            #expect(lchown(link, Self.nobody, 0) == 0)
            #expect(distrust(link) == .otherOwner(link))
        }
    }

    @Test func `a link is followed through the folders that it leads to`() throws {
        try removed {
            try Self.make(folder + "/open")
            #expect(chmod(folder + "/open", 0o777) == 0)
            try FileManager.default.createSymbolicLink(atPath: folder + "/open/dialog", withDestinationPath: program)
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/first", withDestinationPath: folder + "/open/dialog")
            #expect(distrust(folder + "/first") == .writableByOthers(folder + "/open"))
            try FileManager.default.createSymbolicLink(atPath: folder + "/round", withDestinationPath: "round")
            #expect(distrust(folder + "/round") == .missing(folder + "/round"))
        }
    }

    @Test func `what is no program is missing`() throws {
        try removed {
            let data = folder + "/data"
            try Data().write(to: URL(fileURLWithPath: data))
            for path in ["dialog", "", folder, folder + "/none", program + "/x", data, "/dev/null"] {
                guard case .missing = distrust(path) else {
                    // The null device can be written to by everybody before it is anything else.
                    #expect(path == "/dev/null" && distrust(path) == .writableByOthers(path), "\(path)")
                    continue
                }
            }
        }
    }
}
