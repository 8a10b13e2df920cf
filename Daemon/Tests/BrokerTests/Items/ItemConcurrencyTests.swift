import Dispatch
import Foundation
import OstiaryMessages
import StoreTestSupport
import Synchronization
import Testing

@testable import Broker
@testable import BrokerTestSupport

@Suite("Items that eight programs change at the same time", .timeLimit(.minutes(10)))
struct ItemConcurrencyTests {
    private static let programCount = 8
    private let fixture: BrokerFixture

    init() throws { fixture = try BrokerFixture() }

    /// Runs `body` for each program on a thread and a connection of its own; all begin at the same moment.
    private func together(_ body: @escaping @Sendable (Int, TestClient) throws -> Void) throws {
        let path = fixture.socketPath
        let (begin, all) = (DispatchSemaphore(value: 0), DispatchGroup())
        let failures = Mutex<[String]>([])
        for program in 0..<Self.programCount {
            all.enter()
            Thread {
                defer { all.leave() }
                do {
                    let client = try TestClient(socketPath: path)
                    begin.wait()
                    try body(program, client)
                } catch { failures.withLock { $0.append("\(program): \(error)") } }
            }.start()
        }
        for _ in 0..<Self.programCount { begin.signal() }
        all.wait()
        #expect(failures.withLock { $0 } == [])
    }

    private static func item(_ account: String) -> ItemValues {
        ["acct": .text(account), "svce": .text("shared")]
    }

    @Test func `each name is added once, and the others are told of the duplicate`() throws {
        let codes = Mutex<[String: [WireFailureCode?]]>([:])
        try together { program, client in
            for number in 0..<20 {
                let name = "name \(number)"
                let code = try refusal { try client.addItem(Self.item(name), data: Data("of \(program)".utf8)) }
                codes.withLock { $0[name, default: []].append(code) }
                try client.addItem(Self.item("\(program).\(number)"))
            }
        }
        for (name, codes) in codes.withLock({ $0 }) {
            #expect(codes.count { $0 == nil } == 1, "\(name)")
            #expect(codes.count { $0 == .duplicate } == Self.programCount - 1, "\(name)")
        }
        try expectOneOfEach(count: 20 + 20 * Self.programCount)
    }

    /// Each program changes an attribute of its own of the same item, so each must always find the value that it wrote.
    @Test func `no update is lost to another one of the same item`() throws {
        try fixture.client().addItem(Self.item("alice"))
        let names = ["desc", "icmt", "labl", "crtr", "type", "invi", "nega", "gena"]
        let query = TestClient.query("genp", Self.item("alice"))
        try together { program, client in
            let name = names[program]
            for number in 1...25 {
                let value: WireAttribute.OneOf_Value =
                    switch name {
                    case "desc", "icmt", "labl": .text("\(number)")
                    case "gena": .data(Data([UInt8(number)]))
                    case "invi", "nega": .number(Int64(number % 2))
                    default: .number(Int64(number))
                    }
                let count = try client.updateItems(query, [name: value])
                let found = try client.findItems(query, data: false).map { $0.item.values[name] }
                #expect(count == 1 && found == [value])
            }
        }
        try expectOneOfEach(count: 1)
    }

    @Test func `adding, renaming and deleting the same names leaves at most one of each`() throws {
        let balance = Mutex(0)
        let excusable: Set<WireFailureCode?> = [nil, .duplicate, .notFound]
        try together { program, client in
            var random = SystemRandomNumberGenerator()
            for step in 0..<40 {
                let (one, other) = (
                    "\(Int.random(in: 0..<4, using: &random))", "\(Int.random(in: 0..<4, using: &random))"
                )
                let query = TestClient.query("genp", Self.item(one))
                let change: Int
                let code: WireFailureCode?
                switch (program + step) % 3 {
                case 0: (change, code) = (1, try refusal { try client.addItem(Self.item(one)) })
                case 1: (change, code) = (-1, try refusal { try client.deleteItems(query) })
                default: (change, code) = (0, try refusal { try client.updateItems(query, ["acct": .text(other)]) })
                }
                #expect(excusable.contains(code))
                if code == nil { balance.withLock { $0 += change } }
                let finding = try refusal {
                    let found = try client.findItems(query, data: false)
                    #expect(found.count == 1)
                }
                #expect(finding == nil || finding == .notFound)
            }
        }
        try expectOneOfEach(count: balance.withLock { $0 })
    }

    /// The programs share one access group, so one program sees all items.
    private func expectOneOfEach(count: Int) throws {
        for isRestarted in [false, true] {
            if isRestarted { try fixture.restart() }
            var names: [String] = []
            let code = try refusal {
                names = try fixture.client().findItems(TestClient.query(), data: false).map {
                    "\($0.item.values["acct"]!)"
                }
            }
            #expect(code == (count == 0 ? .notFound : nil))
            #expect(names.count == count)
            #expect(Set(names).count == count)
        }
    }
}
