import Foundation
import SSHAgent
import SSHFormats
import Testing

/// Keys of `ssh-add -h`: the rules of OpenSSH's agent, and bindings that lie.
@Suite("Destinations of added keys", .timeLimit(.minutes(10)))
struct DestinationTests {
    private let agent = PlayedAgent()
    private let key: PlayedKey
    private let (a, b, c): (PlayedHost, PlayedHost, PlayedHost)

    init() throws {
        key = try PlayedKey()
        (a, b, c) = (try PlayedHost("a"), try PlayedHost("b"), try PlayedHost("c"))
    }

    private func session(_ hops: [(PlayedHost?, PlayedHost, String)]) -> AgentSession {
        var session = agent.session()
        #expect(session.add(key, PlayedConstraint.destinations(hops)) == .success)
        return session
    }

    private func login(_ host: PlayedHost, user: String = "me", session: Data = PlayedData.session) -> Data {
        PlayedData.login(key.publicKey, user: user, session: session, hostKey: host.key)
    }

    @Test func `the key logs in to its host, and to no other`() throws {
        for (host, isPermitted) in [(a, true), (b, false)] {
            var session = session([(nil, a, "")])
            #expect(session.bind(try host.binding(PlayedData.session)) == .success)
            #expect(session.listed().isEmpty == !isPermitted)
            let answer = session.sign(key.publicKey, login(host))
            #expect(try key.isValid(answer, of: login(host)) == isPermitted)
        }
    }

    @Test func `a connection without a binding sees the key and does not use it`() throws {
        var session = session([(nil, a, "")])
        #expect(session.listed() == [key.publicKey.blob])
        #expect(session.sign(key.publicKey, login(a)) == .failure)
    }

    @Test func `data that is no login is refused, and a login of another session, key or service`() throws {
        let other = try PlayedKey()
        let data = [
            PlayedData.signature("git"), Data("anything".utf8), login(a, session: PlayedData.otherSession),
            PlayedData.login(other.publicKey, hostKey: a.key),
            PlayedData.login(key.publicKey, hostKey: a.key, service: "other"),
            // The host key in the login is not the one of the binding.
            login(b), login(a) + [0], Data(login(a).dropLast()),
        ]
        for data in data {
            var session = session([(nil, a, "")])
            _ = session.bind(try a.binding(PlayedData.session))
            #expect(session.sign(key.publicKey, data) == .failure, "\(data.count)")
        }
    }

    @Test func `a first hop may be a server that names no host key`() throws {
        var session = session([(nil, a, "")])
        _ = session.bind(try a.binding(PlayedData.session))
        let data = PlayedData.login(key.publicKey)
        #expect(try key.isValid(session.sign(key.publicKey, data), of: data))
    }

