import Foundation
import Glibc
import SecretMemory
import StoreTestSupport
import Testing

@testable import AuditLog

@Suite("Writing an audit log", .serialized)
struct AuditLogWritingTests {
    @Test func `entries are read back in pages, across checkpoints`() throws {
        let fixture = try LogFixture()
        for number in 1...200 { try fixture.log.append(LogFixture.entry(number), durability: .soon) }
        for log in [fixture.log, try fixture.reopened()] {
            for first in [1, 63, 64, 65, 128, 199] {
                let page = try log.page(from: UInt64(first), limit: 3)
                let numbers = first..<min(first + 3, 201)
                #expect(page.records.map(\.content) == numbers.map { .entry(LogFixture.entry($0)) })
                #expect(page.records.map(\.index) == numbers.map(UInt64.init) && page.recordCount == 201)
            }
            #expect(try log.page(from: 201, limit: 3).records.isEmpty)
            #expect(try log.page(from: .max, limit: .max).records.isEmpty)
            #expect(try log.page(from: 200, limit: .max).records.count == 1)
            #expect(try log.page(from: 0, limit: 0).records.isEmpty)
            #expect(try log.page(from: 0, limit: 1).records.first?.content == .epochStart(number: 1, time: 1))
        }
    }

    @Test func `a page of a file that was changed meanwhile is refused`() throws {
        let fixture = try LogFixture(entries: 3)
        var bytes = try fixture.bytes()
        bytes[bytes.count - 80] ^= 1
        try fixture.replace(bytes)
        #expect(throws: AuditLogError.damaged) { try fixture.log.page(from: 0, limit: 10) }
    }

    @Test func `the file is closed to others and holds no key`() throws {
        let fixture = try LogFixture(entries: 3)
        var status = stat()
        #expect(stat(fixture.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let key = try TestSealer().unseal(try #require(fixture.anchors.anchor).sealedKey)
        let seed = testSeed(epoch: 1)
        let bytes = try fixture.bytes()
        for secret in [key.withUnsafeBytes { Data($0) }, seed.withUnsafeBytes { Data($0) }] {
            #expect(bytes.range(of: secret) == nil)
        }
    }

    @Test func `many threads at once leave one chain`() throws {
        let fixture = try LogFixture()
        let log = fixture.log
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for number in 0..<50 {
                do {
                    try log.append(
                        LogFixture.entry(thread * 50 + number), durability: number == 25 ? .beforeUse : .soon)
                    if number % 20 == 0 { try log.anchor() }
                } catch {
                    Issue.record(error)
                }
            }
        }
        #expect(log.recordCount == 401)
        let verdict = try log.verify(seeds: LogFixture.seeds)
        #expect(verdict.isIntact && verdict.sealsChecked)
        #expect(try fixture.reopened().state == .intact)
    }

    @Test(.enabled(if: geteuid() == 0, "mounting a small disk takes root"))
    func `a full disk refuses records, keeps the log whole, and lets it go on later`() throws {
        let folder = try TestFolder()
        let disk = folder.path("disk")
        mkdir(disk, 0o700)
        try #require(mount("none", disk, "tmpfs", 0, "size=400k") == 0)
        defer { umount2(disk, Int32(MNT_DETACH)) }
        let anchors = TestAnchorStore()
        let log = try AuditLog.create(
            folder: disk, ownedBy: geteuid(), anchors: anchors, sealer: TestSealer(), epoch: 1,
            seed: testSeed(epoch: 1), time: 0)
        let ballast = disk + "/ballast"
        _ = FileManager.default.createFile(atPath: ballast, contents: Data(count: 100_000))
        #expect(throws: AuditLogError.diskFull) {
            for number in 0..<10_000 { try log.append(LogFixture.entry(number), durability: .soon) }
        }
        let count = log.recordCount
        #expect(count > 100)
        #expect(throws: AuditLogError.diskFull) { try log.append(LogFixture.entry(0), durability: .beforeUse) }
        #expect(try log.verify(seeds: LogFixture.seeds).isIntact && log.recordCount == count)
        try FileManager.default.removeItem(atPath: ballast)
        try log.append(LogFixture.entry(0), durability: .beforeUse)
        #expect(try log.verify(seeds: LogFixture.seeds).recordCount == count + 1)
        try log.close()
        #expect(try AuditLog(folder: disk, ownedBy: geteuid(), anchors: anchors, sealer: TestSealer()).state == .intact)
    }
}

