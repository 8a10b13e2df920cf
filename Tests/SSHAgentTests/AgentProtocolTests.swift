import Foundation
import SSHAgent
import SSHFormats
import SSHKeyFiles
import SecretMemory
import SeededRandomness
import Testing

/// Messages to an agent whose keys programs added.
@Suite("The protocol of an agent", .timeLimit(.minutes(10)))
struct AgentProtocolTests {
    private let agent = PlayedAgent()

    @Test func `an added key is listed, signs and is removed`() throws {
        let key = try PlayedKey()
        var session = agent.session()
        #expect(session.listed().isEmpty)
        #expect(session.add(key) == .success)
        #expect(session.send(.requestIdentities) == .identities([ListedIdentity(key.publicKey, comment: "key")]))
        let data = Data("anything".utf8)
        #expect(try key.isValid(session.sign(key.publicKey, data), of: data))
        #expect(session.remove(key.publicKey) == .success)
        #expect(session.listed().isEmpty)
        #expect(session.remove(key.publicKey) == .failure)
        #expect(session.sign(key.publicKey, data) == .failure)
    }

    @Test func `keys are common to all connections, and all go at once`() throws {
        let keys = try [PlayedKey(), PlayedKey()]
        var (first, second) = (agent.session(), agent.session())
        for key in keys { #expect(first.add(key) == .success) }
        #expect(second.listed() == keys.map(\.publicKey.blob))
        #expect(second.send(.removeAllIdentities) == .success)
        #expect(first.listed().isEmpty)
    }

    @Test func `the same key again replaces its comment and limits, in its place`() throws {
        let keys = try [PlayedKey(), PlayedKey()]
        var session = agent.session()
        for key in keys { _ = session.add(key) }
        #expect(session.send(.addIdentity, keys[0].addition("new")) == .success)
        #expect(
            session.send(.requestIdentities)
                == .identities([
                    ListedIdentity(keys[0].publicKey, comment: "new"),
                    ListedIdentity(keys[1].publicKey, comment: "key"),
                ]))
    }

    @Test func `a lifetime ends a key, and the agent's own one those without`() throws {
        let keys = try [PlayedKey(), PlayedKey()]
        let agent = PlayedAgent(lifetime: 100)
        var session = agent.session()
        #expect(session.add(keys[0], PlayedConstraint.lifetime(10)) == .success)
        #expect(session.add(keys[1]) == .success)
        agent.pass(9)
        #expect(session.listed().count == 2)
        agent.pass(1)
        #expect(session.listed() == [keys[1].publicKey.blob])
        #expect(session.sign(keys[0].publicKey, Data([1])) == .failure)
        agent.pass(90)
        #expect(session.listed().isEmpty)
    }

