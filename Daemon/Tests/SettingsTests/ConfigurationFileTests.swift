import Foundation
import Glibc
import PromptProtocol
import Testing
import UnixSocket

@testable import Settings

@Suite struct ConfigurationFileTests {
    private func error(_ text: String) -> ConfigurationError? {
        do throws(ConfigurationError) {
            _ = try ConfigurationFile.parse(text)
            return nil
        } catch { return error }
    }

    @Test func `an empty file means the defaults`() throws {
        let configuration = try ConfigurationFile.parse("\n# nothing here\n   \n")
        #expect(configuration == PromptConfiguration())
        #expect(configuration.frontEnds == [.terminal, .pinentry, .sheet])
        #expect(configuration.terminalPolicy == .any)
        #expect(configuration.faceService == nil && configuration.facePolicy == .never)
        #expect(configuration.fingerPolicy == .any)
        #expect(configuration.timeLimitSeconds == 120)
        #expect(configuration.contextSeconds == 600)
        #expect(configuration.pinentryPath == nil)
    }

    @Test func `settings of one user are known by their keys`() throws {
        #expect(PromptConfiguration().keysOfOneUser.isEmpty)
        let others = "prompt.terminal = never\nface.pam-service = ostiary-face\nenclave = tpm"
        #expect(try ConfigurationFile.parse(others).keysOfOneUser.isEmpty)
        for line in [
            "prompt.pinentry = /usr/bin/pinentry", "prompt.display = :0", "prompt.wayland-display = wayland-0",
            "prompt.xauthority = /tmp/cookie",
        ] {
            #expect(try ConfigurationFile.parse(line).keysOfOneUser == [String(line.prefix { $0 != " " })])
        }
    }

    @Test func `a daemon of the machine asks on terminals of logins and in sheets, unless a file says else`() throws {
        let machine = PromptConfiguration.ofMachine
        #expect(machine.frontEnds == [.terminal, .sheet] && machine.terminalPolicy == .login)
        #expect(machine.fingerPolicy == .login && machine.facePolicy == .never)
        #expect(machine.storeMebibytes == 64 && PromptConfiguration().storeMebibytes == nil)
        #expect(try ConfigurationFile.parse("", over: machine) == machine)
        let configured = try ConfigurationFile.parse("prompt.terminal = any", over: machine)
        #expect(configured.terminalPolicy == .any && configured.frontEnds == machine.frontEnds)
        #expect(configured.fingerPolicy == .login)
        #expect(try ConfigurationFile.parse("finger.on-terminals = any", over: machine).fingerPolicy == .any)
    }

    @Test func `every key is read`() throws {
        let configuration = try ConfigurationFile.parse(
            """
            # how to ask
            prompt.front-ends = sheet, pinentry, terminal
            prompt.terminal=login
            prompt.pinentry = /usr/bin/pinentry-gnome3
            prompt.display = :0
            prompt.wayland-display = /run/user/1000/wayland-0
            prompt.xauthority = /home/me/x = y
            prompt.sheet-colors = dark
            prompt.sheet-text-percent = 150
            prompt.sheet-language = ar
            prompt.time-limit-seconds = 30
            prompt.context-seconds = 60
            finger.on-terminals = login
            face.pam-service = howdy-2.x
            face.on-terminals = any
            """)
        #expect(configuration.frontEnds == [.sheet, .pinentry, .terminal])
        #expect(configuration.terminalPolicy == .login)
        #expect(configuration.pinentryPath == "/usr/bin/pinentry-gnome3")
        #expect(configuration.display == ":0")
        #expect(configuration.waylandDisplay == "/run/user/1000/wayland-0")
        #expect(configuration.xAuthority == "/home/me/x = y")
        #expect(configuration.timeLimitSeconds == 30)
        #expect(configuration.contextSeconds == 60)
        #expect(configuration.fingerPolicy == .login)
        #expect(configuration.faceService == "howdy-2.x" && configuration.facePolicy == .any)
        #expect(configuration.sheetIsDark && configuration.sheetTextPercent == 150)
        #expect(configuration.sheetLanguage == .arabic)
    }

