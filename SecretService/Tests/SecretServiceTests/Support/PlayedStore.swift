import Cancellations
import Dispatch
import Glibc
import SecretItems
import SecretMemory
import Synchronization
import UnixSocket

@testable import SecretService

/// A store that a test plays: it decides as the daemon does, without a daemon.
final class PlayedStore: SecretSource {
    struct Row: Sendable {
        let id: SecretID
        var contents: SecretContents
        var secret: HeldSecret?
        /// Whether reading it asks the person.
        var isRuled = false
        /// The processes that may read it; nil for all.
        var readers: Set<Int32>?
    }

    /// A question that stands.
    final class StandingQuestion: Sendable {
        enum Answer: Sendable {
            case proved, declined, cancelled
        }

        let reason: String
        let processID: Int32
        private let answered = DispatchSemaphore(value: 0)
        private let state = Mutex<Answer?>(nil)

        init(_ reason: String, _ processID: Int32) { (self.reason, self.processID) = (reason, processID) }

        var answer: Answer? { state.withLock { $0 } }

        /// The person answers, or the question goes away. The first counts.
        func end(_ answer: Answer) {
            let isFirst = state.withLock { state in
                defer { state = state ?? answer }
                return state == nil
            }
            if isFirst { answered.signal() }
        }

        func wait() -> Answer {
            answered.wait()
            return state.withLock { $0 } ?? .cancelled
        }
    }

    private struct State {
        var rows: [Row] = []
        var isOpen = true
        var hasPasscode = true
        var questions: [StandingQuestion] = []
        var listCount = 0
        /// What the lists of a bounded length were bounded by.
        var listLimits: [Int] = []
        /// How long each list takes.
        var delay: UInt32 = 0
        var begun: [Int32] = []
        /// The names of the system's programs that processes execute.
        var systemPrograms: [Int32: String] = [:]
        var time: UInt64 = 1_000
    }

    private let state = Mutex(State())
    let news = PlayedNews()

    var questions: [StandingQuestion] { state.withLock { $0.questions } }
    var rows: [Row] { state.withLock { $0.rows } }
    var listCount: Int { state.withLock { $0.listCount } }
    var listLimits: [Int] { state.withLock { $0.listLimits } }
    /// The processes that were named, each time.
    var begun: [Int32] { state.withLock { $0.begun } }

    /// Has a process execute a program of the system.
    func note(systemProgram name: String?, processID: Int32) { state.withLock { $0.systemPrograms[processID] = name } }
    func systemProgram(of processID: Int32) -> String? { state.withLock { $0.systemPrograms[processID] } }

    func setOpen(_ isOpen: Bool) { state.withLock { $0.isOpen = isOpen } }
    func setPasscode(_ hasPasscode: Bool) { state.withLock { $0.hasPasscode = hasPasscode } }
    func setDelay(microseconds: UInt32) { state.withLock { $0.delay = microseconds } }

    func change(_ id: SecretID, _ change: @Sendable (inout Row) -> Void) {
        state.withLock { state in
            guard let index = state.rows.firstIndex(where: { $0.id == id }) else { return }
            change(&state.rows[index])
        }
    }

    /// Waits for a question that nobody has answered.
    func question(seconds: Double = 120) throws -> StandingQuestion {
        try eventually("a question stands", seconds: seconds) { questions.contains { $0.answer == nil } }
        guard let found = questions.last(where: { $0.answer == nil }) else { throw StoreRefusal.notFound }
        return found
    }

    // MARK: the source

    func client(_ process: SharedDescriptor) throws(StoreRefusal) -> any ClientStore {
        // As the real client does: a program in a Flatpak is refused here.
        PlayedClient(self, of: try SecretClient(process: process), PlayedStore.processID(of: process))
    }

    private static func processID(of process: SharedDescriptor) -> Int32 { ProcessNumber.of(process) }

    func isUnlocked() throws(StoreRefusal) -> Bool { state.withLock { $0.isOpen } }

    func item(_ id: SecretID) throws(StoreRefusal) -> ListedSecret? { list { $0.id == id }.first }

    func list(_ query: SecretQuery) throws(StoreRefusal) -> [ListedSecret] { list { Self.fits($0, query) } }

