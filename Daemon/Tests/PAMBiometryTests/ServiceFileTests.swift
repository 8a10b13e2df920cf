import Foundation
import Glibc
import PromptProtocol
import StoreTestSupport
import Testing

@testable import PAMProtocol
import PAMTestSupport

/// Which service files are used.
@Suite struct ServiceFileTests {
    let services: PAMServices
    var path: String { services.folder.path("face") }

    init() throws { services = try PAMServices() }

    func distrust(_ service: String = "face", trustedUserID: uid_t = getuid()) -> PAMServiceDistrust? {
        do throws(PAMServiceDistrust) {
            _ = try PAMServiceFile(of: service, in: services.folder.path, trustedUserID: trustedUserID)
        } catch { return error }
        return nil
    }

    // MARK: text

    @Test(arguments: [
        "auth required pam_deny.so", "auth\trequisite  pam_deny.so a=b c\n",
        "#%PAM-1.0\n\n  # words\n auth required pam_deny.so # more words\n\n",
    ])
    func `one module passes`(_ text: String) throws {
        try services.write(text)
        let file = try PAMServiceFile(of: "face", in: services.folder.path, trustedUserID: getuid())
        #expect((file.service, file.module) == ("face", "pam_deny.so"))
    }

    @Test func `a file without a module is refused`() throws {
        for text in ["", "\n\n", "# auth required pam_deny.so\n"] {
            try services.write(text)
            #expect(distrust() == .withoutModule(path))
        }
    }

    @Test func `two modules are refused`() throws {
        for second in ["auth required pam_permit.so", "auth requisite pam_deny.so"] {
            try services.write("auth required pam_deny.so\n\n\(second)\n")
            #expect(distrust() == .severalModules(path, line: 3))
        }
    }

    @Test(arguments: ["auth include other", "auth substack common-auth", "@include common-auth", "account include x"])
    func `other files are not included`(_ line: String) throws {
        for text in ["\(line)\n", "\(line)\nauth required pam_deny.so\n"] {
            try services.write(text)
            #expect(distrust() == .includes(path, line: 1))
        }
        try services.write("auth required pam_deny.so\n\(line)\n")
        #expect(distrust() == .includes(path, line: 2))
    }

    @Test(arguments: ["account required pam_permit.so", "session", "-auth required pam_deny.so", "AUTH required x.so"])
    func `only auth is allowed`(_ line: String) throws {
        try services.write("\(line)\nauth required pam_deny.so\n")
        #expect(distrust() == .otherType(path, line: 1))
    }

    @Test(arguments: [
        "auth", "auth required", "auth pam_deny.so", "auth sufficient pam_deny.so", "auth optional pam_deny.so",
        "auth [success=1 default=ignore] pam_deny.so", "auth [default=done] pam_deny.so", "auth REQUIRED pam_deny.so",
        "auth required lib/pam_deny.so", "auth required ../pam_deny.so", "auth required $ISA/pam_deny.so",
        "auth required [pam_deny.so]", "auth required \\", "# words \\", "auth required pam_deny.so\r",
        "auth required pam_deny.so \u{0B}", "auth\u{0}required pam_deny.so",
        "#" + String(repeating: "x", count: 1000),
    ])
    func `other lines are refused`(_ line: String) throws {
        try services.write("\(line)\n")
        #expect(distrust() == .badLine(path, line: 1))
    }

    @Test func `a line of the greatest length passes`() throws {
        try services.write("#" + String(repeating: "x", count: 999) + "\nauth required pam_deny.so\n")
        #expect(distrust() == nil)
    }

    @Test func `what is too large or no text is refused`() throws {
        try services.write("auth required pam_deny.so\n" + String(repeating: "# x\n", count: 5000))
        #expect(distrust() == .unreadable(path))
        try Data([0x61, 0xFF]).write(to: URL(fileURLWithPath: path))
        #expect(distrust() == .unreadable(path))
    }

    @Test(arguments: [
        "", ".", "..", ".hidden", "other", "Face", "../face", "a/b", "a b", "é", "a\0",
        String(repeating: "a", count: 65),
    ])
    func `other names are refused`(_ name: String) throws {
        #expect(distrust(name) == .badName(name))
    }

    @Test(arguments: ["ostiary-face", "a.b_c-1", String(repeating: "a", count: 64)])
    func `plain names pass`(_ name: String) throws {
        try services.write("auth required pam_deny.so", to: name)
        #expect(distrust(name) == nil)
    }

    // MARK: who can change it

    @Test func `a missing file is named`() throws {
        #expect(distrust() == .missing(path))
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(distrust() == .missing(path))
    }

    @Test(arguments: [0o664, 0o646, 0o666] as [mode_t])
    func `a file that others can write to is refused`(_ mode: mode_t) throws {
        try services.write("auth required pam_deny.so")
        #expect(distrust() == nil)
        try #require(chmod(path, mode) == 0)
        #expect(distrust() == .untrusted(.writableByOthers(path)))
    }

    @Test func `a file in a folder that others can write to is refused`() throws {
        try services.write("auth required pam_deny.so")
        try #require(chmod(services.folder.path, 0o777) == 0)
        #expect(distrust() == .untrusted(.writableByOthers(services.folder.path)))
    }

    @Test(.enabled(if: getuid() == 0, "only root can give files away"))
    func `a file of another user is refused, also of the one who asks`() throws {
        try services.write("auth required pam_deny.so")
        try #require(chown(path, 65534, 0) == 0)
        #expect(distrust(trustedUserID: 0) == .untrusted(.otherOwner(path)))
        #expect(distrust(trustedUserID: 65534) == nil)
    }

    @Test func `a link passes only to what nobody else can change`() throws {
        try services.write("auth required pam_deny.so", to: "elsewhere")
        try #require(symlink("elsewhere", path) == 0)
        #expect(distrust() == nil)
        try #require(chmod(services.folder.path("elsewhere"), 0o666) == 0)
        #expect(distrust() == .untrusted(.writableByOthers(services.folder.path("elsewhere"))))
    }

    @Test func `a module that others can write to is refused`() throws {
        let module = services.folder.path("pam_test.so")
        try services.write("auth required \(module)")
        #expect(distrust() == .missing(module))
        try services.write("", to: "pam_test.so")
        #expect(distrust() == nil)
        try #require(chmod(module, 0o666) == 0)
        #expect(distrust() == .untrusted(.writableByOthers(module)))
    }
}
