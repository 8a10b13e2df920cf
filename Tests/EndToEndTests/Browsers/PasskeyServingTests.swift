import DaemonTestSupport
import Foundation
import Testing

/// This machine as a security key: the program that shows it, a real daemon, and python-fido2 as the browser. The test plays the
/// kernel's side of the device.
@Suite("Passkeys for browsers, end to end", .serialized)
struct PasskeyServingTests {
    private let daemon: PrivateDaemon
    private let browser: BrowserStage
    private var door: ProgramCopy { browser.door }

    init() throws {
        daemon = try PrivateDaemon(.withPasscode)
        browser = try BrowserStage(in: daemon)
    }

    private func register(_ options: String...) throws { try browser.register(options) }

    private func play(_ scene: String) throws { try browser.play(scene) }

    /// What the door says when it may not serve.
    private func refusal() throws -> String {
        let run = try UnattendedRun(door.url, [], in: daemon)
        #expect(run.status == 3)
        return run.output
    }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            "relying_party", "accounts", "openssh", "management", "secrets_of_credentials", "tokens", "refusals",
            "declined", "channels",
            "cancelled", "framing", "daemon_gone",
        ])
    func `python-fido2 is served`(_ scene: String) throws {
        try register("--browser")
        try play(scene)
    }

    @Test func `a program that is not registered gets no answer`() throws {
        #expect(try refusal() == "refused 69 browser.not-registered\n")
    }

    @Test func `a program that is registered for a domain alone gets no answer`() throws {
        try register("--webcredentials", "example.com")
        #expect(try refusal() == "refused 69 browser.not-a-browser\n")
    }

    @Test func `a browser that was replaced gets no answer until it is adopted`() throws {
        try register("--browser")
        try door.rebuild()
        #expect(try refusal() == "refused 72 program.changed\n")
        let adopted = try PlayedTerminal(
            BuiltProgram.named("ostiary"), ["app", "adopt", door.url.path], answers: [PrivateDaemon.passcode],
            in: daemon)
        #expect(adopted.status == 0, "\(adopted.screen)")
        try play("framing")
    }

    @Test func `the owner sees that a program becomes a browser`() throws {
        let run = try PlayedTerminal(
            BuiltProgram.named("ostiary"), ["app", "register", door.url.path, "--id", BrowserStage.id, "--browser"],
            answers: [PrivateDaemon.passcode], in: daemon)
        #expect(run.shows("let it use passkeys of this machine for any domain, as a browser"), "\(run.screen)")
        let list = try UnattendedRun(BuiltProgram.named("ostiary"), ["app", "list", "--json"], in: daemon)
        #expect(list.output.contains(#""browser" : true"#), "\(list.output)")
    }

    @Test(.enabled(if: !FileManager.default.fileExists(atPath: "/dev/uhid"), "the kernel has uhid, so it serves"))
    func `without the kernel's module the command says which one`() throws {
        let run = try UnattendedRun(BuiltProgram.named("ostiary"), ["passkey", "serve"], in: daemon)
        #expect(run.status == 1)
        #expect(run.output.contains("modprobe uhid"), "\(run.output)")
    }
}
