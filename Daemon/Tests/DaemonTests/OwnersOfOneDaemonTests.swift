import AccessControl
import BrokerTestSupport
import ExactNames
import Foundation
import OstiaryMessages
import Owners
import ProcessFacts
import PromptProtocol
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing
import UnixSocket
import Vault

@testable import Prompting

/// Three owners of one daemon, each with the same twenty programs, and a fourth who comes at run time: nothing of one reaches
/// another.
///
/// The programs are processes, since the daemon tells programs apart by their files. The broker is in this process and has a
/// socket for each owner, since the kernel knows one user here.
@Suite("Owners of one daemon", .timeLimit(.minutes(10)))
struct OwnersOfOneDaemonTests {
    private static let ada = SystemUser(id: 10_001, name: "ada")
    private static let grace = SystemUser(id: 10_002, name: "grace")
    private static let joan = SystemUser(id: 10_003, name: "joan")
    private static let late = SystemUser(id: 10_004, name: "late")
    private static let users = [ada, grace, joan]
    private static let programCount = 20

    private let people: People
    private let fixture: BrokerFixture
    private let programs: [String]
    /// The rule of rights whose use asks somebody: no passcode is needed.
    private let password: Requirement

    init() throws {
        password = try Requirement(anyOf: [.applicationPassword])
        let (people, now) = (People(), ContinuousClock.now)
        self.people = people
        fixture = try BrokerFixture(
            serves: .anybody(closing: .never),
            asking: { scripted in
                // Its clock stands, so that no pause ends.
                let queue = PromptQueue(
                    SeatedPeople(people, answering: scripted), now: { now }, terminalDevice: { _ in nil })
                people.note(queue)
                return queue
            })
        fixture.prompter.always { $0.kind.factor == nil ? .confirm : .text(BrokerFixture.passcode) }
        let folder = fixture.folder
        programs = try (0..<Self.programCount).map { number in
            let path = folder.path("program-\(number)")
            try FileManager.default.copyItem(atPath: Caller.program, toPath: path)
            return path
        }
    }

    /// One connection of each program.
    private func start(for user: SystemUser) throws -> [Caller] {
        let socket = try fixture.socketPath(of: user)
        return try programs.map { try Caller(atSocket: socket, program: $0).greeted() }
    }

    /// One more connection of the first program.
    private func startFirst(for user: SystemUser) throws -> RawClient {
        try Caller(atSocket: fixture.socketPath(of: user), program: programs[0]).greeted().client
    }

    /// A connection of the same program for each of two owners, and a right of each whose use asks.
    private func startSame() throws -> (ada: RawClient, grace: RawClient) {
        let clients = (ada: try startFirst(for: Self.ada), grace: try startFirst(for: Self.grace))
        for client in [clients.ada, clients.grace] { try client.create("word", password) }
        return clients
    }

    private func owner(_ user: SystemUser) throws -> OwnerID {
        try #require(fixture.account(of: user)).id.ownerID
    }

    // MARK: names and counts

    @Test func `have names and counts of their own`() throws {
        let callers = try Self.users.map { try start(for: $0) }
        for (user, callers) in zip(Self.users, callers) {
            for (number, caller) in callers.enumerated() {
                for name in ["same", "\(user.name) \(number)"] { try caller.client.create(name) }
                try caller.client.addItem("account", data: "\(user.name) \(number)")
            }
        }
        let late = try start(for: Self.late)
        for caller in late {
            #expect(try caller.client.rightNames(ofAllPrograms: true).isEmpty)
            #expect(try caller.client.items().isEmpty)
            #expect(try caller.client.status().rights.count == 0)
        }
        for caller in late { try caller.client.create("same") }
        for (user, callers) in zip(Self.users, callers) {
            let all = (0..<Self.programCount).flatMap { ["same", "\(user.name) \($0)"] }
            #expect(try callers[0].client.rightNames(ofAllPrograms: true).sorted() == all.sorted())
            for (number, caller) in callers.enumerated() {
                #expect(try caller.client.rightNames().sorted() == ["\(user.name) \(number)", "same"].sorted())
                #expect(try caller.client.status().rights.count == 2)
                #expect(try caller.client.items() == ["\(user.name) \(number)"])
            }
        }
    }

