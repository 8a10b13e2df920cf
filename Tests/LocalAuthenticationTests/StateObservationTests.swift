import LocalAuthentication
import OstiaryClient
import OstiaryMessages
import Testing

@Suite struct StateObservationTests {
    private typealias Change = NSKeyValueObservedChange<LARight.State>

    private let daemon = FakeDaemon()

    private func right() -> LARight { LARight(requirement: .default, service: daemon) }

    private func recorded(
        _ options: NSKeyValueObservingOptions, during steps: (LARight) async throws -> Void
    ) async throws -> [Change] {
        let changes = Locked<[Change]>([])
        let right = right()
        let observation = right.observe(\.state, options: options) { _, change in changes.update { $0.append(change) } }
        try await steps(right)
        observation.invalidate()
        return changes.value
    }

    // MARK: observe

    @Test func `an observer is told each step in order`() async throws {
        let changes = try await recorded([.old, .new]) { right in
            try await right.authorize(localizedReason: "test")
            await right.deauthorize()
        }
        #expect(changes.map(\.oldValue) == [.unknown, .authorizing, .authorized])
        #expect(changes.map(\.newValue) == [.authorizing, .authorized, .notAuthorized])
        #expect(changes.allSatisfy { $0.kind == .setting && !$0.isPrior && $0.indexes == nil })
    }

    @Test func `without options a change carries no values`() async throws {
        let changes = try await recorded([]) { try await $0.authorize(localizedReason: "test") }
        #expect(changes.count == 2)
        #expect(changes.allSatisfy { $0.newValue == nil && $0.oldValue == nil })
    }

    @Test func `initial tells the current state at once`() async throws {
        let changes = try await recorded([.initial, .new, .old]) { _ in }
        #expect(changes.map(\.newValue) == [.unknown])
        #expect(changes.map(\.oldValue) == [nil])
    }

    @Test func `prior adds a call before each change`() async throws {
        let changes = try await recorded([.prior, .new, .old]) { await $0.deauthorize() }
        #expect(changes.map(\.isPrior) == [true, false])
        #expect(changes.map(\.newValue) == [nil, .notAuthorized])
        #expect(changes.map(\.oldValue) == [.unknown, .unknown])
    }

    @Test func `a step that changes nothing is not told`() async throws {
        let changes = try await recorded([.new]) { right in
            await right.deauthorize()
            await right.deauthorize()
        }
        #expect(changes.count == 1)
    }

    @Test func `an invalidated observation is told nothing`() async {
        let right = right()
        let count = Locked(0)
        let observation = right.observe(\.state) { _, _ in count.update { $0 += 1 } }
        observation.invalidate()
        observation.invalidate()
        await right.deauthorize()
        #expect(count.value == 0)
    }

    @Test func `a released observation is told nothing`() async {
        let right = right()
        let count = Locked(0)
        var observation: NSKeyValueObservation? = right.observe(\.state) { _, _ in count.update { $0 += 1 } }
        #expect(observation != nil)
        observation = nil
        await right.deauthorize()
        #expect(count.value == 0)
    }

    @Test func `an observation can be ended from its own handler`() async throws {
        let right = right()
        let count = Locked(0)
        let observation = Locked<NSKeyValueObservation?>(nil)
        let made = right.observe(\.state) { _, _ in
            count.update { $0 += 1 }
            observation.value?.invalidate()
        }
        observation.update { $0 = made }
        try await right.authorize(localizedReason: "test")
        #expect(count.value == 1)
    }

    @Test func `an observer is handed the right as the type that it observed`() async throws {
        let saved = try await LARightStore(service: daemon).saveRight(right(), identifier: "r")
        let keys = Locked(0)
        let observation = saved.observe(\.state) { right, _ in
            let key: LAPrivateKey = right.key
            keys.update { $0 += key.canSign(using: .ecdsaSignatureMessageX962SHA256) ? 1 : 0 }
        }
        await saved.deauthorize()
        observation.invalidate()
        #expect(keys.value == 1)
    }

