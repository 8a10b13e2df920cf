import AssociationFiles
import ExactNames
import Foundation
import Glibc
import HelperProcesses
import HelperTestSupport
import Prompting
import StoreTestSupport
import Testing

@testable import Callers

/// `ostiary-association` against a real server with a certificate authority of the test's own, and the daemon's memory of its
/// answers.
@Suite("Association files of domains", .serialized, .timeLimit(.minutes(10)))
struct AssociationTests {
    private static let application: ExactName = "com.example.tests"
    private let server: AssociationServerProcess
    private let noFiles: TestFolder

    init() throws {
        server = try AssociationServerProcess(naming: Self.application)
        noFiles = try TestFolder()
    }

    private func associations(
        _ access: AssociationServer? = nil, program: String? = nil
    ) -> Associations {
        Associations(
            .spawned(program: program ?? Self.program), folder: noFiles.path("none"), server: access ?? server.access)
    }

    /// Beside the tests.
    private static let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("ostiary-association").path

    private func verdict(
        _ domain: String, _ application: ExactName = Self.application, from associations: Associations? = nil,
        at now: Duration = .seconds(100)
    ) throws -> AssociationVerdict {
        (associations ?? self.associations()).verdict(
            on: try #require(RelyingPartyIdentifier(domain)), for: application, at: now, until: try PromptCancellation()
        )
    }

    @Test func `a domain confirms the program that its file names, and no other one`() throws {
        #expect(try verdict("example.com") == .associated)
        #expect(try verdict("login.example.com") == .associated)
        #expect(try verdict("example.com", "com.example.test") == .notListed)
        #expect(try verdict("example.com", "") == .notListed)
        #expect(try verdict("other.example.com") == .notListed)
        #expect(try server.requests().first == "example.com /.well-known/apple-app-site-association")
    }

    @Test(arguments: [
        ("redirect", AssociationVerdict.redirected), ("moved", .redirected), ("missing", .notFound),
        ("gone", .notFound),
        ("error", .refused), ("forbidden", .refused), ("text", .malformed), ("array", .malformed), ("type", .malformed),
        ("cut", .malformed), ("empty", .malformed), ("deep", .malformed), ("service", .notListed),
        ("largest", .associated), ("large", .tooLarge), ("endless", .tooLarge),
    ])
    func `anything but a file of the right form is a no`(host: String, expected: AssociationVerdict) throws {
        #expect(try verdict("\(host).example.com") == expected)
        let requests = try server.requests()
        #expect(requests.count == 1, "\(requests): a redirect was followed")
    }

    @Test func `a certificate must be for the domain and of a known authority`() throws {
        #expect(try verdict("example.org") == .untrusted)
        #expect(try verdict("a.b.example.com") == .untrusted)
        let withoutAuthority = AssociationServer(connectTo: server.access.connectTo)
        #expect(try verdict("example.com", from: associations(withoutAuthority)) == .untrusted)
        #expect(try server.requests().isEmpty)
    }

    @Test func `a server that cannot be reached is a no`() throws {
        let nowhere = AssociationServer(connectTo: "127.0.0.1:1", authorities: server.access.authorities)
        #expect(try verdict("example.com", from: associations(nowhere)) == .unreachable)
    }

    @Test func `a helper that is missing or says something else is a no`() throws {
        #expect(try verdict("example.com", from: associations(program: "/nonexistent")) == .helperFailed)
        #expect(try verdict("example.com", from: associations(program: "/bin/true")) == .helperFailed)
        let liar = noFiles.path("liar")
        try Data("#!/bin/sh\nprintf '\\001\\001' >&3\n".utf8).write(to: URL(fileURLWithPath: liar))
        #expect(chmod(liar, 0o755) == 0)
        #expect(try verdict("example.com", from: associations(program: liar)) == .helperFailed)
    }