    @Test func `more keys than the limit are refused, and the present ones stay`() throws {
        var session = agent.session()
        let key = try PlayedKey()
        #expect(session.add(key) == .success)
        for _ in 1..<AgentLimits.addedKeyCount { #expect(session.add(try PlayedKey()) == .success) }
        #expect(session.add(try PlayedKey()) == .failure)
        #expect(session.listed().count == AgentLimits.addedKeyCount)
        #expect(session.add(key) == .success)
    }

    // MARK: confirmation

    @Test func `a key that confirms asks for each use, with the words of the login`() throws {
        let key = try PlayedKey()
        let host = try PlayedHost("example.org")
        let held = PlayedKeys()
        var session = agent.session(held)
        #expect(session.add(key, PlayedConstraint.confirmation) == .success)
        #expect(session.bind(try host.binding(PlayedData.session)) == .success)
        let data = PlayedData.login(key.publicKey, hostKey: host.key)
        #expect(try key.isValid(session.sign(key.publicKey, data), of: data))
        let words = try #require(held.whatWasAsked.confirmations.first)
        for part in ["me", "known.example.org", "\(host.key.fingerprint)", "\(key.publicKey.fingerprint)"] {
            #expect(words.contains(part), "\(words)")
        }
        _ = session.sign(key.publicKey, data)
        #expect(held.whatWasAsked.confirmations.count == 2)
    }

    @Test func `a declined confirmation signs nothing, and without anybody to ask the key is not taken`() throws {
        let key = try PlayedKey()
        var session = agent.session(PlayedKeys(declines: true))
        #expect(session.add(key, PlayedConstraint.confirmation) == .success)
        #expect(session.sign(key.publicKey, Data([1])) == .failure)
        var alone = PlayedAgent().session()
        #expect(alone.add(key, PlayedConstraint.confirmation) == .failure)
        #expect(alone.listed().isEmpty)
        // Not a way around the confirmation either: a session without Ostiary does not use the key.
        var other = agent.session()
        #expect(other.sign(key.publicKey, Data([1])) == .failure)
    }

    @Test func `after a refused binding a key that confirms is not used, and nobody is asked`() throws {
        let key = try PlayedKey()
        let (host, other) = (try PlayedHost("a"), try PlayedHost("b"))
        let held = PlayedKeys()
        var session = agent.session(held)
        #expect(session.add(key, PlayedConstraint.confirmation) == .success)
        #expect(session.bind(try host.binding(PlayedData.session)) == .success)
        #expect(session.bind(try other.binding(PlayedData.otherSession)) == .extensionFailure)
        #expect(session.sign(key.publicKey, PlayedData.login(key.publicKey, hostKey: host.key)) == .failure)
        #expect(held.whatWasAsked.confirmations.isEmpty)
        #expect(agent.whatWasNoted.last?.hasSuffix("\(KeyRefusal.refusedBinding)") == true)
    }

    // MARK: lock

    @Test func `a locked agent has no keys, and only its passphrase unlocks it`() throws {
        let key = try PlayedKey()
        let held = PlayedKeys()
        var session = agent.session(held)
        _ = session.add(key)
        #expect(session.lock("secret") == .success)
        #expect(session.lock("secret") == .failure)
        var other = agent.session(held)
        #expect(other.listed().isEmpty)
        #expect(other.sign(key.publicKey, Data([1])) == .failure)
        #expect(other.add(try PlayedKey()) == .failure)
        #expect(other.remove(key.publicKey) == .failure)
        #expect(other.send(.removeAllIdentities) == .failure)
        #expect(other.extend("query") == .failure)
        #expect(held.whatWasAsked == PlayedKeys.Asked())
        #expect(other.unlock("Secret") == .failure)
        #expect(other.unlock("secret") == .success)
        #expect(session.listed() == [key.publicKey.blob])
        #expect(session.unlock("secret") == .failure)
    }

    @Test func `wrong passphrases wait longer and longer, and the right one begins again`() {
        var session = agent.session()
        #expect(session.lock("secret") == .success)
        for _ in 0..<3 { #expect(session.unlock("wrong") == .failure) }
        #expect(agent.whatWasWaited == [.milliseconds(100), .milliseconds(200), .milliseconds(300)])
        for _ in 0..<120 { _ = session.unlock("wrong") }
        #expect(agent.whatWasWaited.max() == .seconds(10))
        #expect(session.unlock("secret") == .success)
        _ = session.lock("secret")
        _ = session.unlock("wrong")
        #expect(agent.whatWasWaited.last == .milliseconds(100))
    }

    @Test func `an empty passphrase locks nothing`() {
        var session = agent.session()
        #expect(session.lock("") == .failure)
        #expect(!agent.core.lock.isLocked)
        #expect(session.send(.lock) == .failure)
        #expect(
            session.send(.lock, SSHWriter.bytes { $0.write(string: Data(count: AgentLimits.passphraseByteCount + 1)) })
                == .failure)
    }

    @Test func `a locked agent takes bindings, which count once it is unlocked`() throws {
        let (key, host) = (try PlayedKey(), try PlayedHost("a"))
        var session = agent.session()
        _ = session.add(key, PlayedConstraint.destinations([(nil, host, "")]))
        _ = session.lock("secret")
        #expect(session.bind(try host.binding(PlayedData.session)) == .success)
        _ = session.unlock("secret")
        let data = PlayedData.login(key.publicKey, hostKey: host.key)
        #expect(try key.isValid(session.sign(key.publicKey, data), of: data))
    }

    // MARK: what nobody sends

    @Test func `extensions that are known are told, others fail as unknown ones do`() {
        var session = agent.session()
        #expect(session.extend("query") == .extensions(["session-bind@openssh.com"]))
        #expect(session.extend("query", Data([0])) == .failure)
        #expect(session.extend("other@example.org") == .failure)
        #expect(session.send(.extended) == .failure)
        #expect(session.bind(Data()) == .extensionFailure)
    }

    @Test func `keys of libraries and of security keys are refused with the way out`() throws {
        var session = agent.session()
        #expect(session.send(.addSmartcardKey, Data([0, 0, 0, 0, 0, 0, 0, 0])) == .failure)
        #expect(agent.whatWasNoted.last?.contains("--upstream") == true)
        #expect(session.send(.removeSmartcardKey) == .failure)
    }

    @Test func `unknown messages, missing parts and bytes behind the end fail, and the connection goes on`() throws {
        let key = try PlayedKey()
        var session = agent.session()
        for number: UInt8 in [0, 1, 3, 7, 8, 10, 12, 14, 24, 28, 29, 200, 255] {
            #expect(session.answer(number, SecretBytes(Data())) == .failure, "\(number)")
        }
        // All keys of SSH 1 are gone, because there are none.
        #expect(session.answer(9, SecretBytes(Data())) == .success)
        #expect(session.send(.requestIdentities, Data([0])) == .failure)
        #expect(session.send(.removeAllIdentities, Data([0])) == .failure)
        #expect(session.send(.removeIdentity) == .failure)
        #expect(session.send(.sign) == .failure)
        #expect(session.send(.addIdentity) == .failure)
        #expect(session.add(key) == .success)
        #expect(
            session.send(.removeIdentity, SSHWriter.bytes { $0.write(string: key.publicKey.blob) } + [0]) == .failure)
        #expect(session.listed() == [key.publicKey.blob])
    }

