import AccessControl
import Crypto
import Foundation
import OstiaryMessages
import SSHFormats
import Testing

@testable import BrokerTestSupport
@testable import ProtectedObjects

/// The table of what a key for SSH may sign: allowed, or refused for this reason.
@Suite struct SSHDecisionTests {
    private static let home = SSHHost()
    private static let hop = SSHHost()
    private static let stranger = SSHHost()
    private static let key = P256.Signing.PrivateKey().publicKey.x963Representation
    private static let otherKey = P256.Signing.PrivateKey().publicKey.x963Representation

    /// The bytes of a request.
    enum Bytes: Sendable {
        /// A login in session 1.
        case login
        case hostBound(SSHHost)
        case loginInOtherSession
        case loginOfOtherKey
        case signature(String)
        case unknown

        func data() throws -> Data {
            switch self {
            case .login: try SSHBytes.login(1, by: SSHDecisionTests.key)
            case .hostBound(let host): try SSHBytes.login(1, by: SSHDecisionTests.key, to: host)
            case .loginInOtherSession: try SSHBytes.login(9, by: SSHDecisionTests.key)
            case .loginOfOtherKey: try SSHBytes.login(1, by: SSHDecisionTests.otherKey)
            case .signature(let namespace): SSHBytes.signature(namespace)
            case .unknown: Data("anything".utf8)
            }
        }
    }

    /// The way of a request.
    enum Way: Sendable {
        case unbound
        case bound(SSHHost)
        case over(SSHHost, to: SSHHost)
        /// Forwarded by the host, whose own requests come so.
        case from(SSHHost)

        func sessions() throws -> SSHBoundSessions {
            let bindings: [WireSSHBinding] =
                switch self {
                case .unbound: []
                case .bound(let host): [try host.binding(1)]
                case .over(let hop, let host): [try hop.binding(2, forwarding: true), try host.binding(1)]
                case .from(let hop): [try hop.binding(2, forwarding: true)]
                }
            return try SSHBoundSessions(
                bindings.map {
                    try SSHSessionBinding(
                        hostKey: $0.hostKey, sessionID: $0.sessionID, signature: $0.signature,
                        isForwarding: $0.isForwarding)
                })
        }
    }

    struct Line: Sendable, CustomTestStringConvertible {
        let name: String
        let bytes: Bytes
        let way: Way
        let constraints: SSHKeyConstraints?
        let refusal: SSHRefusal?
        /// Whether the client may pass on requests of another machine.
        let forwards: Bool

        var testDescription: String { name }

        init(
            _ name: String, _ bytes: Bytes, _ way: Way, _ constraints: SSHKeyConstraints?, _ refusal: SSHRefusal? = nil,
            byForwarder forwards: Bool = false
        ) {
            (self.name, self.bytes, self.way) = (name, bytes, way)
            (self.constraints, self.refusal, self.forwards) = (constraints, refusal, forwards)
        }
    }

    private static func pins(_ hosts: SSHHost...) -> [SSHHostPin] {
        hosts.map { SSHHostPin(fingerprint: $0.fingerprint) }
    }

