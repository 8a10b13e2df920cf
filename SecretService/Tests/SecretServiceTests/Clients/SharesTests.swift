import Dispatch
import Foundation
import MessageBus
import SecretItems
import SecretProgramSupport
import Synchronization
import Testing

@testable import SecretService

/// What one program may have, so that the others are served.
@Suite(.timeLimit(.minutes(10))) struct SharesTests {
    private static let tooMuch = "org.freedesktop.DBus.Error.LimitsExceeded"
    private let served: ServedSecrets
    private let program: SecretProgram
    private let session: String

    init() throws {
        served = try ServedSecrets()
        program = try served.program()
        session = try program.openSession()
    }

    private func refusal(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch BusProgramError.answered(let name) { return name } catch { return "\(error)" }
    }

    // MARK: turns

    /// Each look at an item is a request to the daemon.
    @Test func `six processes with calls about thousands of objects do not keep another program waiting`() throws {
        served.store.setDelay(microseconds: 1_000)
        let flood = try (0..<6).map { _ in try ForeignProgram(served.bus, "unlock", "4000") }
        defer { for program in flood { program.end() } }
        try eventually("the flood has begun") { flood.allSatisfy { $0.hasWritten } }
        // All calls of the flood were received before this one.
        _ = try program.search([:])
        for _ in 0..<3 {
            let before = served.store.listCount
            _ = try program.search([:])
            // Each thread may have begun a turn of the flood, and one more comes before this program's. A busy machine adds some; a whole
            // call of the flood, one for each thread, would be 16,000.
            let others = served.store.listCount - before
            #expect(others < 4_000, "\(others) requests")
        }
    }

    @Test func `a call about thousands of objects comes to its end, and names each once`() throws {
        let items = (0..<100).map { served.add("Item \($0)", [:], "x").path }
        let missing = (0..<3_800).map { "\(SecretProgram.login)/missing\($0)" }
        let (unlocked, prompt) = try program.unlock(missing + items)
        #expect(unlocked == items && prompt == "/")
        let read = try program.call(
            SecretProgram.root, "Service", "GetSecrets", [.paths(items + items + missing), .path(session)])
        #expect(read[0].dictionary?.count == 100)
        let locked = try program.call(SecretProgram.root, "Service", "Lock", [.paths(missing + items)])
        #expect(locked[0].paths == items)
        let more = missing + items + [SecretProgram.login] + (0..<196).map { "\(SecretProgram.login)/more\($0)" }
        #expect(refusal { _ = try program.unlock(more) } == Self.tooMuch)
    }

    // MARK: memory

    @Test func `secrets of calls that wait have a limit, and others are served`() throws {
        served.store.setDelay(microseconds: 300_000)
        // Each has a connection of its own: a refusal comes before the answers to earlier calls.
        let programs = try (0..<6).map { _ in try served.program() }
        let sessions = try programs.map { try $0.openSession() }
        let calls = try zip(programs, sessions).map { program, session in
            let parcel = SecretProgram.parcel(String(repeating: "x", count: 700 << 10), session: session)
            return try program.send(
                SecretProgram.login, "Collection", "CreateItem", [.properties([:]), parcel, .flag(false)])
        }
        let refusals = zip(programs, calls).map { program, call in refusal { _ = try program.bus.answer(call) } }
        // 2 MiB are two and no three of them.
        #expect(refusals.filter { $0 == nil }.count >= 2)
        #expect(refusals.filter { $0 == Self.tooMuch }.count >= 1, "\(refusals)")
        #expect(refusals.allSatisfy { $0 == nil || $0 == Self.tooMuch })
        let other = try ForeignProgram(served.bus, "create", "Mail", "a=1", "a secret")
        #expect(other.lines().first?.hasPrefix(SecretProgram.login) == true)
        // What the answers gave back is there for the next one.
        _ = try program.create("x", [:], String(repeating: "x", count: 700 << 10), session: session)
    }

    @Test func `prompts about very many objects have a limit, and a dismissed one gives its part back`() throws {
        let item = served.add("Mail", [:], "x").path
        served.store.setOpen(false)
        let paths = Array(repeating: item, count: 4096)
        let (_, prompt) = try program.unlock(paths)
        #expect(refusal { _ = try program.unlock(paths) } == Self.tooMuch)
        let (_, small) = try program.unlock([item])
        #expect(small != "/")
        _ = try program.call(prompt, "Prompt", "Dismiss")
        #expect(try program.unlock(paths).prompt != "/")
    }

    @Test func `answers that wait for the person have a limit`() throws {
        let large = (0..<3).map { served.add("Large \($0)", [:], String(repeating: "x", count: 1 << 20)).path }
        let ruled = (0..<2).map { served.add("Ruled \($0)", [:], "x", isRuled: true).path }
        let first = try program.send(
            SecretProgram.root, "Service", "GetSecrets", [.paths(large + [ruled[0]]), .path(session)])
        let question = try served.store.question()
        let second = try program.send(
            SecretProgram.root, "Service", "GetSecrets", [.paths(large + [ruled[1]]), .path(session)])
        #expect(refusal { _ = try program.bus.answer(second, seconds: 30) } == Self.tooMuch)
        question.end(.proved)
        #expect(try program.bus.answer(first)[0].dictionary?.count == 4)
        let read = try program.call(SecretProgram.root, "Service", "GetSecrets", [.paths(large), .path(session)])
        #expect(read[0].dictionary?.count == 3)
    }

    // MARK: collections

    @Test func `a program makes so many collections, and another one more`() throws {
        let made = try (0..<16).map { try program.makeCollection("Collection \($0)") }
        #expect(refusal { _ = try program.makeCollection("One more") } == Self.tooMuch)
        let other = try ForeignProgram(served.bus, "collection", "Theirs").lines()
        #expect(other.first?.hasPrefix(SecretProgram.root + "/collection/") == true, "\(other)")
        // One that is there is found, whatever was made.
        let found = try program.call(
            SecretProgram.root, "Service", "CreateCollection", [.properties([:]), .text("default")])
        #expect(found[0].text == SecretProgram.login)
        _ = try program.call(made[0], "Collection", "Delete")
        _ = try program.makeCollection("In its place")
        #expect(refusal { _ = try program.makeCollection("One more") } == Self.tooMuch)
    }
}

