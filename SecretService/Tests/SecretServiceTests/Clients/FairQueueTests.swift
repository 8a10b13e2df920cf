import MessageBus
import Testing

@testable import SecretService

@Suite struct FairQueueTests {
    private typealias Queue = FairQueue<String, Int32, String>

    private func client(_ key: Int32, of group: String? = nil) -> Queue.Client {
        Queue.Client(group: group ?? "program \(key)", key: key)
    }

    /// Takes so many pieces, one at a time.
    private func take(_ count: Int, from queue: inout Queue) -> [String] {
        var order: [String] = []
        while order.count < count, let (client, work) = queue.next() {
            order.append(work)
            queue.finish(client)
        }
        return order
    }

    @Test func `clients take turns, however many pieces one of them has`() {
        var queue = Queue()
        for number in 0..<100 { queue.add("flood \(number)", of: client(1)) }
        queue.add("one", of: client(2))
        queue.add("two", of: client(3))
        #expect(take(4, from: &queue) == ["flood 0", "one", "two", "flood 1"])
    }

    @Test func `the processes of a program have one turn together, whatever their number`() {
        var queue = Queue()
        for process: Int32 in 1...6 {
            for number in 0..<30 { queue.add("\(process).\(number)", of: client(process, of: "many")) }
        }
        for number in 0..<3 { queue.add("one \(number)", of: client(7)) }
        #expect(take(6, from: &queue) == ["1.0", "one 0", "2.0", "one 1", "3.0", "one 2"])
        #expect(take(4, from: &queue) == ["4.0", "5.0", "6.0", "1.1"], "within the program they take turns, too")
    }

    @Test func `a client's pieces are done one after the other, in their order`() {
        var queue = Queue()
        for number in 0..<200 { queue.add("\(number)", of: client(1)) }
        for number in 0..<200 {
            let taken = queue.next()?.work
            let another = queue.next()?.work
            #expect(taken == "\(number)" && another == nil, "another piece is under way")
            queue.finish(client(1))
        }
        #expect(queue.isEmpty && !queue.hasNext)
    }

    @Test func `work that comes while a client's piece is under way waits for it`() {
        var queue = Queue()
        queue.add("1", of: client(1))
        let first = queue.next()?.work
        queue.add("2", of: client(1))
        #expect(first == "1" && !queue.hasNext)
        queue.finish(client(1))
        let second = queue.next()?.work
        #expect(second == "2")
        queue.finish(client(1))
        queue.finish(client(1))
        #expect(queue.isEmpty)
    }

    @Test func `what a piece leaves waits for the client's next turn, before the client's other pieces`() {
        var queue = Queue()
        for work in ["long", "next"] { queue.add(work, of: client(1)) }
        queue.add("other", of: client(2))
        let long = queue.next()?.work
        queue.finish(client(1), leaving: "the rest of it")
        #expect(long == "long" && take(4, from: &queue) == ["other", "the rest of it", "next"] && queue.isEmpty)
    }
}

@Suite struct PresenceListTests {
    @Test func `the least recent client leaves for a new one`() {
        var list = PresenceList(limit: 2)
        for key: Int32 in [1, 2] {
            let (isNew, leaving) = list.touch(key)
            #expect(isNew && leaving.isEmpty)
        }
        let again = list.touch(1)
        #expect(!again.isNew && again.leaving.isEmpty)
        let third = list.touch(3)
        #expect(third.isNew && third.leaving == [2])
        let back = list.touch(2)
        #expect(back.isNew)
    }

    @Test func `a client that proved something keeps its place`() {
        var list = PresenceList(limit: 1)
        _ = list.touch(1)
        list.beginQuestion(1)
        list.endQuestion(1, isProved: true)
        let (second, third, again) = (list.touch(2), list.touch(3), list.touch(1))
        #expect(second.leaving.isEmpty && third.leaving == [2] && !again.isNew)
        let leaving = list.makeRoom()
        #expect(leaving == [3])
        list.remove(1)
        let back = list.touch(1)
        #expect(back.isNew)
    }
}

