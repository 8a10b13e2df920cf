import AccessControl
import Callers
import Cancellations
import ExactNames
import FingerprintReader
import FingerprintTestSupport
import Foundation
import Opening
import OstiaryMessages
import Owners
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing
import Threading
import UnixSocket

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport
@testable import Refusals
@testable import Sessions

/// What programs are told of the ways to authenticate their user, and when.
@Suite("The environment", .timeLimit(.minutes(10)))
struct EnvironmentTests {
    private let sensor = ScriptedSensor()
    private let fixture: BrokerFixture

    init() throws {
        sensor.enrol("one finger")
        fixture = try BrokerFixture(sensors: AddedAuthenticators(authenticators: [sensor]))
    }

    /// Leaves a watch on a new connection; returns when the daemon has it.
    ///
    /// - Parameter other: nil for the fixture with the scripted sensor.
    private func watch(
        after known: WireEnvironment? = nil, in other: BrokerFixture? = nil
    ) throws -> (client: TestClient, id: UInt64) {
        let watched = other ?? fixture
        let client = try watched.client()
        let known = try known ?? client.environment()
        let before = Self.watchCount(in: watched)
        let id = try client.send(.environment(.with { $0.known = known }))
        while Self.watchCount(in: watched) == before { usleep(500) }
        return (client, id)
    }

    private static func watchCount(in fixture: BrokerFixture) -> Int {
        fixture.broker.services.environment.watches.all(of: fixture.account).count
    }

    @Test func `a watch that is left while its connection ends goes with the connection`() throws {
        let client = try fixture.client()
        let session = try #require(fixture.broker.sessions.all(of: fixture.account).first)
        let watches = fixture.broker.services.environment.watches
        try session.slow.start(99) { cancellation in
            // The end of the connection cancels requests after it has taken the watches.
            while (try? cancellation.check()) != nil { usleep(500) }
            let watch = EnvironmentWatch(session: session, requestID: 99, known: WireEnvironment())
            do { try watches.add(watch) } catch { Issue.record(error) }
        }
        client.end()
        let sessions = fixture.broker.sessions
        try eventually("the connection has ended") { sessions.isEmpty }
        #expect(Self.watchCount(in: fixture) == 0)
    }

    /// What the watch is answered with.
    private func change(_ watch: (client: TestClient, id: UInt64)) throws -> WireEnvironment {
        let answer = try watch.client.answer()
        guard answer.id == watch.id, case .environment(let state) = answer.body else {
            throw TestClient.UnexpectedAnswer()
        }
        return state
    }

    // MARK: what is told

    @Test func `without a sensor and a passcode has nothing that can be used`() throws {
        let bare = try BrokerFixture()
        #expect(try bare.client().environment() == WireEnvironment())
    }

    @Test func `without a passcode has a sensor that cannot be used`() throws {
        let state = try fixture.client().environment()
        let biometry = try #require(state.biometry)
        #expect(biometry.type == 1 && biometry.isEnrolled && !biometry.isUsable && !biometry.isLockedOut)
        #expect(!state.passcode.isSet && !state.passcode.isUsable)
        #expect(state.companions.isEmpty)
    }

    @Test func `says what can be used and what is enrolled`() throws {
        try fixture.setPasscode()
        let state = try fixture.client().environment()
        #expect(state.biometry?.isUsable == true)
        #expect(state.biometry?.stateHash.count == 32 && state.stateHash.count == 32)
        #expect(state.stateHash != state.biometry?.stateHash)
        #expect(state.passcode.isSet && state.passcode.isUsable)
    }

    @Test func `has no digest of nothing`() throws {
        sensor.enrol(nil)
        let state = try fixture.client().environment()
        #expect(state.biometry?.isEnrolled == false)
        #expect(state.biometry?.stateHash == Data() && state.stateHash == Data())
    }

    @Test func `says that a sensor is locked out`() throws {
        try fixture.setPasscode()
        sensor.lockOut()
        let biometry = try #require(try fixture.client().environment().biometry)
        #expect(biometry.isLockedOut && biometry.isEnrolled && !biometry.isUsable)
    }

    @Test func `has a companion when a security key is enrolled, in reach or not`() throws {
        let key = ScriptedSensor(.securityKey)
        let fixture = try BrokerFixture(sensors: AddedAuthenticators(authenticators: [key]))
        let client = try fixture.client()
        #expect(try client.environment().companions == [.with { ($0.type, $0.isUsable) = (1, true) }])
        key.makeUnavailable(.securityKeyNotPresent)
        #expect(try client.environment().companions == [.with { ($0.type, $0.isUsable) = (1, false) }])
        key.makeUnavailable(.securityKeyNotEnrolled)
        #expect(try client.environment().companions.isEmpty)
    }