    static let lines: [Line] = {
        do {
            let none = try SSHKeyConstraints()
            let pinned = try SSHKeyConstraints(hosts: pins(home))
            let both = try SSHKeyConstraints(hosts: pins(home, hop))
            let local = try SSHKeyConstraints(neverForwarded: true)
            let git = try SSHKeyConstraints(namespaces: ["git"])
            let any = try SSHKeyConstraints(permitsUnknown: true)
            let noLogin = try SSHKeyConstraints(hosts: [])
            let noSignature = try SSHKeyConstraints(namespaces: [])
            return [
                // Facts that must agree, for each key.
                Line("login, bound", .login, .bound(home), none),
                Line("login, unbound", .login, .unbound, none),
                Line("login, key not for SSH", .login, .bound(home), nil),
                Line("host-bound login", .hostBound(home), .bound(home), none),
                Line("host-bound login, unbound", .hostBound(home), .unbound, none),
                Line("another key", .loginOfOtherKey, .bound(home), none, .otherKey),
                Line("another key, key not for SSH", .loginOfOtherKey, .unbound, nil, .otherKey),
                Line("another session", .loginInOtherSession, .bound(home), none, .otherSession),
                Line("another session, key not for SSH", .loginInOtherSession, .bound(home), nil, .otherSession),
                Line("bound for forwarding only", .login, .from(hop), none, .otherSession),
                Line("another host key", .hostBound(stranger), .bound(home), none, .otherHostKey),
                Line("another host key, key not for SSH", .hostBound(stranger), .bound(home), nil, .otherHostKey),
                // Hosts.
                Line("pinned", .login, .bound(home), pinned),
                Line("pinned, host-bound", .hostBound(home), .bound(home), pinned),
                Line("pinned, the bytes alone name the host", .hostBound(home), .unbound, pinned, .unbound),
                Line("pinned elsewhere", .login, .bound(stranger), pinned, .otherHost),
                Line("pinned elsewhere, host-bound", .hostBound(stranger), .bound(stranger), pinned, .otherHost),
                Line("pinned elsewhere, bytes alone", .hostBound(stranger), .unbound, pinned, .unbound),
                Line("pinned, nobody names a host", .login, .unbound, pinned, .unbound),
                Line("pinned to none", .login, .bound(home), noLogin, .otherHost),
                Line("pinned, signature", .signature("git"), .unbound, pinned),
                Line(
                    "pinned, unbound signature of a client that may forward", .signature("git"), .unbound, pinned,
                    .unbound, byForwarder: true),
                // Forwarding.
                Line("forwarded", .login, .over(hop, to: home), none),
                Line("forwarded, never", .login, .over(hop, to: home), local, .forwarded),
                Line("forwarded, never, host-bound", .hostBound(home), .over(hop, to: home), local, .forwarded),
                Line("not forwarded, never", .login, .bound(home), local),
                Line("unbound, never", .login, .unbound, local, .unbound),
                Line("unbound, never, host-bound", .hostBound(home), .unbound, local, .unbound),
                Line("unbound, never, signature", .signature("git"), .unbound, local),
                Line("forwarded signature", .signature("git"), .from(hop), none),
                Line("forwarded signature, never", .signature("git"), .from(hop), local, .forwarded),
                Line(
                    "unbound signature of a client that may forward, never", .signature("git"), .unbound, local,
                    .unbound,
                    byForwarder: true),
                Line(
                    "unbound signature of a client that may forward", .signature("git"), .unbound, none,
                    byForwarder: true),
                Line(
                    "bound signature of a client that may forward, never", .signature("git"), .bound(home), local,
                    byForwarder: true),
                Line("login of a client that may forward, never", .login, .bound(home), local, byForwarder: true),
                Line(
                    "unbound unknown data of a client that may forward, never", .unknown, .unbound,
                    try SSHKeyConstraints(neverForwarded: true, permitsUnknown: true), .unbound, byForwarder: true),
                Line(
                    "unbound unknown data, never", .unknown, .unbound,
                    try SSHKeyConstraints(neverForwarded: true, permitsUnknown: true)),
                Line("pinned, over another host", .hostBound(home), .over(hop, to: home), pinned, .otherHost),
                Line("pinned, over a pinned host", .hostBound(home), .over(hop, to: home), both),
                Line("pinned, forwarded, not host-bound", .login, .over(hop, to: home), both, .notHostBound),
                Line("pinned, signature from another host", .signature("git"), .from(stranger), both, .otherHost),
                Line("pinned, signature from a pinned host", .signature("git"), .from(hop), both),
                // Namespaces.
                Line("namespace", .signature("git"), .unbound, git),
                Line("another namespace", .signature("file"), .unbound, git, .namespace),
                Line("a longer namespace", .signature("git2"), .unbound, git, .namespace),
                Line("namespace, case", .signature("Git"), .unbound, git, .namespace),
                Line("no namespace", .signature("git"), .unbound, noSignature, .namespace),
                Line("any namespace, key not for SSH", .signature("file"), .unbound, nil),
                Line("namespaces, login", .login, .bound(home), git),
                // Unknown data.
                Line("unknown", .unknown, .unbound, none, .unknownData),
                Line("unknown, key not for SSH", .unknown, .unbound, nil, .unknownData),
                Line("unknown, permitted", .unknown, .unbound, any),
                Line("unknown, permitted, forwarded", .unknown, .from(hop), any),
                Line(
                    "unknown, forwarded, never", .unknown, .from(hop),
                    try SSHKeyConstraints(neverForwarded: true, permitsUnknown: true), .forwarded),
                Line(
                    "unknown from another host", .unknown, .from(stranger),
                    try SSHKeyConstraints(hosts: pins(home), permitsUnknown: true), .otherHost),
                Line("another key, unknown permitted", .loginOfOtherKey, .unbound, any, .otherKey),
            ]
            // Without its lines the table tests nothing, and arguments of a test cannot throw.
        } catch { fatalError("\(error)") }
    }()

    @Test(arguments: lines) func `a key signs what its limits permit, and nothing else`(_ line: Line) throws {
        let request = try SSHRequest(
            data: SSHSignedData.parse(line.bytes.data()), sessions: line.way.sessions(), clientMayForward: line.forwards
        )
        let key = try SSHPublicKey(p256: Self.key)
        #expect(decide(request, by: key, under: line.constraints) == line.refusal)
    }

    @Test func `the table has each refusal that the decision can come to`() {
        let before: Set<SSHRefusal> = [.malformed, .forgedBinding, .bindingOrder, .unshowable]
        #expect(Set(Self.lines.compactMap(\.refusal)) == Set(SSHRefusal.allCases).subtracting(before))
        let causes = SSHRefusal.allCases.map(\.cause)
        #expect(Set(causes).count == causes.count)
    }
}
