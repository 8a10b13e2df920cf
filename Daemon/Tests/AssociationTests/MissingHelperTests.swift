import AssociationFiles
import BrokerTestSupport
import Callers
import ExactNames
import Foundation
import Glibc
import HelperProcesses
import Prompting
import StoreTestSupport
import Testing

/// What the daemon's log says while `ostiary-association` cannot be started.
@Suite("A helper for associations that is missing")
struct MissingHelperTests {
    private let folder: TestFolder
    private let associations: Associations
    private let recorded = RecordedLog()

    init() throws {
        folder = try TestFolder()
        associations = Associations(
            .spawned(program: folder.path("helper")), folder: folder.path("none"), log: recorded.logger)
    }

    private func ask() throws -> AssociationVerdict {
        associations.askDomain(
            try #require(RelyingPartyIdentifier("example.com")), about: "com.example.tests", of: nil,
            at: .seconds(100), until: try PromptCancellation())
    }

    private var toldCount: Int { recorded.count(of: "a domain was not asked: ostiary-association is not there") }

    /// It reads the request, and says that the domain does not name the program.
    private func install() throws {
        let path = folder.path("helper")
        let script = "#!/bin/sh\ndd bs=65536 count=1 <&3 > /dev/null 2>&1\nprintf '\\002' >&3\n"
        try Data(script.utf8).write(to: URL(fileURLWithPath: path))
        try #require(chmod(path, 0o755) == 0)
    }

    @Test func `is told once, however often a program has a domain asked, and again when it is missing again`() throws {
        for _ in 1...50 { #expect(try ask() == .helperFailed) }
        #expect(toldCount == 1)
        try install()
        #expect(try ask() == .notListed)
        try FileManager.default.removeItem(atPath: folder.path("helper"))
        for _ in 1...50 { #expect(try ask() == .helperFailed) }
        #expect(toldCount == 2)
    }
}