    @Test(.timeLimit(.minutes(10)))
    func `observers may read and change the right, and all hear of it in one order`() async throws {
        let right = right()
        let (first, second) = (Locked<[LARight.State?]>([]), Locked<[LARight.State?]>([]))
        let reacting = right.observe(\.state, options: [.new]) { right, change in
            _ = right.state
            if change.newValue == .authorized { right.deauthorize {} }
            first.update { $0.append(change.newValue) }
        }
        let watching = right.observe(\.state, options: [.new]) { _, change in
            second.update { $0.append(change.newValue) }
        }
        try await right.authorize(localizedReason: "test")
        let steps: [LARight.State?] = [.authorizing, .authorized, .notAuthorized]
        #expect(first.value == steps)
        #expect(second.value == steps)
        withExtendedLifetime((reacting, watching)) {}
    }

    @Test(.timeLimit(.minutes(10)))
    func `under many threads every observer hears an unbroken chain`() async {
        let right = right()
        let changes = Locked<[Change]>([])
        let observation = right.observe(\.state, options: [.old, .new]) { _, change in
            changes.update { $0.append(change) }
        }
        let shared = UncheckedRight(right: right)
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<40 {
                group.addTask {
                    if index.isMultiple(of: 2) {
                        _ = await thrownError { try await shared.right.authorize(localizedReason: "test") }
                    } else {
                        await shared.right.deauthorize()
                    }
                }
            }
        }
        await right.deauthorize()
        observation.invalidate()
        let chain = changes.value
        #expect(chain.first?.oldValue == .unknown)
        #expect(chain.last?.newValue == .notAuthorized)
        for (earlier, later) in zip(chain, chain.dropFirst()) { #expect(earlier.newValue == later.oldValue) }
    }

    // MARK: sequence

    @Test(.timeLimit(.minutes(10)))
    func `the sequence begins with the current state, skips nothing and ends with the right`() async throws {
        var right: LARight? = right()
        let updates = try #require(right?.stateUpdates)
        try await right?.authorize(localizedReason: "test")
        await right?.deauthorize()
        right = nil
        var states: [LARight.State] = []
        for await state in updates { states.append(state) }
        #expect(states == [.unknown, .authorizing, .authorized, .notAuthorized])
    }

    @Test func `each sequence has its own pace`() async {
        let right = right()
        var first = right.stateUpdates.makeAsyncIterator()
        #expect(await first.next() == .unknown)
        await right.deauthorize()
        var second = right.stateUpdates.makeAsyncIterator()
        #expect(await first.next() == .notAuthorized)
        #expect(await second.next() == .notAuthorized)
    }

    // MARK: notifications

    @Test func `becoming authorized and unauthorized is posted with the right`() async throws {
        let right = right()
        let posted = Locked<[Notification.Name]>([])
        let names: [Notification.Name] = [.didBecomeAuthorizedNotification, .didBecomeUnauthorizedNotification]
        let tokens = names.map { name in
            NotificationCenter.default.addObserver(forName: name, object: right, queue: nil) { notification in
                posted.update { $0.append(notification.name) }
            }
        }
        try await right.authorize(localizedReason: "test")
        #expect(posted.value == [LARight.didBecomeAuthorizedNotification])
        await right.deauthorize()
        daemon.answerNext(.refuse(OstiaryError(.init(.userCancel), "no")))
        _ = await thrownError { try await right.authorize(localizedReason: "test") }
        let (authorized, unauthorized) = (names[0], names[1])
        #expect(posted.value == [authorized, unauthorized, unauthorized])
        for token in tokens { NotificationCenter.default.removeObserver(token) }
    }

    @Test func `another right's changes are not posted for this one`() async {
        let (right, other) = (right(), right())
        let count = Locked(0)
        let token = NotificationCenter.default.addObserver(
            forName: LARight.didBecomeUnauthorizedNotification, object: right, queue: nil
        ) { _ in count.update { $0 += 1 } }
        await other.deauthorize()
        #expect(count.value == 0)
        NotificationCenter.default.removeObserver(token)
    }
}