extension PresenceListTests {
    @Test func `a client keeps its place while the person is asked for it`() {
        var list = PresenceList(limit: 1)
        _ = list.touch(1)
        list.beginQuestion(1)
        list.beginQuestion(1)
        let (second, third) = (list.touch(2), list.touch(3))
        #expect(second.leaving.isEmpty && third.leaving == [2])
        list.endQuestion(1, isProved: false)
        let fourth = list.touch(4)
        #expect(fourth.leaving == [3], "another question of it stands")
        list.endQuestion(1, isProved: false)
        let fifth = list.touch(5)
        #expect(fifth.leaving == [4, 1])
    }
}

@Suite struct ClientRegisterTests {
    private final class Client: Sendable {}

    private func holder(_ peer: String, program: UInt64 = 1) -> Holder {
        Holder(peer: peer, processID: nil, program: CallerFile(device: 0, inode: program))
    }

    @Test func `a process has one client, which ends with its last connection`() throws {
        var register = ClientRegister<Client>(.init())
        let client = Client()
        for peer in [":1.1", ":1.2"] {
            try register.begin(holder(peer))
            let isEntered = register.enter(client, process: 7, of: peer)
            #expect(isEntered)
        }
        #expect(register.client(ofProcess: 7) === client)
        let first = register.leave(":1.1")
        #expect(first?.client === client && first?.isLast == false)
        let last = register.leave(":1.2")
        #expect(last?.isLast == true && register.client(ofProcess: 7) === nil && register.all.isEmpty)
        let none = register.leave(":1.2")?.client
        #expect(none === nil)
    }

    @Test func `a connection that ended while its client was found out is not entered`() throws {
        var register = ClientRegister<Client>(.init())
        try register.begin(holder(":1.1"))
        let left = register.leave(":1.1")?.client
        let isEntered = register.enter(Client(), process: 7, of: ":1.1")
        #expect(left === nil && !isEntered && register.all.isEmpty)
    }

    @Test func `a later process with the same number is another client`() throws {
        var register = ClientRegister<Client>(.init())
        let (former, later) = (Client(), Client())
        try register.begin(holder(":1.1"))
        let isFirstEntered = register.enter(former, process: 7, of: ":1.1")
        try register.begin(holder(":1.2"))
        let isSecondEntered = register.enter(later, process: 7, of: ":1.2")
        #expect(isFirstEntered && isSecondEntered)
        #expect(register.client(ofProcess: 7) === later && register.client(of: ":1.1") === former)
        let left = register.leave(":1.1")
        #expect(left?.isLast == true && register.client(ofProcess: 7) === later)
    }

    @Test func `there is room for so many`() throws {
        let limits = HolderLimits(ofProgram: 3, total: 5)
        var register = ClientRegister<Client>(limits)
        for number in 1...3 { try register.begin(holder(":1.\(number)")) }
        #expect(throws: ReachedLimit.ofProgram(3)) { try register.begin(holder(":1.4")) }
        for number in 5...6 { try register.begin(holder(":1.\(number)", program: 2)) }
        #expect(throws: ReachedLimit.total(5)) { try register.begin(holder(":1.7", program: 3)) }
        register.giveUp(":1.1")
        register.giveUp(":1.1")
        try register.begin(holder(":1.7", program: 3))
        #expect(throws: ReachedLimit.total(5)) { try register.begin(holder(":1.8", program: 4)) }
    }

    @Test func `a client has one place for all of its connections, until the last one ends`() throws {
        var register = ClientRegister<Client>(HolderLimits(ofProgram: 2))
        let client = Client()
        for number in 1...20 {
            try register.begin(holder(":1.\(number)"))
            let isEntered = register.enter(client, process: 7, of: ":1.\(number)")
            #expect(isEntered)
        }
        try register.begin(holder(":1.30"))
        #expect(throws: ReachedLimit.ofProgram(2)) { try register.begin(holder(":1.31")) }
        register.giveUp(":1.30")
        for number in 1...20 { _ = register.leave(":1.\(number)") }
        for number in 1...2 { try register.begin(holder(":1.\(number)")) }
        #expect(throws: ReachedLimit.ofProgram(2)) { try register.begin(holder(":1.3")) }
    }
}
