import Cancellations
import Foundation
import Glibc
import IndependentTools
import SSHAgent
import SSHFormats
import SecretMemory
import Testing
import UnixSocket

/// OpenSSH's own agent behind ours.
@Suite("Another agent's keys", .timeLimit(.minutes(10)))
final class UpstreamTests {
    private let folder: String
    private let process = Process()
    private var socket: String { folder + "/upstream" }
    private let agent = PlayedAgent()
    private let cancellation = Cancellation()

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/ostiary-up-\(UUID().uuidString.prefix(8))"
        try #require(mkdir(folder, 0o700) == 0)
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["ssh-agent", "-D", "-a", socket]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        for _ in 0..<1_000 where (try? UnixSocket.connect(to: socket)) == nil { usleep(10_000) }
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func session() -> AgentSession {
        agent.session(upstream: UpstreamAgent(path: socket, cancellation: cancellation))
    }

    /// A connection to OpenSSH's agent alone.
    private func foreign() -> AgentSession {
        PlayedAgent().session(upstream: UpstreamAgent(path: socket, cancellation: cancellation))
    }

    /// Gives the other agent a key of a kind that ours does not hold, as ssh-add does.
    private func addForeign(_ key: PlayedKey, _ constraints: Data = Data()) throws {
        let message = SSHWriter.bytes { writer in
            let contents = key.addition("foreign", constraints: constraints)
            writer.write(UInt32(contents.count + 1))
            writer.write(UInt8(constraints.isEmpty ? 17 : 25))
            writer.write(fixed: contents)
        }
        let connection = try UnixSocket.connect(to: socket)
        try message.withUnsafeBytes { try connection.send($0) }
        var answer = [UInt8](repeating: 0, count: 5)
        let count = try answer.withUnsafeMutableBytes { try connection.receive(into: $0, expecting: []).count }
        try #require(count == 5 && answer[4] == 6)
    }

    @Test func `foreign keys are listed behind own ones, sign, and are removed there`() throws {
        let (own, other) = (try PlayedKey(), try PlayedKey())
        try addForeign(other)
        var session = session()
        #expect(session.add(own) == .success)
        #expect(session.listed() == [own.publicKey.blob, other.publicKey.blob])
        let data = Data("anything".utf8)
        guard case .foreign(let answer) = session.sign(other.publicKey, data) else {
            Issue.record("no foreign answer")
            return
        }
        var reader = SSHReader(answer)
        #expect(try reader.readByte() == 14)
        let signature = try SSHSignature(blob: reader.readString(limit: 1024))
        #expect(try other.publicKey.isValid(signature, of: data))
        #expect(session.remove(other.publicKey) == .foreign(Data([6])))
        #expect(session.listed() == [own.publicKey.blob])
    }

    @Test func `a key that both have is shown once, and ours signs`() throws {
        let key = try PlayedKey()
        try addForeign(key)
        var session = session()
        _ = session.add(key)
        #expect(session.listed() == [key.publicKey.blob])
        #expect(try key.isValid(session.sign(key.publicKey, Data([1])), of: Data([1])))
    }

    @Test func `the other agent is told the bindings, so its own limits hold`() throws {
        let key = try PlayedKey()
        let (host, other) = (try PlayedHost("a"), try PlayedHost("b"))
        try addForeign(key, PlayedConstraint.destinations([(nil, host, "")]))
        var right = session()
        #expect(right.bind(try host.binding(PlayedData.session)) == .success)
        #expect(right.listed() == [key.publicKey.blob])
        #expect(right.sign(key.publicKey, PlayedData.login(key.publicKey, hostKey: host.key)) != .foreign(Data([5])))
        var wrong = session()
        #expect(wrong.bind(try other.binding(PlayedData.session)) == .success)
        #expect(wrong.listed().isEmpty)
        #expect(wrong.sign(key.publicKey, PlayedData.login(key.publicKey, hostKey: other.key)) == .foreign(Data([5])))
        var unbound = session()
        #expect(unbound.sign(key.publicKey, PlayedData.login(key.publicKey, hostKey: host.key)) == .foreign(Data([5])))
    }

    /// Bindings of which the last one is refused.
    private func refusedBindings() throws -> [[Data]] {
        let (host, other) = (try PlayedHost("a"), try PlayedHost("b"))
        let right = try host.binding(PlayedData.session)
        return [
            [try host.binding(PlayedData.session, signing: PlayedData.otherSession)], [Data()],
            [right, try other.binding(PlayedData.otherSession)], [right, right],
        ]
    }

