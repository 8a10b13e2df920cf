import AssociationFiles
import Authenticators
import ExactNames
import Foundation
import Glibc
import HelperProcesses
import OstiaryMessages
import Prompting
import Refusals
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing

@testable import Broker
@testable import Callers

/// How many domains are asked at once. A script stands in for `ostiary-association`, and says yes as soon as the test lets it.
@Suite("Lookups of association files at once", .serialized, .timeLimit(.minutes(10)))
struct AssociationLookupsTests {
    private static let application: ExactName = "com.example.tests"
    private let folder: TestFolder
    private let patient: String

    private static let tooManyOfTwo = Refusal(
        .tooMany, "2 requests of this program wait for the answer of a domain already; try again when one has ended.",
        cause: "association.too-many-of-program")
    private static let tooManyOfOne = Refusal(
        .tooMany, "1 requests of this program wait for the answer of a domain already; try again when one has ended.",
        cause: "association.too-many-of-program")
    private static let tooManyOfOwner = Refusal(
        .tooMany,
        "3 requests of this user's programs wait for the answer of a domain already; try again when one has ended.",
        cause: "association.too-many-of-owner")
    private static let tooManyInAll = Refusal(
        .tooMany, "Too many requests of all programs wait for the answer of a domain already; try again.",
        cause: "association.too-many-in-all")

    init() throws {
        folder = try TestFolder()
        patient = try Self.script(
            """
            : > '\(folder.path)/began.'$$
            while [ ! -e '\(folder.path)/go' ]; do sleep 0.01; done
            printf '\\001' >&3
            """, in: folder)
    }

    /// It reads the request first: what a process leaves unread when it ends takes its answer along.
    private static func script(_ lines: String, in folder: TestFolder) throws -> String {
        let path = folder.path("association")
        let reading = "dd bs=65536 count=1 <&3 > /dev/null 2>&1"
        try Data("#!/bin/sh\n\(reading)\n\(lines)\n".utf8).write(to: URL(fileURLWithPath: path))
        try #require(chmod(path, 0o755) == 0)
        return path
    }

    private func lookups(_ limits: ShareLimits, program: String? = nil) -> AssociationLookups {
        AssociationLookups(
            Associations(
                .spawned(program: program ?? patient), folder: folder.path("administrator"), trustedUserID: geteuid()),
            limits)
    }

    private func letAnswer() throws { try Data().write(to: URL(fileURLWithPath: folder.path("go"))) }

    /// Waits until so many domains have been asked.
    private func waitUntil(begun count: Int) throws {
        try eventually("\(count) domains are asked") {
            try FileManager.default.contentsOfDirectory(atPath: folder.path)
                .count(where: { $0.hasPrefix("began.") }) == count
        }
    }

    /// A lookup of a program, on a thread of its own.
    private final class Lookup: Sendable {
        private let outcome = Mutex<Result<AssociationVerdict, Refusal>?>(nil)
        private let end = DispatchSemaphore(value: 0)
        let cancellation: PromptCancellation

        init(_ lookups: AssociationLookups, of program: ProgramOfOwner, on domain: String = "example.com") throws {
            cancellation = try PromptCancellation()
            let relyingParty = try #require(RelyingPartyIdentifier(domain))
            Thread { [self] in
                let result: Result<AssociationVerdict, Refusal>
                do throws(Refusal) {
                    result = .success(
                        try lookups.verdict(
                            on: relyingParty, for: AssociationLookupsTests.application, of: program,
                            at: .seconds(100), until: cancellation))
                } catch { result = .failure(error) }
                outcome.withLock { $0 = result }
                end.signal()
            }.start()
        }

        /// Waits for the end. Called once.
        func result() throws -> Result<AssociationVerdict, Refusal> {
            try #require(end.wait(timeout: .now() + 120) == .success, "it ends")
            return try #require(outcome.withLock { $0 })
        }
    }

    private func result(
        _ lookups: AssociationLookups, of program: ProgramOfOwner, on domain: String = "example.com"
    ) throws -> Result<AssociationVerdict, Refusal> {
        try Lookup(lookups, of: program, on: domain).result()
    }

    private let sameOfOtherOwner = ProgramOfOwner(owner: .numbered(1), program: "one")

