import DaemonTestSupport
import Foundation
import Testing

/// The program that shows this machine as a security key, and python-fido2 as the browser that uses it. The kernel's side of the device
/// is played, because machines without the module uhid cannot make one.
struct BrowserStage {
    /// The id under which the program is registered.
    static let id = "org.example.hid"
    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    let daemon: PrivateDaemon
    let door: ProgramCopy

    init(in daemon: PrivateDaemon) throws {
        self.daemon = daemon
        door = try ProgramCopy(of: "hid-on-descriptor", as: "door", in: daemon)
    }

    func register(_ options: [String]) throws {
        let run = try PlayedTerminal(
            BuiltProgram.named("ostiary"), ["app", "register", door.url.path, "--id", Self.id] + options,
            answers: [PrivateDaemon.passcode], in: daemon)
        try #require(run.status == 0, "\(run.screen)")
    }

    /// Plays a scene of `Clients/browser.py`.
    func play(_ scene: String) throws {
        let python = Self.package.appendingPathComponent("RelyingParty/.build/witnesses/bin/python3")
        try #require(
            FileManager.default.isExecutableFile(atPath: python.path),
            "This test needs the Python package fido2. Run script/setup test.")
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "Clients/browser.py")
        let command = [BuiltProgram.named("ostiary").path, BuiltProgram.named("ostiaryd").path]
        let folders = ["--runtime-directory", daemon.runtimeDirectory, "--state-directory", daemon.stateDirectory]
        let run = try UnattendedRun(
            python, ["-B", script.path, door.url.path, PrivateDaemon.passcode, scene] + command + folders, in: daemon)
        #expect(run.status == 0, "\(run.output)")
    }
}
