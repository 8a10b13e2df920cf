import Foundation
import StoreTestSupport
import Synchronization
import TPMTestSupport
import TerminalTestSupport
import Testing

@testable import TPMEnclave

/// Keys that are used in turn: each has a connection of its own behind a resource manager.
@Suite(.timeLimit(.minutes(10))) struct KeyConnectionTests {
    private let tpm: SoftwareTPM
    private let commands = Recorder()
    private let proxy: HostileProxy
    private let manager: ResourceManager

    /// The commands that reach the chip, in order.
    private final class Recorder: Sendable {
        private let recorded = Mutex<[RecordedCommand]>([])

        func note(_ command: RecordedCommand) { recorded.withLock { $0.append(command) } }

        /// The commands of `body`, and those after it with which the resource manager puts the contexts away.
        func during(_ body: () throws -> Void) throws -> [RecordedCommand] {
            try settle()
            recorded.withLock { $0 = [] }
            try body()
            return try settle()
        }

        @discardableResult private func settle() throws -> [RecordedCommand] {
            var last: [RecordedCommand]?
            try eventually("the chip is left alone") {
                let now = recorded.withLock { $0 }
                defer { last = now }
                usleep(50_000)
                return now == last
            }
            return last ?? []
        }
    }

    init() throws {
        tpm = try SoftwareTPM()
        try tpm.keepStorageKey()
        proxy = try HostileProxy(to: tpm) { [commands] command in
            commands.note(command)
            return nil
        }
        manager = try ResourceManager(of: proxy.configuration)
    }

    /// `chip-signer`, which obeys until the value ends.
    private struct Signer {
        private let process = Process()
        private let input = Pipe()
        private let output = Pipe()

        init(_ manager: ResourceManager, keyConnections: Int, keys: [String]) throws {
            process.executableURL = URL(fileURLWithPath: Build.program("chip-signer"))
            process.arguments = [ResourceManager.configuration, "\(keyConnections)"]
            process.environment = Dictionary(
                uniqueKeysWithValues: manager.environment.map {
                    let parts = $0.split(separator: "=", maxSplits: 1).map(String.init)
                    return (parts[0], parts[1])
                })
            (process.standardInput, process.standardOutput) = (input, output)
            try process.run()
            for key in keys { for order in ["make", "open"] { try #require(tell(order, key) == "done") } }
        }

        /// Its answer to one order.
        func tell(_ order: String, _ key: String) -> String {
            input.fileHandleForWriting.write(Data("\(order) \(key)\n".utf8))
            var line = Data()
            while line.last != UInt8(ascii: "\n") {
                let more = output.fileHandleForReading.availableData
                if more.isEmpty { break }
                line += more
            }
            return String(decoding: line.dropLast(), as: UTF8.self)
        }

        func sign(_ keys: String..., location: SourceLocation = #_sourceLocation) {
            for key in keys { #expect(tell("sign", key) == "done", sourceLocation: location) }
        }

        func end() {
            input.fileHandleForWriting.closeFile()
            process.waitUntilExit()
        }
    }

    private func withSigner(_ keyConnections: Int, _ keys: [String], _ body: (Signer) throws -> Void) throws {
        let signer = try Signer(manager, keyConnections: keyConnections, keys: keys)
        defer { signer.end() }
        try body(signer)
    }

    @Test func `keys in turn take as many commands as one key alone`() throws {
        try withSigner(4, ["a", "b", "c"]) { signer in
            signer.sign("c", "c")
            let alone = try commands.during { signer.sign("c") }
            #expect(alone.count { $0 == .sign } == 1)
            signer.sign("a", "b", "c")
            for key in ["a", "b", "c", "b", "a", "c"] {
                #expect(try commands.during { signer.sign(key) } == alone)
            }
        }
    }

    @Test func `without connections of their own they take more`() throws {
        try withSigner(0, ["a", "b"]) { signer in
            signer.sign("b", "b")
            let alone = try commands.during { signer.sign("b") }
            signer.sign("a", "b")
            #expect(try commands.during { signer.sign("a") }.count >= alone.count + 2)
        }
    }

    @Test func `more keys than connections sign in turn, each with its own key`() throws {
        let keys = (0..<5).map { "key-\($0)" }
        try withSigner(2, keys) { signer in
            for key in keys + keys.reversed() + keys { signer.sign(key) }
        }
    }

    @Test func `a key that was let go is closed, and its connection serves another one`() throws {
        try withSigner(1, ["a", "b", "c"]) { signer in
            // The last one that was opened is in the common connection.
            signer.sign("a", "c")
            #expect(signer.tell("release", "a") == "done")
            #expect(signer.tell("sign", "a") == "Unknown()")
            signer.sign("b", "c", "b")
            #expect(signer.tell("open", "a") == "done")
            signer.sign("a", "b", "c")
        }
    }

    @Test func `after a restart of chip and manager every key signs again, each with its own key`() throws {
        try withSigner(2, ["a", "b", "c"]) { signer in
            signer.sign("a", "b", "c", "a", "b", "c")
            try manager.kill()
            #expect(signer.tell("sign", "a") != "done")
            try tpm.restart()
            try manager.start()
            signer.sign("a", "b", "c", "a", "b", "c")
        }
    }
}

/// A chip without room for a second connection.
@Suite(.timeLimit(.minutes(10))) struct KeyConnectionRefusalTests {
    @Test func `keys in turn sign in the common connection, and nothing is left in the chip`() throws {
        let tpm = try SoftwareTPM()
        try tpm.keepStorageKey()
        let proxy = try HostileProxy(to: tpm)
        do {
            let enclave = try TPMEnclave(
                at: TPMLocation(proxy.configuration, keepsLoaded: true, keyConnectionLimit: 4), storageKey: nil)
            let keys = try (0..<3).map { _ in try enclave.open(try enclave.makeKey()) }
            for _ in 1...3 { for key in keys { try key.expectSignature() } }
        }
        #expect(try tpm.handles() == [0, 0, 0])
    }
}