    @Test func `a state that a program read is told to its watch, though it may end before the daemon looks`() throws {
        try fixture.setPasscode()
        let watch = try watch()
        sensor.makeUnavailable(.biometryLockout)
        let read = try fixture.client().environment()
        #expect(read.biometry?.isLockedOut == true)
        sensor.makeUnavailable(nil)
        #expect(try change(watch) == read)
    }

    // MARK: digests

    @Test func `has the same digest for the same set, after a restart too, and another one for another set`() throws {
        let first = try fixture.client().environment()
        try fixture.restart()
        #expect(try fixture.client().environment() == first)
        sensor.enrol("two fingers")
        let second = try fixture.client().environment()
        #expect(second.biometry?.stateHash != first.biometry?.stateHash && second.stateHash != first.stateHash)
        sensor.enrol("one finger")
        #expect(try fixture.client().environment() == first)
    }

    @Test func `has digests that neither two programs nor two stores share, and that show no set`() throws {
        let (digests, set) = (fixture.account.domainDigests, Data("one finger".utf8))
        let one = digests.biometry(set, for: "/usr/bin/one")
        #expect(one == digests.biometry(set, for: "/usr/bin/one") && one.count == 32)
        #expect(one != digests.biometry(set, for: "/usr/bin/two"))
        #expect(one != digests.everything(biometry: set, companions: nil, for: "/usr/bin/one"))
        #expect(one != (try BrokerFixture().account.domainDigests.biometry(set, for: "/usr/bin/one")))
        // Name and set are not run together: the name's end cannot be moved into the set.
        #expect(one != digests.biometry(Data("e".utf8) + set, for: "/usr/bin/on"))
    }

    @Test func `has digests of companions that are no digests of fingers, and are a program's own`() throws {
        let (digests, set) = (fixture.account.domainDigests, Data("one key".utf8))
        let one = digests.companions(set, for: "/usr/bin/one")
        #expect(one == digests.companions(set, for: "/usr/bin/one") && one.count == 32)
        #expect(one != digests.companions(set, for: "/usr/bin/two"))
        #expect(one != digests.companions(Data("another key".utf8), for: "/usr/bin/one"))
        #expect(one != digests.biometry(set, for: "/usr/bin/one"))
        #expect(one != (try BrokerFixture().account.domainDigests.companions(set, for: "/usr/bin/one")))
        #expect(digests.companions(nil, for: "/usr/bin/one").isEmpty)
    }

    @Test func `has one digest of everything, in which no part passes for the other`() {
        let (digests, set) = (fixture.account.domainDigests, Data("set".utf8))
        let everything = { (biometry: Data?, companions: Data?) in
            digests.everything(biometry: biometry, companions: companions, for: "/usr/bin/one")
        }
        let all = [
            everything(set, nil), everything(nil, set), everything(Data(), set), everything(set, set),
            everything(set + set, Data()), everything(set, Data()),
        ]
        #expect(Set(all).count == all.count && all.allSatisfy { $0.count == 32 })
        #expect(everything(nil, nil).isEmpty)
    }

    // MARK: watching

    @Test func `is told when another program sets the passcode`() throws {
        let watch = try watch()
        try fixture.setPasscode()
        let state = try change(watch)
        #expect(state.passcode.isSet && state.passcode.isUsable && state.biometry?.isUsable == true)
    }

