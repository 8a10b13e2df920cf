import Foundation
import Glibc
import OstiaryMessages
import PromptProtocol
import StoreTestSupport
import Testing

@testable import Broker
@testable import Diagnosis

@Suite("The files that the daemon runs")
struct LoadedCodeTests {
    private let folder: TestFolder
    private let library: String

    /// A copy of a library that this process has loaded.
    init() throws {
        folder = try TestFolder()
        library = folder.path("lib with spaces.so")
        let code = try #require(LoadedCode.ofThisProcess())
        let original = try #require(code.paths.first { $0.contains("/libargon2.so") })
        try FileManager.default.copyItem(atPath: original, toPath: library)
    }

    private func maps(_ path: String, _ permissions: String = "r-xp") -> String {
        "7f21b4a00000-7f21b4a28000 \(permissions) 00028000 fe:00 1234                       \(path)\n"
    }

    private func finding(_ code: LoadedCode?) -> WireFinding { code.finding(userID: geteuid()) }

    @Test func `are those of executable mappings, each once`() {
        let code = LoadedCode(
            maps: maps("/usr/bin/program", "r--p") + maps("/usr/bin/program") + maps("/a folder/lib x.so")
                + maps("/usr/bin/program") + maps("/var/data", "rw-s") + maps("[vdso]")
                + "7ffd1000-7ffd2000 r-xp 00000000 00:00 0 \n" + maps("/gone.so (deleted)") + "nonsense\n")
        #expect(code.paths == ["/usr/bin/program", "/a folder/lib x.so"])
        #expect(code.replaced == ["/gone.so"])
    }

    @Test func `are the program's and those of each library that it loads`() throws {
        #expect(LoadedCode.ofThisProcess()?.paths.contains(library) == false)
        let handle = try #require(dlopen(library, RTLD_NOW | RTLD_LOCAL))
        defer { dlclose(handle) }
        let code = try #require(LoadedCode.ofThisProcess())
        #expect(code.paths.contains(library))
        #expect(code.paths.contains { $0.contains("/libc.so") })
        #expect(chmod(library, 0o666) == 0)
        #expect(code.distrust(userID: geteuid()).contains(.writableByOthers(library)))
        try FileManager.default.removeItem(atPath: library)
        let now = try #require(LoadedCode.ofThisProcess())
        #expect(!now.paths.contains(library) && now.replaced == [library])
    }

    @Test func `are all right when only root and the user can change them`() {
        let found = finding(LoadedCode(maps: maps(library) + maps("/usr/bin/openssl")))
        #expect(found.verdict == .ok)
        #expect(found.message == "Only root and this user can change the 2 files that the daemon runs.")
    }

    @Test(arguments: [0o664, 0o646] as [mode_t])
    func `that others can write to are a problem, and the first is named`(mode: mode_t) {
        #expect(chmod(library, mode) == 0)
        let found = finding(LoadedCode(maps: maps("/usr/bin/openssl") + maps(library)))
        #expect(found.verdict == .problem)
        #expect(
            found.message
                == "The daemon runs code that others can change: \(library) can be written to by other users.")
    }

    @Test func `in a folder that others can write to are a problem`() {
        #expect(chmod(folder.path, 0o777) == 0)
        let found = finding(LoadedCode(maps: maps(library)))
        #expect(found.verdict == .problem)
        #expect(found.message.contains("\(folder.path) can be written to by other users"))
    }

    @Test func `that belong to another user are a problem, and the others are counted`() throws {
        let second = folder.path("second.so")
        try FileManager.default.copyItem(atPath: library, toPath: second)
        // Root gives the files away; anybody else asks for the user who is not them.
        for path in [library, second] where geteuid() == 0 { #expect(chown(path, 12345, 12345) == 0) }
        let code: LoadedCode? = LoadedCode(maps: maps(library) + maps("/usr/bin/openssl") + maps(second))
        let found = code.finding(userID: geteuid() == 0 ? 0 : 12345)
        #expect(found.verdict == .problem)
        #expect(found.message.hasSuffix("belongs to another user. The same is true of 1 more."))
    }

    @Test(arguments: ["/usr/lib/gone.so (deleted)", "/usr/lib/gone.so"])
    func `that were replaced since the start are told`(gone: String) {
        let found = finding(LoadedCode(maps: maps(library) + maps(gone)))
        #expect(found.verdict == .notice)
        #expect(found.message.contains("/usr/lib/gone.so, which was removed or replaced"))
        #expect(found.advice == "Restart the daemon.")
    }

    @Test func `are a problem when nobody knows them`() {
        #expect(finding(nil).verdict == .problem)
    }
}
