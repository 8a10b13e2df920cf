import AccessControl
import Foundation
import Glibc
import OstiaryWire
import StoreTestSupport
import TPMTestSupport
import TerminalTestSupport
import Testing

/// A whole older state folder in the place of the newest one, on a real TPM in software, and crashes around the chip's counter.
@Suite(.timeLimit(.minutes(10))) struct TPMRollbackTests {
    private let stage: TPMStage

    init() throws { stage = try TPMStage() }

    // MARK: steps

    private func stop() { #expect(stage.daemon.stop() == .exited(0)) }

    private func remove(_ name: String) throws {
        let answer = try stage.client.ask(.removeRight(name))
        try #require(answer.isDone, "\(answer.failure?.explanation ?? "")")
    }

    private func hasRight(_ name: String) throws -> Bool { try stage.client.ask(.findRight(name)).right != nil }

    /// Starts a daemon that must refuse; what it says.
    private func refusal() throws -> String {
        let start = try DaemonStart(in: stage.folders)
        #expect(start.ending == .exited(1))
        return start.report
    }

    private var notTheNewest: String { "is not the newest copy" }

    /// The handle of the only index, the counter, while there is no passcode.
    private func counter() throws -> String {
        let indexes = try stage.tpm.tool("tpm2_getcap", "handles-nv-index").matches(of: /0x[0-9A-F]+/)
        #expect(indexes.count == 1)
        return String(try #require(indexes.first).0)
    }

    // MARK: older copies

    @Test func `an older folder is refused and left alone, and the newest one opens`() throws {
        _ = try stage.makeRight("old", .unrestricted)
        stop()
        let older = try stage.folders.snapshot()
        try stage.restart(stopped: true)
        try remove("old")
        stop()
        let newest = try stage.folders.snapshot()

        try stage.folders.restore(older)
        let report = try refusal()
        #expect(report.contains(notTheNewest) && report.contains("--accept-older-store"), "\(report)")
        #expect(try stage.folders.database == older["vault.sqlite"]?.contents)

        try stage.folders.restore(newest)
        try stage.restart(stopped: true)
        #expect(try !hasRight("old"))
    }

    @Test func `a copy that was made while the daemon ran is refused after the next removal, without a restart`() throws {
        _ = try stage.makeRight("old", .unrestricted)
        let older = try stage.folders.snapshot()
        try remove("old")
        stage.daemon.kill()
        try stage.folders.restore(older)
        #expect(try refusal().contains(notTheNewest))
    }

    @Test func `a change of an item alone is covered by the next start`() throws {
        stop()
        let older = try stage.folders.snapshot()
        try stage.restart(stopped: true)
        #expect(try stage.client.ask(.addItem("item", in: nil), tail: Array("x".utf8)).items?.count == 1)
        stage.daemon.kill()
        try stage.restart(stopped: true)
        stop()
        try stage.folders.restore(older)
        #expect(try refusal().contains(notTheNewest))
    }

    @Test func `starts without a change move nothing`() throws {
        let handle = try counter()
        stop()
        try stage.restart(stopped: true)
        stop()
        let name = try stage.tpm.tool("tpm2_nvreadpublic", handle)
        let before = try stage.tpm.permanentState()
        try stage.restart(stopped: true)
        stop()
        #expect(try stage.tpm.permanentState() == before)
        #expect(name.contains("authwrite|nt=counter|no_da") || name.contains("nt=0x1"), "\(name)")
    }
}

extension DaemonFolders {
    /// Puts a former state folder back, as one.
    func restore(_ former: [String: Entry]) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: state) { unlink("\(state)/\(name)") }
        for (name, entry) in former {
            guard let contents = entry.contents else { continue }
            try write(contents, to: "\(state)/\(name)", mode: entry.mode & 0o7777)
        }
    }

    var database: Data { get throws { try Data(contentsOf: URL(fileURLWithPath: store)) } }
}
