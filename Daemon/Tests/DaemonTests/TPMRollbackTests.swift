import AccessControl
import Foundation
import GRDB
import Glibc
import OstiaryMessages
import StoreTestSupport
import TPMTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

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

    /// Starts a daemon that must refuse; returns its message.
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

    @Test func `a copy that was made while the daemon ran is refused after the next removal, without a restart`() throws
    {
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

    @Test func `a store without its database is not replaced, and opens when the database is back`() throws {
        _ = try stage.makeRight("old", .unrestricted)
        stop()
        let whole = try stage.folders.snapshot()
        try stage.folders.restore(whole.filter { !$0.key.hasPrefix("vault.sqlite") })
        let report = try refusal()
        #expect(report.contains("The database of the store in"), "\(report)")
        #expect(report.contains("Put the database back"), "\(report)")
        #expect(try stage.folders.snapshot()["vault.sqlite"] == nil)
        try stage.folders.restore(whole)
        try stage.restart(stopped: true)
        #expect(try hasRight("old"))
    }

    @Test func `a first start that was killed between the counter and the database is made up`() throws {
        _ = try stage.makeRight("old", .unrestricted)
        stop()
        try stage.folders.restore(stage.folders.snapshot().filter { $0.key == "store-keys" })
        try stage.restart(stopped: true)
        #expect(try !hasRight("old"))
        _ = try counter()
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

    // MARK: crashes

    /// The store's generation, as the database says.
    private func generation() throws -> Int64 {
        let database = try DatabaseQueue(path: stage.folders.store)
        return try database.read { try Int64.fetchOne($0, sql: "SELECT generation FROM roots") ?? 0 }
    }

    @Test func `a kill between the commit and the chip's step loses nothing`() throws {
        _ = try stage.makeRight("old", .unrestricted)
        stop()
        let older = try stage.folders.snapshot()
        try stage.restart(stopped: true)
        let before = try generation()
        stage.tpm.pause()
        try stage.client.send(.removeRight("old"))
        try eventually("the removal is committed") { try generation() > before }
        stage.daemon.kill()
        stage.tpm.resume()
        let between = try stage.folders.snapshot()
        try stage.restart(stopped: true)
        #expect(try !hasRight("old"))
        _ = try stage.makeRight("new", .unrestricted)
        stop()
        for copy in [older, between] {
            try stage.folders.restore(copy)
            #expect(try refusal().contains(notTheNewest))
        }
    }

    @Test func `a store that is one step ahead of the chip opens, and one that is two ahead does not`() throws {
        _ = try stage.makeRight("first", .unrestricted)
        _ = try stage.makeRight("second", .unrestricted)
        stop()
        let chips = try [SoftwareTPM(copying: stage.tpm), SoftwareTPM(copying: stage.tpm)]
        try stage.restart(stopped: true)
        try remove("first")
        let one = try stage.folders.snapshot()
        try remove("second")
        stage.daemon.kill()
        let two = try stage.folders.snapshot()

        try stage.folders.restore(one)
        try stage.folders.write(TPMStage.configuration(of: chips[0]), to: stage.folders.configuration)
        try stage.restart(stopped: true)
        #expect(try !hasRight("first"))
        #expect(try hasRight("second"))
        stop()

        try stage.folders.restore(two)
        try stage.folders.write(TPMStage.configuration(of: chips[1]), to: stage.folders.configuration)
        #expect(try refusal().contains("stands 2 below the number that the store knows"))
    }

    @Test func `killed at any moment of a stream of removals, the store opens and keeps every acknowledged one`() throws
    {
        var acknowledged: Set<String> = []
        for round in 1...12 {
            for number in 1...3 { _ = try stage.makeRight("\(round).\(number)", .unrestricted) }
            let daemon = stage.daemon
            let pause = DispatchTimeInterval.milliseconds(Int.random(in: 0...400))
            DispatchQueue.global().asyncAfter(deadline: .now() + pause) { daemon.signal(SIGKILL) }
            for number in 1...3 {
                // The daemon may be killed at any point of it.
                guard let answer = try? stage.client.ask(.removeRight("\(round).\(number)")) else { break }
                #expect(answer.isDone)
                acknowledged.insert("\(round).\(number)")
            }
            _ = daemon.wait()
            // A resource manager does this for a killed program. Without one nobody does it by itself.
            stage.tpm.flush()
            try stage.restart(stopped: true)
            for name in acknowledged { #expect(try !hasRight(name), "\(name)") }
        }
        #expect(acknowledged.count >= 3)
    }

    // MARK: attacks on the counter

    @Test func `a counter that was removed is noticed at the start`() throws {
        let handle = try counter()
        stop()
        try stage.tpm.tool("tpm2_nvundefine", "-C", "o", handle)
        #expect(try refusal().contains("somebody removed it"))
    }

    @Test(arguments: [
        ["8", "nt=counter|no_da|authread|authwrite", "never moved"],
        ["8", "nt=counter|no_da|authread|authwrite", "moved"],
        ["8", "ownerread|ownerwrite|authread|authwrite", "written"],
    ])
    func `a counter that somebody defined in its place is noticed`(index: [String]) throws {
        let handle = try counter()
        stop()
        try stage.tpm.tool("tpm2_nvundefine", "-C", "o", handle)
        try stage.tpm.tool(
            "tpm2_nvdefine", handle, "-C", "o", "-s", index[0], "-a", index[1], "-p",
            "hex:\(String(repeating: "02", count: 32))")
        switch index[2] {
        case "moved":
            try stage.tpm.tool(
                "tpm2_nvincrement", handle, "-C", handle, "-P", "hex:\(String(repeating: "02", count: 32))")
        case "written":
            try stage.tpm.write(Data(count: 8), named: "zeros")
            try stage.tpm.tool("tpm2_nvwrite", handle, "-C", "o", "-i", "zeros")
        default: break
        }
        let report = try refusal()
        #expect(report.contains("another counter lies in the place"), "\(report)")
    }

    @Test func `nobody without the store's value moves or reads the counter`() throws {
        let handle = try counter()
        stop()
        for tool in ["tpm2_nvincrement", "tpm2_nvread"] {
            for authorization in [["-C", "o"], ["-C", handle], ["-C", handle, "-P", "guess"]] {
                #expect(throws: SoftwareTPM.ToolFailed.self) {
                    try stage.tpm.tool(tool, arguments: authorization + [handle])
                }
            }
        }
        try stage.restart(stopped: true)
    }

    @Test func `while the daemon runs, a counter that is gone stops removals, and the doctor says so`() throws {
        func finding() throws -> WireFinding {
            guard case .diagnosis(let diagnosis)? = try stage.client.ask(.diagnose(.init())).body else {
                throw RawClient.UnexpectedAnswer()
            }
            return try #require(diagnosis.findings.first { $0.check == "store counter" })
        }
        #expect(try finding().verdict == .ok)
        for name in ["first", "second"] { _ = try stage.makeRight(name, .unrestricted) }
        try stage.tpm.tool("tpm2_nvundefine", "-C", "o", counter())
        try remove("first")  // It is on disk when the counter is found gone.
        let refused = try stage.client.ask(.removeRight("second"))
        #expect(refused.failure?.cause == "enclave.counter", "\(String(describing: refused.failure))")
        #expect(try !hasRight("first") && hasRight("second"))
        let now = try finding()
        #expect(now.verdict == .problem && now.message.contains("somebody removed it"), "\(now)")
    }

    // MARK: accepting

    private func startByHand(on terminal: PseudoTerminal) throws -> CallerProcess {
        try stage.startByHand(on: terminal, "--accept-older-store")
    }

    private func isServing() -> Bool { (try? UnixSocket.connect(to: stage.folders.socket)) != nil }

    /// The older copy lies in the state folder; the newest one is returned.
    private func putBackOlder(withPasscode: Bool) throws -> [String: DaemonFolders.Entry] {
        if withPasscode { try stage.setPasscode() }
        _ = try stage.makeRight("old", withPasscode ? .passcode : .unrestricted, secret: "secret")
        stop()
        let older = try stage.folders.snapshot()
        try stage.restart(stopped: true)
        try remove("old")
        stop()
        let newest = try stage.folders.snapshot()
        try stage.folders.restore(older)
        return newest
    }

    @Test func `the passcode of the older copy makes it the newest one, and the former newest is refused then`() throws
    {
        let newest = try putBackOlder(withPasscode: true)
        let terminal = try PseudoTerminal()
        let daemon = try startByHand(on: terminal)
        terminal.answer("Passcode: ", with: "not the passcode")
        terminal.waitFor("Wrong passcode.")
        #expect(terminal.shows("is not the newest copy"))
        terminal.clearScreen()
        terminal.type(TPMStage.passcode + "\r")
        try eventually("the daemon serves") { isServing() }
        daemon.signal(SIGTERM)
        try eventually("the daemon has ended") { !daemon.isRunning }
        try stage.restart(stopped: true)
        _ = try stage.authorize(stage.right("old"))
        stop()
        try stage.folders.restore(newest)
        #expect(try refusal().contains(notTheNewest))
    }

    @Test func `without the passcode, or without one in the copy, nobody accepts it`() throws {
        _ = try putBackOlder(withPasscode: true)
        let terminal = try PseudoTerminal()
        let daemon = try startByHand(on: terminal)
        terminal.waitFor("Passcode: ")
        terminal.type("\u{3}")
        terminal.waitFor("It was not accepted")
        try eventually("the daemon has ended") { !daemon.isRunning }
        #expect(try refusal().contains(notTheNewest))
    }

    @Test func `a copy without a passcode is accepted by nobody`() throws {
        _ = try putBackOlder(withPasscode: false)
        let terminal = try PseudoTerminal()
        let daemon = try startByHand(on: terminal)
        terminal.waitFor("nobody can accept it")
        try eventually("the daemon has ended") { !daemon.isRunning }
        #expect(try refusal().contains(notTheNewest))
    }

    @Test func `the option asks nothing for the newest copy`() throws {
        try stage.setPasscode()
        stop()
        let terminal = try PseudoTerminal()
        let daemon = try startByHand(on: terminal)
        try eventually("the daemon serves") { isServing() }
        #expect(!terminal.shows("Passcode"))
        daemon.signal(SIGTERM)
        try eventually("the daemon has ended") { !daemon.isRunning }
    }

    @Test func `the passcode makes a new counter in the place of a removed one`() throws {
        let handle = try counter()
        try stage.setPasscode()
        stop()
        try stage.tpm.tool("tpm2_nvundefine", "-C", "o", handle)
        #expect(try refusal().contains("somebody removed it"))
        let terminal = try PseudoTerminal()
        let daemon = try startByHand(on: terminal)
        terminal.answer("Passcode: ", with: TPMStage.passcode)
        try eventually("the daemon serves") { isServing() }
        daemon.signal(SIGTERM)
        try eventually("the daemon has ended") { !daemon.isRunning }
        try stage.restart(stopped: true)
        stop()
        try stage.restart(stopped: true)
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
