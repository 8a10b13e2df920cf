import AccessControl
import BrokerTestSupport
import Foundation
import Glibc
import OstiaryWire
import Prompting
import StoreTestSupport
import Testing

@testable import Broker

@Suite(
    "A full disk",
    .enabled(if: SmallDisk.canBeMounted, "mounting a small file system takes root and CAP_SYS_ADMIN"))
struct FullDiskTests {
    let disk: SmallDisk
    let fixture: BrokerFixture

    /// A store with a passcode, unlocked, and no space left.
    init() throws {
        disk = try SmallDisk()
        fixture = try BrokerFixture(stateDirectory: disk.path + "/state")
        try fixture.setPasscode()
        try fixture.create("bound", Requirement(anyOf: [.passcode]), .whenUnlocked)
        try fixture.create("free", .unrestricted, .always)
    }

    private func fill() throws {
        // What the journal has room for already would be written even now.
        fixture.broker.journalEraser.erase()
        try disk.fill()
    }

    /// Everything works again and the log is whole.
    private func expectRecovery(rights: Set<String>) throws {
        try disk.empty()
        let client = try fixture.client()
        #expect(try Set(client.list().map(\.identifier)) == rights)
        try fixture.unlock()
        for name in rights {
            #expect(try fixture.opens(name, answers: name == "bound" ? [.text(BrokerFixture.passcode)] : []))
        }
        try fixture.create("new", .unrestricted, .always)
        #expect(try fixture.opens("new"))
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let verdict = try client.verifyLog(interactive: true)
        #expect(verdict.intact && verdict.sealsChecked)
        try fixture.restart()
        #expect(try fixture.opens("new"))
    }

    @Test func `releases nothing that is not released yet`() throws {
        try fill()
        let client = try fixture.client()
        #expect(try fixture.refusalOfAuthorizing("free")?.code == .logUnwritable)
        let bound = try fixture.refusalOfAuthorizing("bound", answers: [.text(BrokerFixture.passcode)])
        #expect(bound?.code == .diskFull)
        #expect(try refusal { try fixture.create("new", .unrestricted, .always) } == .diskFull)
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try refusal { try client.evaluatePolicy(2, in: client.openContext()) } == .diskFull)
        #expect(try refusal { _ = try client.find("new") } == .notFound)
        try expectRecovery(rights: ["bound", "free"])
    }

    @Test func `changes no passcode`() throws {
        let client = try fixture.client()
        fixture.prompter.prepare([
            .text(BrokerFixture.passcode), .text("another battery 8"), .text("another battery 8"),
        ])
        nonisolated(unsafe) let test = self
        // The disk fills when the present passcode has been proved: the first question is answered before.
        fixture.prompter.always { question in
            guard question.kind != .enterPasscode else { return .text(BrokerFixture.passcode) }
            try? test.fill()
            return .text("another battery 8")
        }
        #expect(try refusal { try client.passcode(.change) } == .diskFull)
        fixture.prompter.always(nil)
        try expectRecovery(rights: ["bound", "free"])
    }

    @Test func `signs as long as the log has reserved space, and then no more`() throws {
        let client = try fixture.client()
        let context = try client.authorize("free")
        let right = try client.find("free")
        try fill()
        let before = try client.log().count
        var signatureCount = 0
        var code: WireFailureCode?
        while code == nil, signatureCount < 20_000 {
            code = try refusal { _ = try client.sign(right, in: context) }
            if code == nil { signatureCount += 1 }
        }
        #expect(code == .logUnwritable)
        #expect(try client.log().count - before == signatureCount)
        #expect(try refusal { _ = try client.secret(of: right, in: context) } == .logUnwritable)
        try disk.empty()
        #expect(try client.sign(right, in: context))
        try expectRecovery(rights: ["bound", "free"])
    }

    @Test func `locks, deauthorizes and removes`() throws {
        let client = try fixture.client()
        let context = try client.authorize("free")
        let right = try client.find("free")
        try fill()
        try client.deauthorize(context)
        #expect(try refusal { _ = try client.sign(right, in: context) } == .notAuthorized)
        #expect(try client.status().unlocked)
        try client.lock()
        #expect(try !client.status().unlocked)
        try client.remove("free")
        #expect(try client.list().map(\.identifier) == ["bound"])
        try expectRecovery(rights: ["bound"])
    }

    @Test func `removes everything at once`() throws {
        try fill()
        let client = try fixture.client()
        try client.removeAll()
        #expect(try client.list().isEmpty)
        try expectRecovery(rights: [])
    }

    @Test func `does not keep the daemon from starting`() throws {
        try fill()
        fixture.close()
        try disk.fill()
        let copy = try BrokerFixture(in: TestFolder(), stateDirectory: disk.path + "/state")
        let client = try copy.client()
        #expect(try client.list().count == 2)
        try client.remove("free")
        #expect(try client.list().count == 1)
    }
}

/// A file system of a few megabytes in memory, unmounted with the value.
final class SmallDisk: Sendable {
    private static let byteCount = 6 * 1024 * 1024
    private let folder: TestFolder
    var path: String { folder.path("disk") }

    struct NotMounted: Error {}

    static let canBeMounted: Bool = {
        do { return try withExtendedLifetime(SmallDisk()) { true } } catch { return false }
    }()

    init() throws {
        folder = try TestFolder()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(Self.byteCount),mode=0700") == 0 else { throw NotMounted() }
    }

    deinit { umount2(path, CInt(MNT_DETACH)) }

    /// Takes all the space that is left.
    func fill() throws {
        let file = open(path + "/filler", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw NotMounted() }
        defer { Glibc.close(file) }
        let block = [UInt8](repeating: 0, count: 4096)
        while write(file, block, block.count) > 0 {}
        guard errno == ENOSPC else { throw NotMounted() }
    }

    /// Frees what ``fill()`` took.
    func empty() throws { guard unlink(path + "/filler") == 0 || errno == ENOENT else { throw NotMounted() } }
}
