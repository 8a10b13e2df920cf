import Cancellations
import FingerprintTestSupport
import FingerprintReader
import Foundation
import Glibc
import Synchronization
import TerminalTestSupport
import Testing

@testable import EnrolledTemplates

/// Changes of the templates are told as they happen.
@Suite(.timeLimit(.minutes(10))) struct ChangeTests {
    /// What was told, in order.
    final class Told: Sendable {
        private let sets = Mutex<[EnrolledSet]>([])
        var all: [EnrolledSet] { sets.withLock { $0 } }
        func add(_ set: EnrolledSet) { sets.withLock { $0.append(set) } }

        func waitForLast(_ what: String, _ holds: (EnrolledSet) -> Bool) throws -> EnrolledSet {
            try eventually(what) { all.last.map(holds) ?? false }
            return all.last!
        }
    }

    @Test func `a finger that comes, and with it all of fprintd's folders`() throws {
        let helper = try TemplatesHelper()
        let told = Told()
        let follower = helper.client().follow { told.add($0) }
        defer { follower.stop() }
        _ = try told.waitForLast("nothing is enrolled") { $0 == .none }
        try helper.write("first")
        let first = try told.waitForLast("a finger is enrolled") { $0.hexadecimal != nil }
        #expect(helper.client().current() == first)
    }

    @Test func `on the real fprintd, a finger that comes, is replaced under its name, and goes`() throws {
        let stack = try FingerprintStack()
        let helper = try TemplatesHelper(folder: stack.templates)
        let told = Told()
        let follower = helper.client().follow { told.add($0) }
        defer { follower.stop() }
        _ = try told.waitForLast("nothing is enrolled") { $0 == .none }

        try stack.enroll(.rightIndex, skin: "first")
        let first = try told.waitForLast("a finger is enrolled") { $0.hexadecimal != nil }
        try stack.enroll(.rightIndex, skin: "second")
        let second = try told.waitForLast("it is replaced") { $0.hexadecimal != nil && $0 != first }
        guard case .ready(_, [.rightIndex]) = stack.fingerprintReader().state() else {
            Issue.record("the names do not stay the same")
            return
        }
        #expect(helper.client().current() == second)
        try stack.fingerprintReader().withClaim(until: PollableCancellation()) { (claimed) throws(ReaderFailure) in
            try claimed.delete(.rightIndex)
        }
        _ = try told.waitForLast("it is gone") { $0 == .none }
        #expect(Set(told.all.map { $0.hexadecimal ?? "" }).count == 3)
    }

    /// Whether a user is there, and how often somebody asked.
    private final class Presence: Sendable {
        private let state = Mutex((isThere: false, count: 0))
        var count: Int { state.withLock { $0.count } }
        func set(_ isThere: Bool) { state.withLock { $0.isThere = isThere } }

        func ask() -> Bool {
            state.withLock { state in
                state.count += 1
                return state.isThere
            }
        }

        func waitForQuestions() throws {
            let former = count
            try eventually("it was asked three times") { count >= former + 3 }
        }
    }

    @Test func `the changes of a user who is not there take no helper, and a question is answered`() throws {
        let helper = try TemplatesHelper()
        try helper.write("first")
        let (told, presence) = (Told(), Presence())
        let client = helper.client { presence.ask() }
        let follower = client.follow(lookingEvery: .milliseconds(20)) { told.add($0) }
        defer { follower.stop() }
        #expect(client.current().hexadecimal != nil)
        try eventually("the question's helper has ended") { try helper.servingCount() == 0 }
        try presence.waitForQuestions()
        #expect(try helper.servingCount() == 0)
        #expect(told.all.isEmpty)

        presence.set(true)
        let first = try told.waitForLast("the set is told") { $0.hexadecimal != nil }
        try helper.write("second")
        _ = try told.waitForLast("a change is told") { $0 != first }
        #expect(try helper.servingCount() == 1)

        presence.set(false)
        // The helper ends by itself after ten minutes.
        try helper.killServing()
        try presence.waitForQuestions()
        #expect(try helper.servingCount() == 0)
    }

    @Test func `files that are put back tell the first digest again`() throws {
        let helper = try TemplatesHelper()
        try helper.write("first")
        let told = Told()
        let follower = helper.client().follow { told.add($0) }
        defer { follower.stop() }
        let first = try told.waitForLast("a finger is enrolled") { $0.hexadecimal != nil }
        try helper.write("second")
        _ = try told.waitForLast("it is another one") { $0 != first }
        try helper.write("first")
        _ = try told.waitForLast("it is the first one again") { $0 == first }
    }

    @Test func `a verification tells nothing`() throws {
        let stack = try FingerprintStack()
        try stack.enroll(.rightIndex, skin: "owner")
        let helper = try TemplatesHelper(folder: stack.templates)
        let told = Told()
        let follower = helper.client().follow { told.add($0) }
        defer { follower.stop() }
        let first = try told.waitForLast("a finger is enrolled") { $0.hexadecimal != nil }
        let result = try stack.fingerprintReader().withClaim(until: PollableCancellation()) {
            (claimed) throws(ReaderFailure) in
            try claimed.verify(within: .seconds(20)) { if $0 == .armed { try? stack.play(.touch("owner")) } }
        }
        #expect(result == .match)
        // What is not told can only be seen by something that is told afterwards.
        try stack.enroll(.leftIndex, skin: "owner")
        _ = try told.waitForLast("another finger is enrolled") { $0 != first }
        #expect(told.all.count == 2)
    }

    @Test func `a helper that is killed is asked again`() throws {
        let helper = try TemplatesHelper()
        try helper.write("first")
        let told = Told()
        let follower = helper.client().follow { told.add($0) }
        defer { follower.stop() }
        let first = try told.waitForLast("a finger is enrolled") { $0.hexadecimal != nil }
        try helper.killServing()
        try helper.write("second")
        _ = try told.waitForLast("it is another one") { $0 != first && $0.hexadecimal != nil }
    }

    @Test func `a follower that is let go ends its helper`() throws {
        let helper = try TemplatesHelper()
        let told = Told()
        var follower: TemplatesFollower? = helper.client().follow { told.add($0) }
        _ = try told.waitForLast("nothing is enrolled") { $0 == .none }
        try eventually("one helper serves") { try helper.servingCount() == 1 }
        withExtendedLifetime(follower) {}
        follower = nil
        try eventually("no helper is left") { try helper.servingCount() == 0 }
    }
}