@Suite("Programs that write an audit log", .serialized)
struct AuditLogProgramTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func reopened() throws -> AuditLog {
        try AuditLog(
            folder: folder.path, ownedBy: geteuid(), anchors: try FileAnchorStore(path: folder.path("anchor")),
            sealer: TestSealer())
    }

    private func acknowledged(_ output: String) -> UInt64 {
        output.split(separator: "\n").compactMap { UInt64($0) }.last ?? 1
    }

    @Test(arguments: ["soon", "before-use"], [6, 30, 100, 400])
    func `kill -9 loses no acknowledged record and is no tampering`(durability: String, bytes: Int) throws {
        var last: UInt64 = 1
        for _ in 0..<3 {
            let output = try TestProgram("log-writer", [folder.path, "1000000", durability])
                .runAndKill(afterPrinting: bytes)
            let log = try reopened()
            if case .damaged(let damage) = log.state { Issue.record("damaged: \(damage)") }
            #expect(log.recordCount >= max(last, acknowledged(output)))
            #expect(try log.verify(seeds: LogFixture.seeds).isIntact)
            last = log.recordCount
        }
    }

    /// Changes of the store, records, anchors and epochs: wherever it ends, what is there belongs together.
    @Test func `kill -9 at each step leaves a log and a store that fit each other`() throws {
        for step in 1...100 {
            let folder = try TestFolder()
            let arguments = [folder.path, "10", "steps", "\(step)"]
            let isComplete = try TestProgram("log-writer", arguments).run().code == 0
            for _ in 1...2 {
                let anchors = try FileAnchorStore(path: folder.path("anchor"))
                let log: AuditLog
                do {
                    log = try AuditLog(folder: folder.path, ownedBy: geteuid(), anchors: anchors, sealer: TestSealer())
                } catch AuditLogError.missing {
                    #expect(step == 1)
                    break
                }
                switch log.state {
                case .intact, .recovered: break
                case .damaged, .olderStore: Issue.record("step \(step): \(log.state)")
                }
                let verdict = try log.verify(seeds: LogFixture.seeds)
                #expect(verdict.isIntact && verdict.sealsChecked, "step \(step): \(verdict.explanation)")
                // Whatever the end left, the log goes on.
                try log.append(LogFixture.entry(step), durability: .soon)
                try log.anchor()
            }
            guard !isComplete else {
                #expect(step > 40)
                return
            }
        }
        Issue.record("the program never came to its end")
    }

    @Test(arguments: Array(stride(from: 100, to: 700, by: 23)))
    func `a write that is cut short in the middle of a record is undone`(limit: Int) throws {
        let result = try TestProgram("log-writer", [folder.path, "9", "soon", "\(limit)"]).run()
        #expect(result.code == 0)
        #expect(result.output.contains("refused"))
        let log = try reopened()
        #expect(log.state == .intact && log.recordCount == 10)
        #expect(try log.verify(seeds: LogFixture.seeds).isIntact)
    }

    private func trace(_ durability: String) throws -> [String] {
        let file = folder.path("trace")
        let result = try TestProgram(
            "log-writer", [folder.path, "5", durability],
            under: ["strace", "-f", "-y", "-e", "trace=write,pwrite64,writev,fdatasync", "-o", file]
        ).run()
        #expect(result.code == 0)
        let calls = try SystemCallTrace(file: file).calls
        let ready = try #require(calls.firstIndex { $0.rest.contains("ready") })
        return calls[(ready + 1)...].compactMap { call in
            if call.rest.hasPrefix("(1<") { return "answer" }
            // The runtime wakes its timer thread by writing to a descriptor of its own.
            guard call.rest.contains("/audit.log>") else { return nil }
            return call.name == "fdatasync" ? "flush" : "record"
        }
    }

    @Test(.enabled(if: TestProgram.isInstalled("strace"), "strace is not installed"))
    func `a record is one write, and a use costs no flush`() throws {
        #expect(try trace("soon") == Array(repeating: ["record", "answer"], count: 5).flatMap { $0 })
    }

    @Test(.enabled(if: TestProgram.isInstalled("strace"), "strace is not installed"))
    func `an authorization is on disk before the call returns`() throws {
        #expect(try trace("before-use") == Array(repeating: ["record", "flush", "answer"], count: 5).flatMap { $0 })
    }

    @Test(.enabled(if: TestProgram.isInstalled("strace"), "strace is not installed"))
    func `a use is on disk within a second, with one flush for many records, and then nothing runs`() throws {
        let file = folder.path("trace")
        let result = try TestProgram(
            "log-writer", [folder.path, "5", "linger"],
            under: ["strace", "-f", "-e", "trace=write,fdatasync", "-o", file]
        ).run()
        #expect(result.code == 0)
        let calls = try SystemCallTrace(file: file).calls
        let ready = try #require(calls.firstIndex { $0.rest.contains("ready") })
        #expect(calls[ready...].count { $0.name == "fdatasync" } == 1)
    }
}