    @Test func `an owner whose programs wait for domains leaves lookups to another owner`() throws {
        let lookups = lookups(ShareLimits(ofProgram: 2, ofOwner: 3, total: 5))
        var waiting = [try Lookup(lookups, of: "one"), try Lookup(lookups, of: "one")]
        try waitUntil(begun: 2)
        #expect(try result(lookups, of: "one") == .failure(Self.tooManyOfTwo))
        waiting.append(try Lookup(lookups, of: "two"))
        try waitUntil(begun: 3)
        #expect(try result(lookups, of: "three") == .failure(Self.tooManyOfOwner))
        for count in 4...5 {
            waiting.append(try Lookup(lookups, of: sameOfOtherOwner))
            try waitUntil(begun: count)
        }
        #expect(try result(lookups, of: sameOfOtherOwner) == .failure(Self.tooManyOfTwo))
        let third = ProgramOfOwner(owner: .numbered(2), program: "one")
        #expect(try result(lookups, of: third) == .failure(Self.tooManyInAll))
        #expect(
            try result(lookups, of: "three") == .failure(Self.tooManyOfOwner), "its own share is named first")
        try letAnswer()
        for lookup in waiting { #expect(try lookup.result() == .success(.associated)) }
        #expect(try result(lookups, of: third, on: "example.org") == .success(.associated))
        try waitUntil(begun: 6)
    }

    @Test func `an answer from the administrator or from memory takes no share`() throws {
        let lookups = lookups(ShareLimits(ofProgram: 1, total: 1))
        try letAnswer()
        #expect(try result(lookups, of: "one", on: "example.com") == .success(.associated))
        try FileManager.default.removeItem(atPath: folder.path("go"))
        try FileManager.default.createDirectory(
            atPath: folder.path("administrator"), withIntermediateDirectories: false)
        try Data(#"{"webcredentials": {"apps": []}}"#.utf8)
            .write(to: URL(fileURLWithPath: folder.path("administrator/example.net.json")))
        let waiting = try Lookup(lookups, of: "one", on: "example.org")
        try waitUntil(begun: 2)
        for program in ["one", "two"] as [ProgramOfOwner] {
            #expect(try result(lookups, of: program, on: "example.com") == .success(.associated))
            #expect(try result(lookups, of: program, on: "example.net") == .success(.notListed))
        }
        #expect(try result(lookups, of: sameOfOtherOwner, on: "example.net") == .success(.notListed))
        #expect(try result(lookups, of: "one", on: "example.edu") == .failure(Self.tooManyOfOne))
        #expect(try result(lookups, of: sameOfOtherOwner, on: "example.edu") == .failure(Self.tooManyInAll))
        try letAnswer()
        #expect(try waiting.result() == .success(.associated))
        try waitUntil(begun: 2)
    }

    /// An owner could otherwise see by the time of an answer which programs and domains another owner uses.
    @Test func `the domain is asked again for another owner's program`() throws {
        let lookups = lookups(ShareLimits(ofProgram: 1, total: 1))
        try letAnswer()
        for (count, program) in [(1, "one"), (2, sameOfOtherOwner)] as [(Int, ProgramOfOwner)] {
            for _ in 1...2 { #expect(try result(lookups, of: program) == .success(.associated)) }
            try waitUntil(begun: count)
        }
    }

    @Test func `a yes gives the share back`() throws {
        let lookups = lookups(ShareLimits(ofProgram: 1, total: 1))
        try letAnswer()
        for domain in ["example.com", "example.org", "example.net"] {
            #expect(try result(lookups, of: "one", on: domain) == .success(.associated))
        }
        try waitUntil(begun: 3)
    }

    @Test func `a no, and a helper that fails or is missing, give the share back`() throws {
        let denier = try Self.script("printf '\\002' >&3", in: folder)
        for (program, verdict) in [
            (denier, AssociationVerdict.notListed), ("/bin/true", .helperFailed), ("/nonexistent", .helperFailed),
        ] {
            let lookups = lookups(ShareLimits(ofProgram: 1, total: 1), program: program)
            for _ in 1...3 { #expect(try result(lookups, of: "one") == .success(verdict), "\(program)") }
        }
    }

    @Test func `a cancelled lookup gives its share back`() throws {
        let lookups = lookups(ShareLimits(ofProgram: 1, total: 1))
        for count in 1...3 {
            let waiting = try Lookup(lookups, of: "one")
            try waitUntil(begun: count)
            #expect(try result(lookups, of: "one") == .failure(Self.tooManyOfOne))
            waiting.cancellation.cancel(because: .clientGone)
            #expect(try waiting.result() == .success(.helperFailed))
        }
    }
}