    @Test func `the user counts at the last host`() throws {
        for (pattern, user, isPermitted) in [
            ("me", "me", true), ("me", "you", false), ("m*", "me", true), ("ME", "me", false),
        ] {
            var session = session([(nil, a, pattern)])
            _ = session.bind(try a.binding(PlayedData.session))
            #expect(
                (session.sign(key.publicKey, login(a, user: user)) != .failure) == isPermitted, "\(pattern) \(user)")
        }
    }

    // MARK: forwarding

    @Test func `a key goes over a host only if a destination begins there`() throws {
        var permitted = session([(nil, a, ""), (a, b, "")])
        _ = permitted.bind(try a.binding(PlayedData.session, forwarding: true))
        #expect(permitted.listed() == [key.publicKey.blob])
        _ = permitted.bind(try b.binding(PlayedData.otherSession))
        let data = login(b, session: PlayedData.otherSession)
        #expect(try key.isValid(permitted.sign(key.publicKey, data), of: data))

        // It may log in to a, and is not seen from there.
        var ends = session([(nil, a, "")])
        _ = ends.bind(try a.binding(PlayedData.session, forwarding: true))
        #expect(ends.listed().isEmpty)
        _ = ends.bind(try b.binding(PlayedData.otherSession))
        #expect(ends.sign(key.publicKey, data) == .failure)
    }

    @Test func `no hop may be left out or come from elsewhere`() throws {
        var skips = session([(nil, a, ""), (a, b, ""), (b, c, "")])
        _ = skips.bind(try a.binding(PlayedData.session, forwarding: true))
        _ = skips.bind(try c.binding(PlayedData.otherSession))
        #expect(skips.sign(key.publicKey, login(c, session: PlayedData.otherSession)) == .failure)
        var direct = session([(a, b, "")])
        _ = direct.bind(try b.binding(PlayedData.session))
        #expect(direct.sign(key.publicKey, login(b)) == .failure)
    }

    @Test func `a connection that only forwards signs no login, and a forwarded login names the host key`() throws {
        var forwards = session([(nil, a, ""), (a, b, "")])
        _ = forwards.bind(try a.binding(PlayedData.session, forwarding: true))
        #expect(forwards.sign(key.publicKey, login(a)) == .failure)
        var unnamed = session([(nil, a, ""), (a, b, "")])
        _ = unnamed.bind(try a.binding(PlayedData.session, forwarding: true))
        _ = unnamed.bind(try b.binding(PlayedData.otherSession))
        let data = PlayedData.login(key.publicKey, session: PlayedData.otherSession)
        #expect(unnamed.sign(key.publicKey, data) == .failure)
    }

    @Test func `a key that is not seen is neither removed nor replaced`() throws {
        var owner = session([(nil, a, "")])
        var stranger = agent.session()
        _ = stranger.bind(try b.binding(PlayedData.session))
        #expect(stranger.listed().isEmpty)
        #expect(stranger.remove(key.publicKey) == .failure)
        #expect(stranger.add(key) == .failure)
        #expect(owner.remove(key.publicKey) == .success)
    }

    // MARK: bindings that lie

    @Test func `a forged binding, one after a login's and one after a signature are refused`() throws {
        var forged = session([(nil, a, "")])
        #expect(forged.bind(try a.binding(PlayedData.session, signing: PlayedData.otherSession)) == .extensionFailure)
        #expect(forged.listed().isEmpty)
        // It stays refused for all later requests.
        #expect(forged.bind(try a.binding(PlayedData.session)) == .extensionFailure)
        #expect(forged.sign(key.publicKey, login(a)) == .failure)

        var second = session([(nil, a, "")])
        #expect(second.bind(try a.binding(PlayedData.session)) == .success)
        #expect(second.bind(try b.binding(PlayedData.otherSession)) == .extensionFailure)
        #expect(second.sign(key.publicKey, login(a)) == .failure)

        var again = session([(nil, a, "")])
        #expect(again.bind(try a.binding(PlayedData.session)) == .success)
        #expect(again.bind(try a.binding(PlayedData.session)) == .extensionFailure)

        var late = session([(nil, a, "")])
        #expect(late.sign(key.publicKey, login(a)) == .failure)
        #expect(late.bind(try a.binding(PlayedData.session)) == .extensionFailure)
        #expect(late.sign(key.publicKey, login(a)) == .failure)
    }

    @Test func `one session is bound to one host key`() throws {
        var session = session([(nil, a, ""), (a, b, "")])
        #expect(session.bind(try a.binding(PlayedData.session, forwarding: true)) == .success)
        #expect(session.bind(try a.binding(PlayedData.session, forwarding: true)) == .success)
        #expect(session.bind(try b.binding(PlayedData.session)) == .extensionFailure)
    }

    @Test func `more bindings than sixteen are refused`() throws {
        var session = agent.session()
        for number in 0..<16 {
            let id = Data(repeating: UInt8(number), count: 32)
            #expect(session.bind(try a.binding(id, forwarding: true)) == .success)
        }
        #expect(session.bind(try a.binding(Data(repeating: 99, count: 32))) == .extensionFailure)
    }

    @Test func `a key without destinations is used as OpenSSH uses it, after a refused binding, too`() throws {
        var session = agent.session()
        _ = session.add(key)
        _ = session.bind(Data([1]))
        #expect(session.listed() == [key.publicKey.blob])
        let data = login(a)
        #expect(try key.isValid(session.sign(key.publicKey, data), of: data))
    }

    // MARK: certificates of hosts

    private func isPermitted(_ certificate: SSHPublicKey, authority: SSHPublicKey, isAuthority: Bool = true) throws
        -> Bool
    {
        var session = agent.session()
        let constraint = PlayedConstraint.destinations([(nil, ("a", [(authority, isAuthority)]), "")])
        #expect(session.add(key, constraint) == .success)
        let signature = try a.sign(PlayedData.session)
        let binding = SSHWriter.bytes { writer in
            writer.write(string: certificate.blob)
            writer.write(string: PlayedData.session)
            writer.write(string: signature.blob)
            writer.write(flag: false)
        }
        #expect(session.bind(binding) == .success)
        return session.sign(key.publicKey, PlayedData.login(key.publicKey, hostKey: certificate)) != .failure
    }

    @Test func `an authority of the host permits its certificates for that host`() throws {
        let authority = try PlayedHost("authority")
        #expect(try isPermitted(a.certificate(by: authority), authority: authority.key))
        #expect(try isPermitted(a.certificate(by: authority, principals: ["b", "?"]), authority: authority.key))
    }

    @Test func `certificates of others, for others, of users, out of time and with options are refused`() throws {
        let (authority, other) = (try PlayedHost("authority"), try PlayedHost("other"))
        let wrong = [
            try a.certificate(by: other), try a.certificate(by: authority, principals: ["b"]),
            try a.certificate(by: authority, principals: []), try a.certificate(by: authority, type: 1),
            try a.certificate(by: authority, validFrom: 1_000_001),
            try a.certificate(by: authority, until: 1_000_000),
            try a.certificate(by: authority, options: Data([0, 0, 0, 1, 9, 0, 0, 0, 0])),
        ]
        for (number, certificate) in wrong.enumerated() {
            #expect(try !isPermitted(certificate, authority: authority.key), "\(number)")
        }
        let right = try a.certificate(by: authority)
        #expect(try !isPermitted(right, authority: authority.key, isAuthority: false))
        #expect(try !isPermitted(right, authority: a.key))
        // The authority itself is no host.
        #expect(try !isPermitted(a.key, authority: a.key))
        var changed = right.blob
        changed[changed.count - 1] ^= 1
        #expect(try !isPermitted(SSHPublicKey(blob: changed), authority: authority.key))
    }
}