@Suite(.timeLimit(.minutes(10))) struct ProgramTurnTests {
    private final class Order: Sendable {
        private let state = Mutex<[String]>([])
        let each = DispatchSemaphore(value: 0)
        var all: [String] { state.withLock { $0 } }

        func work(_ name: String) -> TurnWork {
            TurnWork { [self] in
                state.withLock { $0.append(name) }
                each.signal()
                return nil
            }
        }
    }

    private func holder(_ process: Int32, program: UInt64) -> Holder {
        Holder(peer: ":1.\(process)", processID: process, program: CallerFile(device: 0, inode: program))
    }

    @Test func `the processes of one program have one turn, and the service's own work its own`() {
        let threads = WorkThreads(limit: 1)
        let (order, begun, gate) = (Order(), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let isBegun = threads.add(
            of: holder(1, program: 1),
            TurnWork {
                begun.signal()
                gate.wait()
                return order.work("rest")
            })
        begun.wait()
        for process: Int32 in 2...4 {
            let isTaken = threads.add(of: holder(process, program: 1), order.work("\(process)"))
            #expect(isTaken)
        }
        let isOtherTaken = threads.add(of: holder(5, program: 2), order.work("other"))
        let isOwnTaken = threads.add(of: nil, order.work("own"))
        gate.signal()
        for _ in 0..<6 { order.each.wait() }
        #expect(isBegun && isOtherTaken && isOwnTaken)
        #expect(order.all == ["2", "other", "own", "3", "4", "rest"])
        threads.end()
    }
}

@Suite struct DescriptorShareTests {
    @Test func `clients and connections leave descriptors for a message with as many as can come`() {
        for count in [1024, 4096, 8192, 524_288] {
            let share = DescriptorShare(descriptorCount: count)
            // Of its terminal and its process; where the bus tells the process, it is the connection's.
            #expect(2 * share.clients.total + 253 < count && share.clients.total + share.peers.total + 253 < count)
            #expect(share.clients.ofProgram == 256 && share.clients.total >= 320)
        }
        #expect(DescriptorShare(descriptorCount: 4096).clients.total == 1024)
    }

    @Test func `a process with hardly any descriptors still serves somebody`() {
        #expect(DescriptorShare(descriptorCount: 0).clients.total == 1)
    }
}
