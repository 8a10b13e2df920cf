import DaemonTestSupport
import Foundation
import Glibc
import SecretProgramSupport
import Testing

extension SecretsDaemonTests {
    /// Many programs at once, and one that asks for very much.
    @Suite("Many programs, end to end") struct Load {
        private static let tooMuch = "org.freedesktop.DBus.Error.LimitsExceeded"
        private let stage: SecretsStage

        init() throws {
            stage = try SecretsStage()
            try stage.daemon.unlock()
        }

        @Test func `200 programs are served at once, and again after that`() throws {
            let item = try stage.store("Mail", ["a": "1"], "a secret")
            let gate = Gate()
            let programs = try (0..<200).map { _ in try StayingProgram(stage, behind: gate, "stay", item) }
            try eventually("all have read the secret", seconds: 400) { programs.allSatisfy { $0.lines.count == 1 } }
            #expect(programs.allSatisfy { $0.isRunning }, "all of them are there")
            let run = try stage.play("get", "a=1")
            #expect(run.screen.contains("a secret"), "one more is served: \(run.screen) \(stage.log)")
            gate.open()
            for program in programs { #expect(program.waitForLines() == ["a secret", "a secret"], "\(stage.log)") }
        }

        @Test func `a program that floods the service with searches waits for itself`() throws {
            let program = try stage.connect()
            let session = try program.openSession()
            for number in 0..<100 {
                _ = try program.create("Item \(number)", ["number": "\(number)"], "x", session: session)
            }
            let gate = Gate()
            let other = try StayingProgram(stage, behind: gate, "count", "is=last")
            try eventually("the other program is there") { other.lines == ["ready"] }
            for _ in 0..<400 {
                _ = try program.send(SecretProgram.root, "Service", "SearchItems", [.attributes([:])])
            }
            // The other program finds this item if it has to wait for the whole flood.
            let last = BusDatum.properties([
                "org.freedesktop.Secret.Item.Attributes": .attributes(["is": "last"])
            ])
            _ = try program.send(
                SecretProgram.login, "Collection", "CreateItem",
                [last, SecretProgram.parcel("x", session: session), .flag(false)])
            // sd-bus answers this by itself, after all that came before.
            _ = try program.bus.call(
                SecretProgram.root, "org.freedesktop.DBus.Peer", "Ping", to: SecretProgram.service)
            gate.open()
            #expect(other.waitForLines() == ["ready", "0"])
        }

        /// What a call brings counts with eight bytes for each value, to 1 MiB.
        @Test func `the largest secret comes back, and one byte more is refused`() throws {
            let item = try stage.store("Large", ["a": "1"], "a secret")
            let program = try stage.connect()
            let session = try program.openSession()
            let rest = (1 << 20) - 5 * 8 - session.utf8.count - "text/plain".utf8.count
            let largest = String(repeating: "x", count: rest)
            let parcel = SecretProgram.parcel(largest, session: session)
            _ = try program.call(item, "Item", "SetSecret", [parcel])
            #expect(try program.secret(item, session: session) == largest)
            for count in [rest + 1, 1 << 20, (1 << 20) + 1] {
                let larger = SecretProgram.parcel(String(repeating: "y", count: count), session: session)
                let refused = refusedName { _ = try program.call(item, "Item", "SetSecret", [larger]) }
                #expect(refused == Self.tooMuch, "\(count) bytes")
            }
            #expect(try program.secret(item, session: session) == largest)
        }

        @Test func `the largest attributes come back, and one byte more is refused, also together with the label`()
            throws
        {
            let program = try stage.connect()
            let session = try program.openSession()
            let largest = ["a": String(repeating: "x", count: 60 * 1024 - 1)]
            let item = try program.create("Large", largest, "a secret", session: session)
            #expect(try program.search(largest).unlocked == [item])
            #expect(try program.property(item, "Item", "Attributes").dictionary == largest.mapValues { .text($0) })
            let more = ["a": largest["a", default: ""] + "x"]
            #expect(refusedName { _ = try program.create("x", more, "x", session: session) } == Self.tooMuch)
            #expect(refusedName { _ = try program.search(more) } == Self.tooMuch)
            let label = String(repeating: "y", count: 60 * 1024)
            // Each for itself is taken; the daemon refuses both together.
            #expect(refusedName { _ = try program.create(label, largest, "x", session: session) } == Self.tooMuch)
            let labelled = try program.create(label, ["b": "1"], "x", session: session)
            #expect(try program.property(labelled, "Item", "Label") == .text(label))
            #expect(refusedName { _ = try program.create(label + "y", [:], "x", session: session) } == Self.tooMuch)
            #expect(try program.search([:]).unlocked == [item, labelled])
        }
    }
}

/// Where programs stay until it is opened: they read from it.
private final class Gate {
    private let pipe = Pipe()

    init() {
        // A program that had the other end would wait for itself.
        _ = fcntl(pipe.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
    }

    var entrance: FileHandle {
        FileHandle(fileDescriptor: pipe.fileHandleForReading.fileDescriptor, closeOnDealloc: false)
    }

    func open() { try? pipe.fileHandleForWriting.close() }
}

/// A program of its own process that stays until a gate is opened.
private final class StayingProgram {
    private let process = Process()
    private let output: URL

    init(_ stage: SecretsStage, behind gate: Gate, _ arguments: String...) throws {
        output = stage.daemon.folder.appendingPathComponent("stays-\(UUID().uuidString)")
        try Data().write(to: output)
        process.executableURL = SecretsStage.program
        process.arguments = [stage.bus.address] + arguments
        process.environment = ["PATH": "/usr/bin:/bin"]
        process.standardInput = gate.entrance
        process.standardOutput = try FileHandle(forWritingTo: output)
        try process.run()
    }

    deinit {
        guard process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    var isRunning: Bool { process.isRunning }

    /// What it has printed until now.
    var lines: [String] {
        let text = String(decoding: FileManager.default.contents(atPath: output.path) ?? Data(), as: UTF8.self)
        return text.split(separator: "\n").map(String.init)
    }

    /// Waits for its end; returns all of its lines.
    func waitForLines() -> [String] {
        process.waitUntilExit()
        return lines
    }
}
