import AccessControl
import Cancellations
import Foundation
import SSHAgent
import SSHFormats
import Testing

/// A question can stand for minutes. What held when it was asked need not hold when it is answered.
@Suite("An agent that changes while a question stands", .timeLimit(.minutes(10)))
struct StandingQuestionTests {
    private static let limits = PlayedConstraint.confirmation + PlayedConstraint.lifetime(10)

    private let agent = PlayedAgent()
    private let key: PlayedKey

    init() throws { key = try PlayedKey() }

    /// What somebody does on another connection.
    enum Change: CaseIterable {
        case lock, lockAndUnlock, removal, removalOfAll, signal, expiry

        var refusal: UseRefusal {
            switch self {
            case .lock, .lockAndUnlock: .locked
            default: .keyGone
            }
        }

        func happen(to key: SSHPublicKey, of agent: PlayedAgent) {
            var other = agent.session()
            switch self {
            case .lock: #expect(other.lock("secret") == .success)
            case .lockAndUnlock:
                #expect(other.lock("secret") == .success)
                #expect(other.unlock("secret") == .success)
            case .removal: #expect(other.remove(key) == .success)
            case .removalOfAll: #expect(other.send(.removeAllIdentities) == .success)
            case .signal: agent.core.added.removeAll()
            case .expiry: agent.pass(10)
            }
        }
    }

    private func isLastNote(_ refusal: UseRefusal) -> Bool { agent.whatWasNoted.last?.hasSuffix("\(refusal)") == true }

    // MARK: keys of ssh-add -c

    @Test(arguments: Change.allCases) func `a yes does not count after a lock, or after the end of its key`(
        change: Change
    ) throws {
        let held = PlayedKeys(meanwhile: { [agent, key] _ in change.happen(to: key.publicKey, of: agent) })
        var session = agent.session(held)
        #expect(session.add(key, Self.limits) == .success)
        #expect(session.sign(key.publicKey, PlayedData.login(key.publicKey)) == .failure)
        #expect(held.whatWasAsked.confirmations.count == 1)
        #expect(isLastNote(change.refusal), "\(agent.whatWasNoted)")
    }

    @Test(arguments: [Data(), StandingQuestionTests.limits])
    func `a yes does not count for the same key that was added meanwhile, with other limits or the same`(
        limits: Data
    ) throws {
        let held = PlayedKeys(meanwhile: { [agent, key] _ in
            var other = agent.session(PlayedKeys())
            #expect(other.add(key, limits) == .success)
        })
        var session = agent.session(held)
        #expect(session.add(key, Self.limits) == .success)
        #expect(session.sign(key.publicKey, PlayedData.login(key.publicKey)) == .failure)
        #expect(held.whatWasAsked.confirmations.count == 1)
        #expect(isLastNote(.keyGone), "\(agent.whatWasNoted)")
    }