    @Test func `a cancel ends the wait for a slow server`() throws {
        let cancellation = try PromptCancellation()
        let relyingParty = try #require(RelyingPartyIdentifier("slow.example.com"))
        let (associations, start) = (associations(), ContinuousClock.now)
        let thread = Thread {
            usleep(300_000)
            cancellation.cancel(because: .clientGone)
        }
        thread.start()
        #expect(
            associations.verdict(on: relyingParty, for: Self.application, at: .zero, until: cancellation)
                == .helperFailed)
        #expect(ContinuousClock.now - start < .seconds(8))
    }

    @Test func `a helper that the service manager starts gives the same verdicts, and a cancel ends it`() throws {
        let helper = try ActivatedHelper(Self.program)
        let associations = Associations(helper.road, folder: noFiles.path("none"), server: server.access)
        #expect(try verdict("example.com", from: associations) == .associated)
        #expect(try verdict("example.com", "com.example.test", from: associations) == .notListed)
        let cancellation = try PromptCancellation()
        let thread = Thread {
            usleep(300_000)
            cancellation.cancel(because: .clientGone)
        }
        thread.start()
        let (relyingParty, start) = (try #require(RelyingPartyIdentifier("slow.example.com")), ContinuousClock.now)
        #expect(
            associations.verdict(on: relyingParty, for: Self.application, at: .zero, until: cancellation)
                == .helperFailed)
        // The server would take longer.
        while !helper.helpers().isEmpty, ContinuousClock.now - start < .seconds(8) { usleep(10_000) }
        #expect(helper.helpers().isEmpty)
        helper.stopListening()
        #expect(try verdict("example.org", from: associations) == .helperFailed)
    }

    @Test func `a yes counts for a day, and a no is asked for again`() throws {
        let associations = associations()
        let day = Associations.lifetime
        #expect(try verdict("example.com", from: associations, at: .seconds(100)) == .associated)
        try Data().write(to: URL(fileURLWithPath: server.folder.path("takes-back")))
        #expect(try verdict("example.com", from: associations, at: .seconds(99) + day) == .associated)
        #expect(try server.requests().count == 1)
        // Of another program nothing is known.
        #expect(try verdict("example.com", "com.example.other", from: associations, at: .seconds(100)) == .notListed)
        #expect(try verdict("example.com", from: associations, at: .seconds(100) + day) == .notListed)
        try FileManager.default.removeItem(atPath: server.folder.path("takes-back"))
        #expect(try verdict("example.com", from: associations, at: .seconds(101) + day) == .associated)
        #expect(try server.requests().count == 4)
        // A clock that was reset: the machine started again.
        #expect(try verdict("example.com", from: associations, at: .seconds(1)) == .associated)
        #expect(try server.requests().count == 5)
    }

    // MARK: messages

    @Test func `a request is read as it was written, and nothing else is read`() throws {
        let request = AssociationRequest(
            relyingParty: try #require(RelyingPartyIdentifier("example.com")), applicationID: Self.application,
            server: server.access, milliseconds: 9)
        let bytes = try #require(request.bytes)
        #expect(AssociationRequest(decoding: bytes) == request)
        for count in 0..<bytes.count { #expect(AssociationRequest(decoding: Array(bytes[..<count])) == nil) }
        #expect(AssociationRequest(decoding: bytes + [0]) == nil)
        #expect(AssociationRequest(decoding: [2] + bytes.dropFirst()) == nil)
        #expect(
            AssociationRequest(
                decoding: Array(
                    String(decoding: bytes, as: UTF8.self).replacing("example.com", with: "example_com").utf8)) == nil)
    }
}

extension Associations {
    /// As the daemon gets it for a program that has a share left.
    fileprivate func verdict(
        on relyingParty: RelyingPartyIdentifier, for application: ExactName, at now: Duration,
        until cancellation: PromptCancellation
    ) -> AssociationVerdict {
        knownVerdict(on: relyingParty, for: application, of: nil, at: now)
            ?? askDomain(relyingParty, about: application, of: nil, at: now, until: cancellation)
    }
}

/// The server as a process. It ends with the test.
final class AssociationServerProcess {
    let folder: TestFolder
    let access: AssociationServer
    private let process = Process()
    private let input = Pipe()

    init(naming application: ExactName) throws {
        folder = try TestFolder()
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("association-server.py").path
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = [script, folder.path, application.text]
        let output = Pipe()
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        let port = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        _ = try #require(Int(port), "the server did not start")
        access = AssociationServer(connectTo: "127.0.0.1:\(port)", authorities: folder.path("authority.pem"))
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// The requests so far, one line for each.
    func requests() throws -> [String] {
        guard FileManager.default.fileExists(atPath: folder.path("requests")) else { return [] }
        return try String(contentsOfFile: folder.path("requests"), encoding: .utf8).split(separator: "\n").map(
            String.init)
    }
}