    @Test(
        arguments: [
            ("prompt.terminal", .noKeyAndValue), ("prompt.terminal =", .noKeyAndValue), ("= any", .noKeyAndValue),
            ("prompt.terminals = any", .unknownKey), ("Prompt.terminal = any", .unknownKey),
            ("[prompt]", .noKeyAndValue),
            ("prompt.terminal = always", .badValue), ("prompt.terminal = any # all", .badValue),
            ("prompt.front-ends = terminal, gtk", .badValue), ("prompt.front-ends = terminal,", .badValue),
            ("prompt.front-ends = terminal, terminal", .badValue), ("prompt.pinentry = pinentry-tty", .badValue),
            ("prompt.pinentry = \"/usr/bin/pinentry\"", .badValue), ("prompt.xauthority = ~/.Xauthority", .badValue),
            ("face.pam-service = Howdy", .badValue), ("face.pam-service = ../sudo", .badValue),
            ("face.pam-service = other", .badValue), ("face.on-terminals = sometimes", .badValue),
            ("face = howdy", .unknownKey),
            ("prompt.display = :0\u{0}", .badValue), ("prompt.display = :\u{1B}0", .badValue),
            ("finger.on-terminals = sometimes", .badValue), ("finger-on-terminals = any", .unknownKey),
            ("prompt.sheet-colors = blue", .badValue), ("prompt.sheet-text-percent = 99", .badValue),
            ("prompt.sheet-text-percent = 201", .badValue), ("prompt.sheet-text-percent = 150%", .badValue),
            ("prompt.sheet-language = fr", .badValue), ("prompt.sheet-language = ../de", .badValue),
            ("prompt.sheet-language = de_DE.UTF-8", .badValue), ("prompt.sheet-language =", .noKeyAndValue),
            ("prompt.time-limit-seconds = 4", .badValue), ("prompt.time-limit-seconds = 601", .badValue),
            ("prompt.time-limit-seconds = -1", .badValue), ("prompt.time-limit-seconds = 1e2", .badValue),
            ("prompt.time-limit-seconds = 99999999999999999999", .badValue),
            ("prompt.context-seconds = 9", .badValue), ("prompt.context-seconds = 3601", .badValue),
            ("prompt.context-seconds = 0", .badValue), ("prompt.context-seconds = never", .badValue),
            ("users.store-mebibytes = 0", .badValue), ("users.store-mebibytes = 1048577", .badValue),
            ("users.store-mebibytes = 64M", .badValue), ("users.store = 64", .unknownKey),
        ] as [(String, ConfigurationLineError)])
    func `what is not understood is refused with its line`(_ line: String, _ reason: ConfigurationLineError) {
        #expect(error("# first\n\n\(line)\nprompt.terminal = any") == .line(3, reason))
    }

    @Test func `a key that is given twice is refused`() {
        #expect(error("prompt.terminal = any\nprompt.terminal = any") == .line(2, .repeatedKey))
    }

    @Test(arguments: [10, 3600]) func `the bounds of a context's lifetime are accepted`(_ seconds: Int) throws {
        #expect(try ConfigurationFile.parse("prompt.context-seconds = \(seconds)").contextSeconds == seconds)
    }

    @Test(arguments: [1, 1_048_576]) func `the bounds of a user's store are accepted`(_ mebibytes: Int) throws {
        let configuration = try ConfigurationFile.parse("users.store-mebibytes = \(mebibytes)", over: .ofMachine)
        #expect(configuration.storeMebibytes == mebibytes)
    }

    @Test(arguments: [5, 600]) func `the bounds of the time limit are accepted`(_ seconds: Int) throws {
        #expect(try ConfigurationFile.parse("prompt.time-limit-seconds = \(seconds)").timeLimitSeconds == seconds)
    }

    // MARK: The file itself

    private func load(_ path: String, userID: UInt32 = geteuid()) -> Result<PromptConfiguration?, ConfigurationError> {
        do throws(ConfigurationError) { return .success(try ConfigurationFile.load(path, userID: userID)) } catch {
            return .failure(error)
        }
    }

    private func withFile(_ bytes: Data, mode: mode_t = 0o600, _ body: (String) -> Void) throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("conf-\(UUID().uuidString)")
        try bytes.write(to: url)
        defer { unlink(url.path) }
        #expect(chmod(url.path, mode) == 0)
        body(url.path)
    }

    @Test func `a file that is not there is told from one that cannot be read`() {
        #expect(load("/nonexistent/ostiaryd.conf") == .success(nil))
        #expect(
            load("/etc/passwd/ostiaryd.conf")
                == .failure(
                    .unreadable(SystemCallError("open", subject: "/etc/passwd/ostiaryd.conf", code: ENOTDIR))))
    }

    @Test(arguments: [0o600, 0o644, 0o400] as [mode_t]) func `a file of one's own is read`(_ mode: mode_t) throws {
        try withFile(Data("prompt.terminal = never".utf8), mode: mode) { path in
            #expect((try? load(path).get())?.terminalPolicy == .never)
        }
    }

    @Test(arguments: [0o620, 0o602, 0o666, 0o622] as [mode_t])
    func `a file that others can write is refused`(_ mode: mode_t) throws {
        try withFile(Data("prompt.terminal = never".utf8), mode: mode) { path in
            #expect(load(path) == .failure(.writableByOthers))
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func `another user's file is refused, root's is not`() throws {
        try withFile(Data("prompt.terminal = never".utf8)) { path in
            #expect((try? load(path, userID: 1234).get())?.terminalPolicy == .never)
            #expect(chown(path, 4321, 4321) == 0)
            #expect(load(path, userID: 1234) == .failure(.otherOwner))
            #expect((try? load(path, userID: 4321).get())?.terminalPolicy == .never)
        }
    }

    @Test func `what is no file is refused`() {
        #expect(load("/tmp") == .failure(.notAFile))
        #expect(load("/dev/null") == .failure(.notAFile))
    }

    @Test func `a file that is too large or not text is refused`() throws {
        let limit = ConfigurationFile.maximumByteCount
        try withFile(Data(repeating: UInt8(ascii: "#"), count: limit + 1)) { path in
            #expect(load(path) == .failure(.tooLarge))
        }
        try withFile(Data(repeating: UInt8(ascii: "#"), count: limit)) { path in
            #expect(load(path) == .success(PromptConfiguration()))
        }
        try withFile(Data([0x23, 0xFF, 0xFE])) { path in #expect(load(path) == .failure(.notUTF8)) }
    }
}