    @Test func `a change of another key stops no signature`() throws {
        let (removed, added) = (try PlayedKey(), try PlayedKey())
        let held = PlayedKeys(meanwhile: { [agent] _ in
            var other = agent.session()
            #expect(other.remove(removed.publicKey) == .success)
            #expect(other.add(added) == .success)
            agent.pass(9)
        })
        var session = agent.session(held)
        for each in [removed, key] { #expect(session.add(each, Self.limits) == .success) }
        let data = PlayedData.login(key.publicKey)
        #expect(try key.isValid(session.sign(key.publicKey, data), of: data))
    }

    @Test func `a certificate of the host that ends while the question stands ends the permission`() throws {
        let (host, authority) = (try PlayedHost("a"), try PlayedHost("authority"))
        let certificate = try host.certificate(by: authority, until: 1_000_005)
        let signature = try host.sign(PlayedData.session)
        let binding = SSHWriter.bytes { writer in
            writer.write(string: certificate.blob)
            writer.write(string: PlayedData.session)
            writer.write(string: signature.blob)
            writer.write(flag: false)
        }
        let data = PlayedData.login(key.publicKey, hostKey: certificate)
        let limit = PlayedConstraint.destinations([(nil, ("a", [(authority.key, true)]), "")])
        var valid = agent.session(PlayedKeys())
        #expect(valid.add(key, PlayedConstraint.confirmation + limit) == .success)
        #expect(valid.bind(binding) == .success)
        #expect(try key.isValid(valid.sign(key.publicKey, data), of: data))
        let held = PlayedKeys(meanwhile: { [agent] _ in agent.pass(5) })
        var ends = agent.session(held)
        #expect(ends.bind(binding) == .success)
        #expect(ends.sign(key.publicKey, data) == .failure)
        #expect(held.whatWasAsked.confirmations.count == 1)
        #expect(isLastNote(.destinations), "\(agent.whatWasNoted)")
    }

    // MARK: keys of Ostiary

    static let places: [HeldKey.Place] = [
        .enclave(right: Data(count: 16), confirms: true), .enclave(right: Data(count: 16), confirms: false),
        .imported(item: Data(count: 16)), .passkey(id: Data(count: 16)),
    ]

    private func held(_ place: HeldKey.Place) throws -> HeldKey {
        HeldKey(
            name: "work", publicKey: key.publicKey, constraints: try SSHKeyConstraints(permitsUnknown: true),
            place: place)
    }

    @Test(arguments: places, [Change.lock, .lockAndUnlock])
    func `a signature of Ostiary's that comes back after a lock is not given out`(
        place: HeldKey.Place, change: Change
    ) throws {
        let keys = PlayedKeys(
            [try held(place)], meanwhile: { [agent, key] _ in change.happen(to: key.publicKey, of: agent) })
        var session = agent.session(keys)
        #expect(session.sign(key.publicKey, PlayedData.login(key.publicKey)) == .failure)
        #expect(keys.whatWasAsked.signatures == ["work"])
        #expect(isLastNote(.locked), "\(agent.whatWasNoted)")
    }

    // MARK: the end of a question

    @Test func `a client that goes while the question stands gets no signature`() throws {
        let client = Cancellation()
        let keys = PlayedKeys(meanwhile: { question in
            client.cancel()
            #expect(question.isCancelled)
        })
        var session = agent.session(keys, cancellation: client)
        #expect(session.add(key, PlayedConstraint.confirmation) == .success)
        #expect(session.sign(key.publicKey, PlayedData.login(key.publicKey)) == .failure)
        #expect(keys.whatWasAsked.confirmations.count == 1)
        #expect(isLastNote(.clientGone), "\(agent.whatWasNoted)")
    }

    @Test func `a lock ends the questions of all clients that stand, and neither earlier nor later ones`() throws {
        let own = try PlayedKey()
        let passkey = HeldKey(
            name: "work", publicKey: own.publicKey, constraints: try SSHKeyConstraints(),
            place: .passkey(id: Data(count: 16)))
        let before = PlayedKeys()
        var first = agent.session(before)
        #expect(first.add(key, PlayedConstraint.confirmation) == .success)
        #expect(first.sign(key.publicKey, PlayedData.login(key.publicKey)) != .failure)
        // Another client's question stands while this one's is asked, and a third locks.
        let inner = PlayedKeys(meanwhile: { [agent] question in
            #expect(!question.isCancelled)
            var locking = agent.session()
            #expect(locking.lock("secret") == .success)
            #expect(question.isCancelled)
        })
        let outer = PlayedKeys(
            [passkey],
            meanwhile: { [agent, key] question in
                var second = agent.session(inner)
                #expect(!question.isCancelled)
                #expect(second.sign(key.publicKey, PlayedData.login(key.publicKey)) == .failure)
                #expect(question.isCancelled)
            })
        var third = agent.session(outer)
        #expect(third.sign(own.publicKey, PlayedData.login(own.publicKey)) == .failure)
        #expect(inner.cancellations.count == 1 && outer.cancellations.count == 1)
        #expect(before.cancellations.map(\.isCancelled) == [false])
        #expect(first.unlock("secret") == .success)
        #expect(first.sign(key.publicKey, PlayedData.login(key.publicKey)) != .failure)
        #expect(before.cancellations.map(\.isCancelled) == [false, false])
    }
}