    func list(_ query: SecretQuery, atMost limit: Int) throws(StoreRefusal) -> [ListedSecret] {
        state.withLock { $0.listLimits.append(limit) }
        return Array(list { Self.fits($0, query) }.prefix(limit))
    }

    func watch() -> any NewsSource { news }

    // MARK: what clients do

    func list(_ fits: (Row) -> Bool) -> [ListedSecret] {
        let (listed, delay) = state.withLock { state in
            state.listCount += 1
            let isOpen = state.isOpen
            let listed = state.rows.filter(fits).map { row in
                ListedSecret(
                    id: row.id, lock: !isOpen ? .storeLocked : row.isRuled ? .ruled : .open,
                    contents: isOpen ? row.contents : nil, isForSomePrograms: isOpen && row.readers != nil)
            }
            return (listed, state.delay)
        }
        if delay > 0 { usleep(delay) }
        return listed
    }

    static func fits(_ row: Row, _ query: SecretQuery) -> Bool {
        row.contents.kind == query.kind && query.collection.map { row.contents.collection == $0 } ?? true
            && query.id.map { row.id == $0 } ?? true && Attributes.are(query.attributes, among: row.contents.attributes)
    }

    func row(_ id: SecretID) throws(StoreRefusal) -> Row {
        guard let row = rows.first(where: { $0.id == id }) else { throw .notFound }
        return row
    }

    var isOpen: Bool { state.withLock { $0.isOpen } }
    var hasPasscode: Bool { state.withLock { $0.hasPasscode } }

    func noteBegin(_ processID: Int32) { state.withLock { $0.begun.append(processID) } }

    func add(_ new: NewSecret) -> SecretID {
        let id = SecretID.random()
        state.withLock { state in
            state.time += 1
            let contents = SecretContents(
                kind: new.kind, collection: new.collection, label: new.label, contentType: new.contentType,
                attributes: new.attributes, created: state.time, modified: state.time)
            state.rows.append(Row(id: id, contents: contents, secret: new.secret, isRuled: new.rule != nil))
        }
        return id
    }

    func update(_ query: SecretQuery, _ change: SecretChange) throws(StoreRefusal) {
        try state.withLock { (state) throws(StoreRefusal) in
            let indices = state.rows.indices.filter { Self.fits(state.rows[$0], query) }
            guard !indices.isEmpty else { throw .notFound }
            state.time += 1
            for index in indices {
                var row = state.rows[index]
                row.contents.label = change.label ?? row.contents.label
                row.contents.attributes = change.attributes ?? row.contents.attributes
                row.contents.contentType = change.contentType ?? row.contents.contentType
                row.contents.modified = state.time
                row.secret = change.secret ?? row.secret
                state.rows[index] = row
            }
        }
    }

    func delete(_ queries: [SecretQuery]) throws(StoreRefusal) {
        try state.withLock { (state) throws(StoreRefusal) in
            for query in queries {
                guard state.rows.contains(where: { Self.fits($0, query) }) else { throw .notFound }
            }
            state.rows.removeAll { row in queries.contains { Self.fits(row, $0) } }
        }
    }

    /// Puts a question, and waits for its end.
    func ask(_ question: SecretQuestion, _ processID: Int32) throws(StoreRefusal) {
        let standing = StandingQuestion(question.reason, processID)
        state.withLock { $0.questions.append(standing) }
        question.cancellation.whenCancelled { standing.end(.cancelled) }
        switch standing.wait() {
        case .proved: return
        case .declined: throw .declined("The person declined.")
        case .cancelled: throw .cancelled
        }
    }
}

/// News that a test tells.
final class PlayedNews: NewsSource {
    private struct State {
        var waiting: [SecretNews] = []
        var isOver = false
    }

    private let state = Mutex(State())
    private let arrived = DispatchSemaphore(value: 0)

    func tell(_ news: SecretNews) {
        state.withLock { $0.waiting.append(news) }
        arrived.signal()
    }

    func next() throws(StoreRefusal) -> SecretNews? {
        while true {
            let (news, isOver) = state.withLock { state in
                (state.waiting.isEmpty ? nil : state.waiting.removeFirst(), state.isOver)
            }
            if let news { return news }
            guard !isOver else { return nil }
            arrived.wait()
        }
    }

    func end() {
        state.withLock { $0.isOver = true }
        arrived.signal()
    }
}
