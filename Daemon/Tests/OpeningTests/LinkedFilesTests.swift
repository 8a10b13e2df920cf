import AccessControl
import Foundation
import Glibc
import Opening
import OstiaryMessages
import StoreTestSupport
import Testing

@testable import Broker
@testable import BrokerTestSupport

/// A backup of hard links (`cp -al`) of the state folder, made while the daemon did not run or while it did.
@Suite("A state folder with linked files", .timeLimit(.minutes(10)))
struct LinkedFilesTests {
    private let fixture: BrokerFixture
    private let folder: TestFolder

    init() throws {
        fixture = try BrokerFixture()
        folder = fixture.folder
        try fixture.create("before", .unrestricted, .always)
    }

    private var state: String { BrokerFixture.stateDirectory(in: folder) }

    private func link() throws -> TestFolder {
        let backup = try TestFolder()
        let copy = BrokerFixture.stateDirectory(in: backup)
        try FileManager.default.createDirectory(
            atPath: copy, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        for name in try FileManager.default.contentsOfDirectory(atPath: state) {
            #expect(Glibc.link("\(state)/\(name)", "\(copy)/\(name)") == 0)
        }
        return backup
    }

    private func linkCounts() throws -> Set<UInt> {
        try Set(
            FileManager.default.contentsOfDirectory(atPath: state).map { name in
                var status = stat()
                try #require(lstat("\(state)/\(name)", &status) == 0 && status.st_mode & 0o077 == 0)
                return UInt(status.st_nlink)
            })
    }

    private func bytes(_ backup: TestFolder, _ name: String) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: "\(BrokerFixture.stateDirectory(in: backup))/\(name)"))
    }

    @Test func `opens, has files of its own then, and leaves the backup alone`() throws {
        fixture.close()
        let backup = try link()
        #expect(try linkCounts() == [2])
        let (database, log) = (try bytes(backup, "vault.sqlite"), try bytes(backup, "audit.log"))
        let again = try BrokerFixture(in: folder)
        #expect(try linkCounts() == [1])
        #expect(try again.client().find("before").identifier == "before")
        try again.create("after", .unrestricted, .always)
        #expect(try again.opens("after"))
        again.close()
        #expect(try bytes(backup, "vault.sqlite") == database && bytes(backup, "audit.log") == log)
        let old = try BrokerFixture(in: backup)
        #expect(try old.client().list().map(\.identifier) == ["before"])
        let reopened = try BrokerFixture(in: folder)
        #expect(try reopened.client().list().map(\.identifier).sorted() == ["after", "before"])
        reopened.close()
    }

    @Test func `opens when the backup was made while the daemon ran`() throws {
        let copy = try fixture.crashCopy()
        let backup = try TestFolder()
        let (from, to) = (BrokerFixture.stateDirectory(in: copy), BrokerFixture.stateDirectory(in: backup))
        try FileManager.default.createDirectory(
            atPath: to, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        for name in try FileManager.default.contentsOfDirectory(atPath: from) {
            #expect(Glibc.link("\(from)/\(name)", "\(to)/\(name)") == 0)
        }
        #expect(FileManager.default.fileExists(atPath: from + "/vault.sqlite-wal"))
        for folder in [copy, backup] {
            let again = try BrokerFixture(in: folder)
            #expect(try again.client().list().map(\.identifier) == ["before"])
            try again.create("after", .unrestricted, .always)
        }
    }

    @Test func `a copy that a crash left behind is no obstacle`() throws {
        fixture.close()
        let backup = try link()
        try Data("half".utf8).write(to: URL(fileURLWithPath: state + "/vault.sqlite.own"))
        let again = try BrokerFixture(in: folder)
        #expect(try again.client().list().map(\.identifier) == ["before"])
        #expect(!FileManager.default.fileExists(atPath: state + "/vault.sqlite.own"))
        withExtendedLifetime(backup) {}
    }

    @Test func `a copy that a crash left behind goes, although nothing is linked any more`() throws {
        fixture.close()
        let names = try FileManager.default.contentsOfDirectory(atPath: state)
        for name in names {
            try FileManager.default.copyItem(atPath: "\(state)/\(name)", toPath: "\(state)/\(name).own")
        }
        let again = try BrokerFixture(in: folder)
        #expect(try again.client().list().map(\.identifier) == ["before"])
        let left = try FileManager.default.contentsOfDirectory(atPath: state)
        #expect(!left.contains { $0.hasSuffix(".own") })
        again.close()
    }

    @Test func `a copy that cannot be removed is named, and nothing was changed`() throws {
        fixture.close()
        let backup = try link()
        // A folder in the copy's place.
        try FileManager.default.createDirectory(
            atPath: state + "/vault.sqlite.own", withIntermediateDirectories: false)
        let error = #expect(throws: BrokerOpeningError.self) { try BrokerFixture(in: folder) }
        #expect(error?.description.contains("a copy that an interrupted start left") == true)
        #expect(error?.description.contains("vault.sqlite.own") == true)
        #expect(try linkCounts().contains(2))
        try FileManager.default.removeItem(atPath: state + "/vault.sqlite.own")
        let reopened = try BrokerFixture(in: folder)
        #expect(try reopened.client().list().map(\.identifier) == ["before"])
        reopened.close()
        withExtendedLifetime(backup) {}
    }
}
