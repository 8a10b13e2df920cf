import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// The locks of the store's files: a process loses its record locks on a file with any descriptor of it that it closes, and a
/// store without locks loses its journal to the next program that looks into it.
@Suite(.timeLimit(.minutes(10))) struct StoreLockTests {
    private let daemon: DaemonProcess
    private let client: RawClient

    init() throws {
        daemon = try DaemonProcess(in: DaemonFolders())
        client = try daemon.client()
        _ = try client.ask(.createRight("kept", .unrestricted))
    }

    private static let seesDescriptors: Comment = "only root sees the descriptors of a daemon that is not dumpable"
    private static let names = ["vault.sqlite", "vault.sqlite-shm"]

    /// How a caller names or hands over a file of the store.
    enum Way: CaseIterable { case passed, passedBesideTheTerminal, registered, registeredUnderAnotherName }

    @Test(arguments: names, Way.allCases)
    func `no caller can make the daemon let go of its locks`(_ name: String, _ way: Way) throws {
        let path = daemon.folders.state + "/" + name
        let held = try locks(on: path)
        #expect(!held.isEmpty)
        switch way {
        case .passed: try pass([path])
        case .passedBesideTheTerminal: try pass(["/dev/null", path])
        case .registered: try expectUnregistrable(path, .invalidParameter)
        case .registeredUnderAnotherName:
            let other = daemon.folders.root.path("tool")
            try #require(link(path, other) == 0 && chmod(other, 0o755) == 0)
            try expectUnregistrable(other, .programUnverified)
        }
        #expect(try locks(on: path) == held)
    }

    /// Sends the files' descriptors along with a frame; that ends the connection.
    private func pass(_ paths: [String]) throws {
        let thief = try daemon.client()
        for path in paths {
            let file = try Descriptor(open(path, O_RDWR | O_CLOEXEC), from: "open")
            try thief.send(bytes: [0], descriptor: file.number)
        }
        #expect(try thief.isEndedByDaemon)
        try eventually("the log says so") {
            daemon.standardError.contains("cause=foreignDescriptor")
                || daemon.standardError.contains("cause=surplusDescriptors")
        }
    }

    @Test(.enabled(if: Account.isRoot, seesDescriptors))
    func
        `descriptors of the store that are passed before the greeting take up a limited number, and others are served`()
        throws
    {
        let path = daemon.folders.state + "/vault.sqlite"
        let before = try descriptorCount(of: path)
        for _ in 0..<200 {
            let thief = try daemon.connect()
            let file = try Descriptor(open(path, O_RDWR | O_CLOEXEC), from: "open")
            try thief.send(bytes: [0], descriptor: file.number)
            thief.closeSending()
            _ = try thief.greeting()
            #expect(try thief.isEndedByDaemon)
        }
        #expect(try descriptorCount(of: path) == before + KeptDescriptors.limit)
        #expect(try !daemon.client().status().daemonVersion.isEmpty)
    }

    @Test(.enabled(if: Account.isRoot, seesDescriptors))
    func `descriptors of the store that are passed by many programs take up a limited number, and others are served`()
        throws
    {
        let path = daemon.folders.state + "/vault.sqlite"
        let before = try descriptorCount(of: path)
        let held = try locks(on: path)
        for _ in 0..<200 {
            let thief = try daemon.client()
            let file = try Descriptor(open(path, O_RDWR | O_CLOEXEC), from: "open")
            try thief.send(bytes: [0], descriptor: file.number)
            thief.closeSending()
            #expect(try thief.isEndedByDaemon)
        }
        #expect(try descriptorCount(of: path) == before + KeptDescriptors.limit)
        #expect(try locks(on: path) == held)
        // From now on a descriptor that is passed counts as none. Everything that needs none goes on.
        let null = try Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC), from: "open")
        let other = try daemon.client()
        let answer = try other.ask(.passcode(.set), descriptor: null.number)
        #expect(answer.refusal == .notInteractive && answer.cause == "prompt.not-interactive")
        #expect(try other.ask(.createRight("open", .unrestricted)).right != nil)
    }

    /// How many descriptors of a file the daemon has.
    private func descriptorCount(of path: String) throws -> Int {
        let folder = "/proc/\(daemon.processID)/fd"
        return try FileManager.default.contentsOfDirectory(atPath: folder).count {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) == path
        }
    }

    private func expectUnregistrable(_ path: String, _ code: WireFailureCode) throws {
        let request = WireRegisterApplicationRequest.with {
            $0.path = path
            $0.applicationID = "com.example.tool"
            $0.question = .reason("to test")
        }
        #expect(try client.ask(.registerApplication(request)).refusal == code)
    }

    /// The daemon's record locks on a file, as the kernel lists them.
    private func locks(on path: String) throws -> [String] {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n")
            .map { $0.split(separator: " ").dropFirst().joined(separator: " ") }
            .filter { $0.contains(" \(daemon.processID) ") && $0.contains(":\(status.st_ino) ") }.sorted()
    }
}