    @Test func `after a refused binding the other agent is not reached`() throws {
        let (own, other) = (try PlayedKey(), try PlayedKey())
        try addForeign(other)
        for bindings in try refusedBindings() {
            var session = session()
            _ = session.add(own)
            for binding in bindings.dropLast() { #expect(session.bind(binding) == .success) }
            #expect(session.bind(try #require(bindings.last)) == .extensionFailure)
            #expect(session.listed() == [own.publicKey.blob])
            #expect(session.sign(other.publicKey, Data([1])) == .failure)
            #expect(session.remove(other.publicKey) == .failure)
            #expect(session.send(.removeAllIdentities) == .failure)
            #expect(session.send(.addSmartcardKey, Data(count: 8)) == .failure)
            #expect(session.send(.removeSmartcardKey, Data(count: 8)) == .failure)
            // DSA, which only the other agent could hold.
            let addition = SSHWriter.bytes { $0.write(text: "ssh-dss") }
            #expect(session.send(.addIdentity, addition) == .failure)
            #expect(agent.whatWasNoted.contains { $0.hasPrefix("The other agent is not asked: ") })
        }
        // Nothing was removed, here or there.
        var next = session()
        #expect(next.listed() == [own.publicKey.blob, other.publicKey.blob])
    }

    @Test func `a binding that came after a signature ends the other agent's part, too`() throws {
        let other = try PlayedKey()
        try addForeign(other)
        let host = try PlayedHost("a")
        var session = session()
        guard case .foreign = session.sign(other.publicKey, Data([1])) else {
            Issue.record("no foreign answer")
            return
        }
        #expect(session.bind(try host.binding(PlayedData.session)) == .extensionFailure)
        #expect(session.listed().isEmpty)
        #expect(session.sign(other.publicKey, Data([1])) == .failure)
    }

    @Test func `all keys go there, too, and a lock hides them here`() throws {
        let key = try PlayedKey()
        try addForeign(key)
        var session = session()
        #expect(session.lock("secret") == .success)
        #expect(session.listed().isEmpty)
        #expect(session.sign(key.publicKey, Data([1])) == .failure)
        #expect(session.unlock("secret") == .success)
        #expect(session.listed() == [key.publicKey.blob])
        #expect(session.send(.removeAllIdentities) == .success)
        var other = foreign()
        #expect(other.listed().isEmpty)
    }

    /// Another agent that takes one request, lets `act` happen, and answers with a signature.
    private func answerOnce(at listener: UnixSocket, after act: @escaping @Sendable () -> Void) {
        let serving = Thread {
            guard let connection = try? listener.accept() else { return }
            var request = [UInt8](repeating: 0, count: 4096)
            // All of it, since a connection that ends with unread bytes loses the answer, too. It was sent as one.
            let count = try? request.withUnsafeMutableBytes {
                try connection.receive(into: $0, expecting: []).count
            }
            guard count != nil else { return }
            act()
            // The number of a signature, without one.
            try? Data([0, 0, 0, 1, 14]).withUnsafeBytes { try connection.send($0) }
        }
        serving.start()
    }

    @Test(arguments: [false, true]) func `a signature that the other agent makes during a lock is not given out`(
        unlocks: Bool
    ) throws {
        let slow = folder + "/slow"
        let listener = try UnixSocket.listen(at: slow)
        answerOnce(at: listener) { [agent] in
            var other = agent.session()
            _ = other.lock("secret")
            if unlocks { _ = other.unlock("secret") }
        }
        var session = agent.session(upstream: UpstreamAgent(path: slow, cancellation: cancellation))
        #expect(session.sign(try PlayedKey().publicKey, Data([1])) == .failure)
        #expect(agent.core.lock.isLocked != unlocks)
        #expect(agent.whatWasNoted == ["The other agent's signature was not given out: \(UseRefusal.locked)"])
    }

    @Test func `without the other agent own keys go on, and its keys fail`() throws {
        let (own, other) = (try PlayedKey(), try PlayedKey())
        try addForeign(other)
        var session = session()
        _ = session.add(own)
        #expect(session.listed().count == 2)
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        #expect(session.listed() == [own.publicKey.blob])
        #expect(session.sign(other.publicKey, Data([1])) == .failure)
        #expect(try own.isValid(session.sign(own.publicKey, Data([1])), of: Data([1])))
        #expect(session.send(.removeAllIdentities) == .failure)
    }

    @Test func `the end of the client ends a call to the other agent`() throws {
        let stuck = folder + "/stuck"
        let listener = try UnixSocket.listen(at: stuck)
        let cancellation = Cancellation()
        var session = PlayedAgent().session(upstream: UpstreamAgent(path: stuck, cancellation: cancellation))
        let end = Thread {
            // The call has begun once its connection is there.
            guard let connection = try? listener.accept() else { return }
            cancellation.cancel()
            withExtendedLifetime(connection) {}
        }
        end.start()
        #expect(session.listed().isEmpty)
    }
}