    @Test func `is told to all that wait, each once`() throws {
        let watches = try (0..<5).map { _ in try watch() }
        try fixture.setPasscode()
        for watch in watches { #expect(try change(watch).passcode.isSet) }
        for watch in watches {
            // The next answer is the one to this.
            #expect(try watch.client.status().passcode.isSet)
        }
    }

    @Test func `is told at once to whoever knows another state`() throws {
        let client = try fixture.client()
        let now = try client.environment()
        #expect(try client.environment(after: .with { $0.passcode.isSet = true }) == now)
    }

    @Test(arguments: ["enrol", "delete", "lock out", "unplug"])
    func `is told when the sensor says so`(change name: String) throws {
        try fixture.setPasscode()
        let before = try fixture.client().environment()
        let watch = try watch()
        switch name {
        case "enrol": sensor.enrol("two fingers")
        case "delete": sensor.enrol(nil)
        case "lock out": sensor.lockOut()
        default: sensor.plug(false)
        }
        let after = try change(watch)
        switch name {
        case "enrol": #expect(after.biometry?.stateHash != before.biometry?.stateHash)
        case "delete": #expect(after.biometry?.isEnrolled == false)
        case "lock out": #expect(after.biometry?.isLockedOut == true)
        default: #expect(after.biometry == nil)
        }
        #expect(after.passcode == before.passcode)
    }

    @Test func `is not told while the state is the same`() throws {
        try fixture.setPasscode()
        let watch = try watch()
        sensor.enrol("one finger")
        try fixture.client().lock()
        fixture.prompter.prepare([.cancel])
        let client = try fixture.client()
        #expect(try refusal { try client.evaluatePolicy(2, in: client.openContext()) } == .userCancel)
        fixture.account.looks.finish()
        #expect(try watch.client.status().passcode.isSet)
    }

    @Test func `has a reader asked again that went away between look and watch`() throws {
        let fixture = try FingerFixture()
        let (broker, account) = (fixture.broker.broker, fixture.broker.account)
        let client = try fixture.broker.client()
        let known = try client.environment()
        let changes = account.environmentChanges.withLock { $0 }
        try fixture.stack.killService()
        try fixture.stack.startService(hasReaders: false)
        // Nobody watches yet, so nobody is asked.
        broker.services.environment.mayHaveChanged(of: account, askingSensor: true)
        let session = try #require(broker.sessions.all(of: account).first)
        try broker.services.environment.leave(
            EnvironmentWatch(session: session, requestID: 1_000, known: known), after: changes)
        account.looks.finish()
        #expect(broker.services.environment.watches.all(of: account).isEmpty)
    }

    @Test(arguments: [true, false])
    func `is told of a finger that is enrolled or deleted before the first passcode entry`(isEnrolled: Bool) throws {
        let fixture = try FingerFixture(hasTemplates: true)
        defer { withExtendedLifetime(fixture) {} }
        try fixture.broker.restart()
        let before = try fixture.broker.client().environment()
        let watch = try watch(after: before, in: fixture.broker)
        if isEnrolled {
            try fixture.stack.enroll(.leftThumb, skin: "second")
        } else {
            try fixture.stack.fingerprintReader().withClaim(until: PollableCancellation()) {
                (claimed) throws(ReaderFailure) in
                try claimed.delete(.rightIndex)
            }
        }
        let after = try change(watch)
        #expect(after.biometry?.stateHash != before.biometry?.stateHash)
        #expect(after.biometry?.isEnrolled == isEnrolled)
    }

    @Test func `is told when a delay after wrong passcodes begins, and when it has ended by itself`() throws {
        try fixture.setPasscode()
        sensor.makeUnavailable(.biometryNotAvailable)
        let waiting = try watch()
        let wrong = Array(repeating: ScriptedPrompter.Answer.text("wrong"), count: 3)
        let client = try fixture.client()
        for _ in 0..<2 {
            fixture.prompter.prepare(wrong)
            _ = try refusal { try client.evaluatePolicy(2, in: client.openContext()) }
        }
        let locked = try change(waiting)
        #expect(locked.passcode.isSet && !locked.passcode.isUsable)

        let remaining = try #require(try client.status().passcode.lockedOutSeconds)
        fixture.clock.advance(by: .seconds(remaining - 0.2))
        let late = try watch(after: locked)
        fixture.clock.advance(by: .seconds(1))
        #expect(try change(late).passcode.isUsable)
    }

    // MARK: the end of a watch

    @Test func `a watch that is cancelled is answered, and the connection goes on`() throws {
        let (client, id) = try watch()
        let cancel = try client.send(.cancel(.with { $0.requestID = id }))
        let answers = [try client.answer(), try client.answer()]
        #expect(answers.first { $0.id == id }?.refused?.code == .appCancel)
        #expect(answers.first { $0.id == cancel }?.refused == nil)
        try fixture.setPasscode()
        #expect(try client.environment().passcode.isSet)
    }

    @Test func `a connection watches once at a time, under an id of its own`() throws {
        let (client, id) = try watch()
        let known = try fixture.client().environment()
        var refused: Refused?
        do { _ = try client.environment(after: known) } catch let error as Refused { refused = error }
        #expect(refused?.code == .tooMany && refused?.cause == "environment.watched")
        // Nothing else may have its id.
        try client.send(.status(.init()), id: id)
        #expect(try client.answer().refused?.code == .malformed)
        try fixture.setPasscode()
        #expect(try client.answer().id == id)
    }

    @Test func `a program has a limited number of watches, the others are told so, and a place becomes free`() throws {
        let limit = SessionLimits.ofOneUser.watches.ofProgram
        var watches = try (0..<limit).map { _ in try watch() }
        let late = try fixture.client()
        let known = try late.environment()
        var refused: Refused?
        do { _ = try late.environment(after: known) } catch let error as Refused { refused = error }
        #expect(refused?.code == .tooMany && refused?.cause == "environment.too-many-watches")
        // Whoever does not wait is answered, and the connection goes on.
        #expect(try late.environment() == known)

        watches.removeLast().client.end()
        // A watch ends a moment after its connection.
        while Self.watchCount(in: fixture) == limit { usleep(500) }
        watches.append(try watch(after: known))
        try fixture.setPasscode()
        for watch in watches { #expect(try change(watch).passcode.isSet) }
    }

    @Test func `all programs together have a limited number of watches`() throws {
        let table = EnvironmentWatches(ShareLimits(ofProgram: 9, total: 2))
        let sessions = try (0..<3).map { _ in try session() }
        for session in sessions.prefix(2) {
            try table.add(EnvironmentWatch(session: session, requestID: 1, known: WireEnvironment()))
        }
        let third = EnvironmentWatch(session: sessions[2], requestID: 1, known: WireEnvironment())
        var refused: Refusal?
        do { try table.add(third) } catch { refused = error }
        #expect(refused?.code == .tooMany && refused?.cause == "environment.too-many-watches-in-all")
        #expect(table.take(of: sessions[0], requestID: 2) == nil)
        #expect(table.take(of: sessions[0], requestID: 1) != nil)
        #expect(table.take(of: sessions[0]) == nil)
        try table.add(third)
        #expect(refused?.explanation.contains(where: \.isNumber) == false, "the others' number is not told")
    }

    @Test func `another owner's program of the same name is not held up`() throws {
        let table = EnvironmentWatches(ShareLimits(ofProgram: 1, total: 9))
        let another = try BrokerFixture()
        let sessions = [try session(), try session(), try session(in: another), try session(in: another)]
        let causes = sessions.map { watchRefusal(of: $0, by: table)?.cause ?? "" }
        #expect(causes == ["", "environment.too-many-watches", "", "environment.too-many-watches"])
        #expect(Set(sessions.map(\.caller.program.displayName)).count == 1)
    }

    @Test func `the watches of one owner leave places to another owner`() throws {
        let table = EnvironmentWatches(ShareLimits(ofProgram: 9, ofOwner: 2, total: 4))
        let another = try BrokerFixture()
        let (own, others) = (try (0..<4).map { _ in try session() }, try (0..<2).map { _ in try session(in: another) })
        #expect(own.prefix(2).allSatisfy { watchRefusal(of: $0, by: table) == nil })
        let refused = watchRefusal(of: own[2], by: table)
        #expect(refused?.code == .tooMany && refused?.cause == "environment.too-many-watches-of-owner")
        #expect(
            refused?.explanation
                == "2 processes of this user watch the environment already; end one, or ask without waiting.")
        #expect(others.allSatisfy { watchRefusal(of: $0, by: table) == nil })
        #expect(
            watchRefusal(of: own[2], by: table)?.cause == "environment.too-many-watches-of-owner",
            "its own share is named first")
        #expect(table.take(of: own[0]) != nil)
        #expect(watchRefusal(of: own[2], by: table) == nil)
        #expect(watchRefusal(of: own[3], by: table)?.cause == "environment.too-many-watches-of-owner")
    }