    @Test func `read and count their own records alone, numbered from 0`() throws {
        let callers = try Self.users.map { try start(for: $0) }
        for (user, callers) in zip(Self.users, callers) {
            for caller in callers { try caller.client.create("\(user.name)'s") }
        }
        let late = try start(for: Self.late)
        #expect(try late[0].client.ownLog().isEmpty)
        for (user, callers) in zip(Self.users, callers) {
            let records = try callers[0].client.ownLog()
            #expect(records.map(\.index) == Array(0..<UInt64(records.count)))
            let created = records.filter { $0.event == "create" && $0.result == "done" }
            #expect(created.count == Self.programCount)
            #expect(Set(created.map(\.object)) == ["\(user.name)'s"])
            #expect(try callers[0].client.status().logRecordCount == UInt64(records.count))
        }
    }

    // MARK: waits

    @Test func `wait for no question of another's, however many programs ask it`() throws {
        let callers = try Self.users.map { try start(for: $0) }
        for callers in callers {
            for caller in callers { try caller.client.create("word", password) }
        }
        let ada = callers[0].map(\.client)
        try people.leave(owner(Self.ada))
        let ids = try ada.map { try $0.send(.authorize($0.rightID("word"), in: $0.openContext())) }
        try eventually("ada is asked") { try people.isAsked(owner(Self.ada)) }
        for callers in callers.dropFirst() {
            for caller in callers { #expect(try caller.client.canAuthorize("word")) }
        }
        let late = try start(for: Self.late)
        for caller in late {
            try caller.client.create("word", password)
            #expect(try caller.client.canAuthorize("word"))
        }
        try people.comeBack(owner(Self.ada))
        let answers = try zip(ada, ids).map { try $0.answer(to: $1) }
        let granted = answers.count { $0.factors == ["application-password"] }
        #expect(granted > 1, "those who waited are asked when she is back")
        #expect(answers.allSatisfy { $0.factors != nil || $0.refusal == .tooMany })
    }

    // MARK: another's program of the same name

    @Test func `wait for no pause of another's program of the same name`() throws {
        let (ada, grace) = try startSame()
        try people.decline(owner(Self.ada))
        for _ in 0..<PromptCooldown.unansweredCount { #expect(try ada.authorize("word").refusal == .userCancel) }
        #expect(try ada.authorize("word").cause == "prompt.cooldown")
        #expect(try grace.canAuthorize("word"))
    }

    @Test func `wait for no slow request of another's program of the same name`() throws {
        let (ada, grace) = try startSame()
        let absent = try owner(Self.ada)
        people.lose(absent)
        defer { people.find(absent) }
        var (connections, refused): ([RawClient], Answer?) = ([ada], nil)
        // As many requests as the program may have at once. Each connection has at most sixteen.
        while refused == nil, connections.count < 10 {
            let client = try startFirst(for: Self.ada)
            connections.append(client)
            let right = try client.rightID("word")
            for _ in 0..<16 { try client.send(.authorize(right, in: client.openContext())) }
            // A refusal comes before this answer.
            _ = try client.openContext()
            if client.hasAnswer(within: 0) { refused = try client.answer() }
        }
        #expect(refused?.cause == "request.too-many-of-program")
        #expect(try grace.canAuthorize("word"))
        withExtendedLifetime(connections) {}
    }

    @Test func `are asked at their own place, at however many another's program of the same name asks`() throws {
        let (ada, grace) = try startSame()
        let absent = try owner(Self.ada)
        people.scatter(absent)
        people.leave(absent)
        let right = try ada.rightID("word")
        for _ in 0..<PromptOrder.maximumPlaceCountOfProgram {
            let count = people.asked.count + 1
            try ada.send(.authorize(right, in: ada.openContext()))
            try eventually("ada is asked at one more place") { people.asked.count == count }
        }
        #expect(try ada.authorize("word").cause == "prompt.queue-full")
        #expect(try grace.canAuthorize("word"))
        withExtendedLifetime(ada) {}
    }

    @Test func `wait at a shared place for one question of another's program of the same name`() throws {
        let (ada, grace) = try startSame()
        let (first, second) = (try owner(Self.ada), try owner(Self.grace))
        people.seat(second, beside: first)
        people.leave(first)
        let former = people.asked.count
        let right = try ada.rightID("word")
        let ids = try (0...PromptOrder.maximumWaitingCountOfProgram).map { _ in
            try ada.send(.authorize(right, in: ada.openContext()))
        }
        try eventually("all but one of ada's questions wait") { people.waitingCount == ids.count - 1 }
        #expect(try ada.authorize("word").cause == "prompt.queue-full")
        let id = try grace.send(.authorize(grace.rightID("word"), in: grace.openContext()))
        try eventually("grace's question waits, or is refused") {
            people.waitingCount == ids.count || grace.hasAnswer(within: 0)
        }
        people.comeBack(first)
        #expect(try grace.answer(to: id).factors == ["application-password"])
        for id in ids { #expect(try ada.answer(to: id).factors == ["application-password"]) }
        #expect(Array(people.asked.dropFirst(former)) == [first, second] + ids.dropFirst().map { _ in first })
    }

    @Test func `watch their own items, however many watches and changes another's program of the same name has`()
        throws
    {
        let (ada, grace) = try startSame()
        var (connections, refused): ([RawClient], Answer?) = ([ada], nil)
        while refused == nil, connections.count < 64 {
            let client = try startFirst(for: Self.ada)
            connections.append(client)
            let answer = try client.watch()
            if answer.failure != nil { refused = answer }
        }
        #expect(refused?.cause == "item.too-many-watches")
        #expect(try grace.itemNews().looksAgain)
        for number in 0..<20 { try ada.addItem("\(number)", data: "ada's") }
        try grace.addItem("account", data: "grace's")
        let news = try grace.itemNews()
        #expect(!news.looksAgain && news.changes.map(\.kind) == [.added])
        withExtendedLifetime(connections) {}
    }

    // MARK: all that another gets

    @Test func `are answered and asked in time while another has all questions and requests of a user`() throws {
        let grace = try startFirst(for: Self.grace)
        try grace.create("word", password)
        let alone = try usualTime(of: grace)
        let callers = try start(for: Self.ada)
        let ada = callers.map(\.client)
        for client in ada { try client.create("word", password) }
        let absent = try owner(Self.ada)
        people.leave(absent)
        let inLine = try fillLine(with: ada)
        people.lose(absent)
        defer { people.find(absent) }
        #expect(try causeOfRefusal(filling: ada.dropFirst(inLine)) == "request.too-many-of-owner")
        // The kernel knows one user here, so these are the connections of a process.
        let connections = try connectionsOfThisProcess(for: Self.ada)
        #expect(connections.count == 64)
        let attacked = try usualTime(of: grace)
        // What else the machine does takes time from both.
        #expect(attacked < max(Duration.seconds(1), alone * 20), "\(alone) without the attack")
        withExtendedLifetime((callers, connections)) {}
    }

    /// The time of the round in the middle. In each the program asks for its state, and its person is asked.
    private func usualTime(of client: RawClient) throws -> Duration {
        var times: [Duration] = []
        for _ in 0..<15 {
            let begin = ContinuousClock.now
            #expect(try client.status().rights.count == 1)
            #expect(try client.canAuthorize("word"))
            times.append(begin.duration(to: .now))
        }
        return times.sorted()[times.count / 2]
    }

    /// One question is asked, and as many wait as an owner may have in a line.
    ///
    /// - Returns: how many of the programs have questions there.
    private func fillLine(with clients: [RawClient]) throws -> Int {
        let count = people.asked.count + 1
        try clients[0].sendQuestion()
        try eventually("a question is asked") { people.asked.count == count }
        let programCount = PromptOrder.maximumWaitingCountOfOwner / PromptOrder.maximumWaitingCountOfProgram
        for client in clients.prefix(programCount) {
            for _ in 0..<PromptOrder.maximumWaitingCountOfProgram { try client.sendQuestion() }
        }
        try eventually("the line is full") { people.waitingCount == PromptOrder.maximumWaitingCountOfOwner }
        #expect(try clients[programCount].authorize("word").cause == "prompt.queue-full")
        return programCount
    }

    /// Sends requests of one program after the other until one is refused.
    private func causeOfRefusal(filling clients: some Sequence<RawClient>) throws -> String? {
        for client in clients {
            for _ in 0..<16 { try client.sendQuestion() }
            // A refusal comes before this answer.
            _ = try client.openContext()
            if client.hasAnswer(within: 0) { return try client.answer().cause }
        }
        return nil
    }

    /// As many as one process gets.
    private func connectionsOfThisProcess(for user: SystemUser) throws -> [RawClient] {
        let socket = try fixture.socketPath(of: user)
        var connections: [RawClient] = []
        while connections.count < 100 {
            let client = try RawClient(UnixSocket.connect(to: socket))
            do { try client.greet() } catch { return connections }
            connections.append(client)
        }
        return connections
    }

    // MARK: errors

    @Test func `pay for no wrong passcode of another's`() throws {
        let callers = try Self.users.map { try start(for: $0) }
        for callers in callers {
            for caller in callers { try caller.client.create("word", password) }
        }
        let ada = callers[0].map(\.client)
        try ada[0].done(.passcode(.set))
        try ada[0].create("guarded", .passcode)
        fixture.prompter.always { $0.kind == .enterPasscode ? .text("not this one") : .text(BrokerFixture.passcode) }
        let refused = try ada[0].ask(.authorize(ada[0].rightID("guarded"), in: ada[0].openContext()))
        #expect([.authenticationFailed, .lockedOut].contains(refused.refusal))
        #expect(try (ada[1].status().passcode.failedAttempts ?? 0) > 0)
        for callers in callers.dropFirst() {
            for caller in callers {
                #expect(try caller.client.status().passcode.failedAttempts == 0)
                #expect(try caller.client.canAuthorize("word"))
            }
        }
    }

    // MARK: locks

    @Test func `are locked by none but their own programs`() throws {
        let callers = try Self.users.map { try start(for: $0) }
        try callers[0][0].client.done(.passcode(.set))
        let contexts = try callers.map { callers in
            try callers.map { caller in
                try caller.client.create("free")
                let context = try caller.client.openContext()
                #expect(try caller.client.ask(.authorize(caller.client.rightID("free"), in: context)).factors == [])
                return context
            }
        }
        func signs(_ owner: Int) throws -> [Bool] {
            try zip(callers[owner], contexts[owner]).map { caller, context in
                let sign = try WireRequest.OneOf_Body.sign(caller.client.rightID("free"), in: context)
                return try caller.client.ask(sign, tail: WireRequest.OneOf_Body.digest).refusal == nil
            }
        }
        let (all, none) = ([Bool](repeating: true, count: 20), [Bool](repeating: false, count: 20))
        try callers[0][7].client.done(.lock)
        #expect(try signs(0) == none)
        #expect(try !callers[0][0].client.status().unlocked)
        #expect(try signs(1) == all && signs(2) == all)
        try callers[1][3].client.done(.lock)
        #expect(try signs(1) == none)
        #expect(try signs(2) == all)
    }
}

// MARK: people

/// The people at their terminals, and the people who are asked there.
private final class People: Sendable {
    private struct State {
        var away: Set<OwnerID> = []
        var declining: Set<OwnerID> = []
        var lost: Set<OwnerID> = []
        var scattered: Set<OwnerID> = []
        var asked: [OwnerID] = []
        var places: [OwnerID: UInt32] = [:]
        var placeCount: UInt32 = 0
        weak var queue: PromptQueue?
    }

    private let state = Mutex(State())

    func leave(_ owner: OwnerID) { state.withLock { _ = $0.away.insert(owner) } }
    func comeBack(_ owner: OwnerID) { state.withLock { _ = $0.away.remove(owner) } }
    func isAway(_ owner: OwnerID) -> Bool { state.withLock { $0.away.contains(owner) } }
    /// From now on they cancel their questions.
    func decline(_ owner: OwnerID) { state.withLock { _ = $0.declining.insert(owner) } }
    func declines(_ owner: OwnerID) -> Bool { state.withLock { $0.declining.contains(owner) } }
    /// From now on a place for each of their questions is looked for until they are found.
    func lose(_ owner: OwnerID) { state.withLock { _ = $0.lost.insert(owner) } }
    func find(_ owner: OwnerID) { state.withLock { _ = $0.lost.remove(owner) } }
    func isLost(_ owner: OwnerID) -> Bool { state.withLock { $0.lost.contains(owner) } }
    /// From now on each of their questions comes at another terminal.
    func scatter(_ owner: OwnerID) { state.withLock { _ = $0.scattered.insert(owner) } }
    /// From now on both are asked at the terminal of `other`.
    func seat(_ owner: OwnerID, beside other: OwnerID) { state.withLock { $0.places[owner] = $0.places[other] } }

    func isAsked(_ owner: OwnerID) -> Bool { asked.contains(owner) }
    /// Who was asked, in the order of the questions.
    var asked: [OwnerID] { state.withLock { $0.asked } }
    func note(asked owner: OwnerID) { state.withLock { $0.asked.append(owner) } }

    /// How many questions wait for their turns.
    var waitingCount: Int { state.withLock { $0.queue }?.waitingCount ?? 0 }
    func note(_ queue: PromptQueue) { state.withLock { $0.queue = queue } }

    /// The owner's own terminal.
    func place(of owner: OwnerID) -> PromptPlace {
        state.withLock { state in
            if let number = state.places[owner], !state.scattered.contains(owner) { return .terminal(number) }
            state.placeCount += 1
            state.places[owner] = state.placeCount
            return .terminal(state.placeCount)
        }
    }
}

/// Asks each owner at a terminal of their own. A person who is away answers when they are back.
private struct SeatedPeople: PlacingPrompter {
    private let people: People
    private let answers: ScriptedPrompter

    init(_ people: People, answering answers: ScriptedPrompter) { (self.people, self.answers) = (people, answers) }

    func sensorRefusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal? { nil }

    func place(_ question: PromptQuestion, for caller: PromptCaller) -> Result<PlacedQuestion, PromptUnavailability> {
        guard let owner = caller.owner else { return .failure(.notInteractive) }
        while people.isLost(owner) { Thread.sleep(forTimeInterval: 0.005) }
        return .success(
            PlacedQuestion(at: people.place(of: owner)) { live in
                people.note(asked: owner)
                while people.isAway(owner) {
                    if let interruption = live.cancellation.wait(milliseconds: 5) {
                        return .interrupted(by: interruption)
                    }
                }
                guard !people.declines(owner) else { return .cancelled }
                return answers.ask(question, on: caller, live: live)
            })
    }
}

// MARK: requests

extension RawClient {
    fileprivate func done(_ body: WireRequest.OneOf_Body) throws {
        let answer = try ask(body)
        try #require(answer.isDone, "\(answer.cause)")
    }

    fileprivate func create(_ name: String, _ requirement: Requirement = .unrestricted) throws {
        let answer = try ask(.createRight(name, requirement))
        try #require(answer.right != nil, "\(answer.cause)")
    }

    fileprivate func rightID(_ name: String) throws -> Data {
        try #require(try ask(.findRight(name)).right).rightID
    }

    fileprivate func authorize(_ name: String) throws -> Answer {
        try ask(.authorize(rightID(name), in: openContext()))
    }

    fileprivate func canAuthorize(_ name: String) throws -> Bool { try authorize(name).factors != nil }

    /// Sends a request about which the person is asked, and does not wait for its answer.
    fileprivate func sendQuestion() throws { try send(.authorize(rightID("word"), in: openContext())) }

    /// The names of the program's rights, or of all programs'.
    fileprivate func rightNames(ofAllPrograms: Bool = false) throws -> [String] {
        var (names, cursor): ([String], Data) = ([], Data())
        repeat {
            let request = WireListRightsRequest.with { ($0.ofAllApplications, $0.cursor) = (ofAllPrograms, cursor) }
            guard case .rights(let page)? = try ask(.listRights(request)).body else { throw UnexpectedAnswer() }
            names += page.rights.map(\.identifier)
            cursor = page.next
        } while !cursor.isEmpty
        return names
    }

    /// The records that the owner may read, from the first one on.
    fileprivate func ownLog() throws -> [WireLogRecord] {
        var records: [WireLogRecord] = []
        while true {
            let request = WireReadLogRequest.with {
                ($0.firstIndex, $0.limit) = (UInt64(records.count), WireLimits.logPageCount)
            }
            guard case .logPage(let page)? = try ask(.readLog(request)).body else { throw UnexpectedAnswer() }
            guard !page.records.isEmpty else { return records }
            records += page.records
        }
    }

    fileprivate func addItem(_ account: String, data: String) throws {
        let answer = try ask(
            .addItem(
                .with {
                    $0.itemClass = "genp"
                    $0.attributes = TestClient.attributes(["acct": .text(account)])
                    $0.hasData_p = true
                    $0.use = TestClient.use()
                }), tail: Array(data.utf8))
        try #require(answer.refusal == nil, "\(answer.cause)")
    }

    /// Waits for news of the program's items.
    fileprivate func watch() throws -> Answer {
        try ask(.watchItems(.with { $0.queries = [TestClient.query()] }))
    }

    fileprivate func itemNews() throws -> WireItemNews {
        let answer = try watch()
        guard case .itemNews(let news)? = answer.body else { throw UnexpectedAnswer() }
        return news
    }

    /// The data of the items that the program sees.
    fileprivate func items() throws -> [String] {
        let answer = try ask(
            .findItems(
                .with {
                    $0.query = TestClient.query()
                    $0.returnsData = true
                    $0.use = TestClient.use()
                }))
        guard answer.refusal != .notFound else { return [] }
        guard case .items(let page)? = answer.body else { throw UnexpectedAnswer() }
        var rest = answer.tail[...]
        return page.items.map { item in
            defer { rest = rest.dropFirst(Int(item.dataByteCount)) }
            return String(decoding: rest.prefix(Int(item.dataByteCount)), as: UTF8.self)
        }
    }
}