    @Test func `no message of random bytes breaks the agent`() throws {
        var generator = SeededGenerator(seed: 9987)
        var session = agent.session(PlayedKeys())
        for _ in 0..<5_000 {
            let number = UInt8.random(in: 0...30, using: &generator)
            let count = Int.random(in: 0..<200, using: &generator)
            let contents = Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
            // A lock by chance would end the test's purpose.
            guard number != AgentRequestNumber.lock.rawValue else { continue }
            _ = session.answer(number, SecretBytes(contents))
        }
        let key = try PlayedKey()
        #expect(session.add(key) == .success)
    }

    @Test func `answers have the bytes of RFC 9987`() throws {
        let key = try PlayedKey().publicKey
        #expect(AgentAnswer.failure.bytes == Data([0, 0, 0, 1, 5]))
        #expect(AgentAnswer.success.bytes == Data([0, 0, 0, 1, 6]))
        #expect(AgentAnswer.extensionFailure.bytes == Data([0, 0, 0, 1, 28]))
        #expect(AgentAnswer.identities([]).bytes == Data([0, 0, 0, 5, 12, 0, 0, 0, 0]))
        let listed = AgentAnswer.identities([ListedIdentity(key, comment: "c")]).bytes
        #expect(listed.count == 4 + 5 + 4 + key.blob.count + 4 + 1 && listed.last == UInt8(ascii: "c"))
        let signed = AgentAnswer.signature(SSHSignature(name: "n", bytes: Data([9]))).bytes
        #expect(signed == Data([0, 0, 0, 15, 14, 0, 0, 0, 10, 0, 0, 0, 1, UInt8(ascii: "n"), 0, 0, 0, 1, 9]))
        #expect(AgentAnswer.foreign(Data([6])).bytes == Data([0, 0, 0, 1, 6]))
    }
}