    /// The refusal of `table` for a watch of `session`; nil when the table takes the watch.
    private func watchRefusal(of session: Session, by table: EnvironmentWatches) -> Refusal? {
        do throws(Refusal) {
            try table.add(EnvironmentWatch(session: session, requestID: 1, known: WireEnvironment()))
            return nil
        } catch { return error }
    }

    /// - Parameter other: a store whose owner is another one; nil for the suite's.
    private func session(in other: BrokerFixture? = nil) throws -> Session {
        let served = other ?? fixture
        let path = served.folder.path("\(UInt32.random(in: 0 ... .max))")
        let listener = try UnixSocket.listen(at: path)
        let client = try UnixSocket.connect(to: path)
        defer { withExtendedLifetime(client) {} }
        return try Session(
            socket: listener.accept(), of: served.broker.opened.owners.enter(served.account.user),
            services: served.broker.services, handler: served.broker)
    }

    @Test func `takes no thread and none of the places of slow requests while it waits`() throws {
        try fixture.setPasscode()
        let watch = try watch()
        let contexts = try (0..<SessionLimits.slowRequestCount).map { _ in try watch.client.openContext() }
        fixture.prompter.prepare(Array(repeating: .wait, count: contexts.count))
        for context in contexts {
            try watch.client.send(
                .evaluatePolicy(.with { ($0.contextID, $0.policy, $0.question) = (context, 2, TestClient.question) }))
        }
        while fixture.prompter.asked.count < contexts.count { usleep(1_000) }
        sensor.lockOut()
        #expect(try change(watch).biometry?.isLockedOut == true)
    }
}
