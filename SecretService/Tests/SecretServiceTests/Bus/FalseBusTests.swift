import DaemonTestSupport
import Foundation
import Glibc
import MessageBus
import SecretProgramSupport
import Testing

@testable import SecretService

/// The bus says who calls, so a program that plays one could act under every name.
@Suite(.timeLimit(.minutes(10))) struct FalseBusTests {
    /// A bus's program at a place of the test's own.
    private final class Copy {
        let folder: URL
        let program: URL

        init(named name: String, mode: Int) throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("ostiary-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            program = folder.appendingPathComponent(name)
            let original = URL(fileURLWithPath: "/usr/bin/dbus-daemon").resolvingSymlinksInPath()
            try FileManager.default.copyItem(at: original, to: program)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: program.path)
        }

        deinit { try? FileManager.default.removeItem(at: folder) }
    }

    /// A file of the user's own, or where the tests are root's one that others may write.
    @Test func `a bus that a user's file runs is refused`() throws {
        let copy = try Copy(named: "dbus-daemon", mode: 0o777)
        let bus = try TestBus(program: copy.program)
        let service = SecretService(PlayedStore(), now: { 0 }, note: { _ in })
        let refused = #expect(throws: ServiceStartFailure.self) {
            try service.start(on: .address(bus.address)) { _ in }
        }
        let words = refused?.words ?? ""
        #expect(words.hasPrefix("The session's bus is run by process "), "\(words)")
        #expect(words.contains("dbus-daemon or dbus-broker of root's"), "\(words)")
    }

    @Test func `a bus of another name is refused, whoever owns its file`() throws {
        let copy = try Copy(named: "message-bus", mode: 0o755)
        let bus = try TestBus(program: copy.program)
        #expect(throws: ServiceStartFailure.self) { try ServedSecrets(on: bus) }
    }

    /// In a PID namespace of its own a bus says numbers of that one, and a user chooses them there.
    @Test(.enabled(if: TestBus.hasNamespaces, "this user may make no namespaces"))
    func `a bus that counts processes apart is refused, whatever it executes`() throws {
        let bus = try TestBus(isInOwnNamespace: true)
        #expect(throws: ServiceStartFailure.self) { try ServedSecrets(on: bus) }
    }

    /// With systemd, the service manager listens at the socket of the session's bus.
    @Test func `a bus at whose socket another process listens is served`() throws {
        let served = try ServedSecrets(on: TestBus(isListenedForByAnother: true))
        let program = try served.program()
        #expect(try program.search([:]).unlocked == [])
    }

    @Test func `the program says so, and ends with a failure`() throws {
        let copy = try Copy(named: "message-bus", mode: 0o755)
        let bus = try TestBus(program: copy.program)
        let process = Process()
        let errors = Pipe()
        process.executableURL = BuiltProgram.named("ostiary-secrets")
        process.environment = ["PATH": "/usr/bin:/bin", "DBUS_SESSION_BUS_ADDRESS": bus.address]
        process.standardInput = FileHandle.nullDevice
        process.standardError = errors
        try process.run()
        // One that serves does not end.
        try? eventually("it has ended", seconds: 120) { !process.isRunning }
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        let words = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 1 && words.contains("The session's bus is run by process "), "\(words)")
    }
}
