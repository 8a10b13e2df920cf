import Foundation
import OstiaryMessages
import StoreTestSupport
import Testing

@testable import Diagnosis

/// What the doctor says of lines with `pam_ostiary.so`, in folders of the test's own. What is refused here was tried with libpam 1.5.2.
@Suite("The doctor on sign-ins")
struct PAMStackTests {
    let folder: TestFolder
    let modules: TestFolder

    init() throws {
        folder = try TestFolder()
        modules = try TestFolder()
        try Data().write(to: URL(fileURLWithPath: modules.path("pam_ostiary.so")))
    }

    private func write(_ text: String, to service: String = "sudo") throws {
        try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: folder.path(service)))
    }

    private func findings(modules: String? = nil) -> [WireFinding] {
        PAMStackExamination(folder: folder.path, moduleFolders: [modules ?? self.modules.path]).findings()
    }

    /// The one finding of a service with these lines.
    private func finding(_ text: String) throws -> WireFinding {
        try write(text)
        let findings = findings()
        try #require(findings.count == 1, "\(findings)")
        return findings[0]
    }

    private func expect(
        _ text: String, _ verdict: WireFinding.Verdict, says words: String,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let finding = try finding(text)
        #expect(finding.check == "sign-in", sourceLocation: location)
        #expect(finding.verdict == verdict, "\(finding)", sourceLocation: location)
        #expect(finding.message.contains(words), "\(finding)", sourceLocation: location)
        #expect(finding.advice.isEmpty == (verdict == .ok), sourceLocation: location)
    }

    private static let unix = "auth required pam_unix.so"

    // MARK: what a line does

    /// The lines that pam-auth-update makes of both profiles.
    private func writeProfiles() throws {
        try write(
            """
            auth [success=2 default=ignore] pam_ostiary.so
            auth [success=1 default=ignore] pam_unix.so nullok
            auth requisite pam_deny.so
            auth required pam_permit.so
            auth optional pam_cap.so
            auth optional pam_ostiary.so stash
            """, to: "common-auth")
        try write(
            """
            session [default=1] pam_permit.so
            session requisite pam_deny.so
            session required pam_permit.so
            session optional pam_ostiary.so
            """, to: "common-session")
        try write(
            """
            password [success=1 default=ignore] pam_unix.so obscure yescrypt
            password requisite pam_deny.so
            password required pam_permit.so
            password optional pam_ostiary.so
            """, to: "common-password")
        let all = ["common-auth", "common-session", "common-password"].map { "@include \($0)" }
        try write("auth required pam_nologin.so\n" + all.joined(separator: "\n"), to: "login")
        try write("@include common-auth", to: "sudo")
    }

    @Test func `the lines of both profiles are whole, and each says what it does and where`() throws {
        try writeProfiles()
        let findings = findings()
        #expect(findings.map(\.verdict) == [.ok, .ok, .ok, .ok], "\(findings)")
        func place(_ file: String, _ line: Int) -> String { "\(folder.path)/common-\(file):\(line)" }
        #expect(
            findings.map(\.message) == [
                "\(place("auth", 1)) (login, sudo): asks for a finger, a security key or the passcode.",
                "\(place("auth", 6)) (login, sudo): keeps the password to open the store with.",
                "\(place("password", 4)) (login): tells ostiaryd of a changed password.",
                "\(place("session", 4)) (login): opens the store with the password that was kept.",
            ])
    }

    @Test func `without the module, or without a folder, nothing is wrong`() throws {
        try expect(Self.unix, .ok, says: "so sign-ins know nothing of Ostiary")
        #expect(
            PAMStackExamination(folder: folder.path("none"), moduleFolders: []).findings().map(\.verdict) == [.ok])
        try expect("# auth required pam_ostiary.so", .ok, says: "know nothing of Ostiary")
    }

    @Test func `comments, continued lines, brackets, letters and a dash are read as libpam does`() throws {
        try expect(
            "-AUTH [success=1 \\\n  default=ignore]  /lib/security/../pam_ostiary.so no-ask # and so on\n\(Self.unix)\n"
                + "auth required pam_permit.so", .notice, says: "The module is not installed")
        try expect(
            "# a comment\n\nauth\tSufficient pam_ostiary.so [no-ask] no-terminal remote debug\n\(Self.unix)", .ok,
            says: ":3 (sudo): waits for a finger or a security key.")
    }

    @Test func `a part of another folder, an include of one type and a substack are followed`() throws {
        let other = try TestFolder()
        try Data("auth sufficient pam_ostiary.so\naccount required pam_ostiary.so\n".utf8)
            .write(to: URL(fileURLWithPath: other.path("part")))
        try expect("auth include \(other.path("part"))\n\(Self.unix)", .ok, says: "\(other.path("part")):1 (sudo)")
        // A yes ends the substack alone.
        try expect(
            "auth substack \(other.path("part"))\nauth required pam_faillock.so", .ok, says: "\(other.path("part")):1")
        withExtendedLifetime(other) {}
    }

    // MARK: who is refused

    @Test(
        arguments: [
            "auth required pam_ostiary.so\n\(unix)", "auth requisite pam_ostiary.so",
            "auth [success=ok default=die] pam_ostiary.so", "auth [success=done auth_err=ignore] pam_ostiary.so",
        ])
    func `a line that must say yes locks everybody out with the daemon`(_ text: String) throws {
        try expect(text, .problem, says: "While ostiaryd does not answer, everybody is refused.")
    }

    @Test func `a line that may fail locks nobody out`() throws {
        try expect("auth sufficient pam_ostiary.so\n\(Self.unix)", .ok, says: "asks")
        try expect(
            "auth [success=done authinfo_unavail=ignore default=die] pam_ostiary.so\n\(Self.unix)", .ok, says: "asks")
    }

    @Test func `a yes that leads to a denial, to the end or past it refuses`() throws {
        let rest =
            "auth [success=1 default=ignore] pam_unix.so\nauth requisite pam_deny.so\n"
            + "auth required pam_permit.so"
        func text(_ count: Int) -> String { "auth [success=\(count) default=ignore] pam_ostiary.so\n\(rest)" }
        try expect(text(1), .problem, says: "the next line is pam_deny.so")
        try expect(text(2), .ok, says: "asks")
        try expect(text(3), .problem, says: "no line is left that lets anybody in")
        try expect(text(4), .problem, says: "no line is left that lets anybody in")
        // A line before has let in whom it does not refuse.
        try expect("auth required pam_nologin.so\n" + text(3), .ok, says: "asks")
    }

    @Test func `a substack is passed over as one line`() throws {
        try write("auth required pam_unix.so\nauth requisite pam_deny.so", to: "part")
        let start = "auth [success=1 default=ignore] pam_ostiary.so\nauth substack part\n"
        try expect(start + "auth required pam_permit.so", .ok, says: "asks")
        try expect(start + "auth required pam_deny.so", .problem, says: "pam_deny.so")
    }

    @Test(arguments: ["sufficient", "[success=2 default=ignore]"])
    func `a yes that passes over a line which may refuse is dangerous`(_ control: String) throws {
        for gate in ["pam_faillock.so", "pam_nologin.so", "pam_u2f.so", "pam_google_authenticator.so"] {
            try expect(
                "auth \(control) pam_ostiary.so\nauth required \(gate)\n\(Self.unix)\n"
                    + "auth required pam_permit.so", .problem,
                says: "Who is recognised passes over \(gate) (\(folder.path("sudo")):2), which may refuse.")
        }
        try expect(
            "auth required pam_nologin.so\nauth \(control) pam_ostiary.so\n\(Self.unix)\nauth optional pam_cap.so\n"
                + "auth required pam_permit.so", .ok, says: "asks")
    }

    @Test func `the module has no part for account`() throws {
        try expect(
            "account required pam_ostiary.so", .problem, says: "has no part for account, so everybody is refused")
        try expect("account optional pam_ostiary.so", .notice, says: "has no part for account, so it does nothing")
    }

    @Test func `a missing module refuses only where its control says so`() throws {
        try write("auth required pam_ostiary.so")
        #expect(findings(modules: "/nonexistent").map(\.verdict) == [.problem])
        #expect(findings(modules: "/nonexistent")[0].message.contains("not installed, so everybody is refused"))
        try write("auth sufficient pam_ostiary.so\n\(Self.unix)")
        #expect(findings(modules: "/nonexistent").map(\.verdict) == [.notice])
        // With its path it is looked for there.
        try expect("auth sufficient \(modules.path("pam_ostiary.so"))\n\(Self.unix)", .ok, says: "asks")
    }

    @Test func `an unknown word makes a line do nothing`() throws {
        try expect("auth optional pam_ostiary.so stahs", .problem, says: "an unknown word: stahs")
    }

    @Test(arguments: ["session", "password"]) func `the module alone decides nothing`(_ type: String) throws {
        try expect("\(type) required pam_ostiary.so", .problem, says: "No other line decides, so everybody is refused.")
    }

    // MARK: what does nothing

    @Test func `a yes that changes nothing is told`() throws {
        for control in ["optional", "[success=ignore default=ignore]"] {
            try expect(
                "auth \(control) pam_ostiary.so\n\(Self.unix)", .notice, says: "the next lines ask all the same")
        }
    }

    @Test func `an empty password behind sufficient is told`() throws {
        try expect(
            "auth sufficient pam_ostiary.so\nauth required pam_unix.so nullok", .notice,
            says: "Enter alone goes on to pam_unix.so (\(folder.path("sudo")):2), which lets in")
    }

    @Test func `a password is kept only behind the line that checks it, and where a right one leads`() throws {
        let session = "session required pam_unix.so\nsession optional pam_ostiary.so"
        func keeping(_ text: String) throws -> WireFinding {
            try write(text + "\n" + session)
            return try #require(findings().first)
        }
        let stash = "auth optional pam_ostiary.so stash"
        #expect(try keeping("\(Self.unix)\n\(stash)").verdict == .ok)
        let early = try keeping("\(stash)\n\(Self.unix)")
        #expect(early.verdict == .notice && early.message.contains("No line before it asks for a password"))
        for control in ["sufficient", "[success=done default=ignore]", "[success=1 default=ignore]"] {
            let late = try keeping("auth \(control) pam_unix.so\n\(stash)\nauth required pam_permit.so")
            #expect(late.verdict == .notice && late.message.contains("has no turn when the password was right"))
        }
    }

    @Test func `keeping without opening, and opening without keeping, are told`() throws {
        let half = "No service both keeps the password and opens the store with it."
        try expect("\(Self.unix)\nauth optional pam_ostiary.so stash", .notice, says: half)
        try expect("session required pam_unix.so\nsession optional pam_ostiary.so", .notice, says: half)
        // Each in a service of its own is no help.
        try write("\(Self.unix)\nauth optional pam_ostiary.so stash", to: "login")
        #expect(findings().map(\.verdict) == [.notice, .notice])
        // One whole service is enough: sudo keeps a password too, with the common profile.
        try write(
            "\(Self.unix)\nauth optional pam_ostiary.so stash\nsession required pam_unix.so\n"
                + "session optional pam_ostiary.so", to: "login")
        #expect(findings().map(\.verdict) == [.ok, .ok, .ok])
    }

    @Test func `a changed password is told behind the change`() throws {
        try expect(
            "password optional pam_ostiary.so\npassword required pam_unix.so", .notice, says: "it tells of nothing")
        try expect("password required pam_unix.so\npassword optional pam_ostiary.so", .ok, says: "a changed password")
    }

    // MARK: what cannot be read

    @Test(
        arguments: [
            ("garbage", "has no form"), ("auth required", "has no form"),
            ("auth [success=0] pam_unix.so", "has no form"),
            ("auth [succes=1] pam_unix.so", "has no form"), ("auth needed pam_unix.so", "has no form"),
            ("@include none", "none cannot be read"), ("auth include none", "none cannot be read"),
            ("@include sudo", "is included too deeply"),
        ])
    func `a file that libpam refuses is told where the module is`(_ line: String, _ words: String) throws {
        try write("auth sufficient pam_ostiary.so\n\(Self.unix)\n\(line)", to: "sudo")
        // Else a file that includes itself would be a part only.
        try write("@include sudo", to: "su")
        let findings = findings()
        #expect(findings.contains { $0.verdict == .notice && $0.message.contains(words) }, "\(findings)")
        try write(line, to: "sudo")
        #expect(self.findings().map(\.verdict) == [.ok])
    }
}
