import AccessControl
import Cancellations
import Crypto
import Foundation
import SSHAgent
import SSHFormats
import SSHKeyFiles
import SecretMemory
import Synchronization

/// A host whose key a test holds.
struct PlayedHost {
    private let privateKey = Curve25519.Signing.PrivateKey()
    let name: String
    let key: SSHPublicKey

    init(_ name: String) throws {
        self.name = name
        key = try Self.publicKey(privateKey)
    }

    static func publicKey(_ key: Curve25519.Signing.PrivateKey) throws -> SSHPublicKey {
        try SSHPublicKey(
            blob: SSHWriter.bytes { writer in
                writer.write(text: SSHKeyType.ed25519.name)
                writer.write(string: key.publicKey.rawRepresentation)
            })
    }

    func sign(_ bytes: Data) throws -> SSHSignature {
        SSHSignature(name: SSHKeyType.ed25519.name, bytes: try privateKey.signature(for: bytes))
    }

    /// The contents of the extension that binds a connection to a session with this host.
    func binding(_ session: Data, forwarding: Bool = false, signing other: Data? = nil) throws -> Data {
        let signature = try sign(other ?? session)
        return SSHWriter.bytes { writer in
            writer.write(string: key.blob)
            writer.write(string: session)
            writer.write(string: signature.blob)
            writer.write(flag: forwarding)
        }
    }

    /// A certificate for the name, by `authority`.
    func certificate(
        by authority: PlayedHost, principals: [String]? = nil, type: UInt32 = 2, validFrom: UInt64 = 0,
        until: UInt64 = .max, options: Data = Data()
    ) throws -> SSHPublicKey {
        let body = SSHWriter.bytes { writer in
            writer.write(text: SSHKeyType.ed25519.certificateName)
            writer.write(string: Data(repeating: 7, count: 32))
            writer.write(string: privateKey.publicKey.rawRepresentation)
            writer.write(UInt64(1))
            writer.write(type)
            writer.write(text: "id")
            writer.write(
                string: SSHWriter.bytes { list in for name in principals ?? [name] { list.write(text: name) } })
            writer.write(validFrom)
            writer.write(until)
            writer.write(string: options)
            writer.write(string: Data())
            writer.write(string: Data())
            writer.write(string: authority.key.blob)
        }
        let signature = try authority.sign(body)
        return try SSHPublicKey(blob: body + SSHWriter.bytes { $0.write(string: signature.blob) })
    }
}

/// A key of a user as `ssh-add` gives it.
struct PlayedKey {
    let privateKey = Curve25519.Signing.PrivateKey()
    let publicKey: SSHPublicKey

    init() throws { publicKey = try PlayedHost.publicKey(privateKey) }

    /// The contents of a message that adds the key.
    func addition(_ comment: String = "key", constraints: Data = Data()) -> Data {
        SSHWriter.bytes { writer in
            writer.write(text: SSHKeyType.ed25519.name)
            writer.write(string: privateKey.publicKey.rawRepresentation)
            writer.write(string: privateKey.rawRepresentation + privateKey.publicKey.rawRepresentation)
            writer.write(text: comment)
            writer.write(fixed: constraints)
        }
    }

    func isValid(_ answer: AgentAnswer, of data: Data) throws -> Bool {
        guard case .signature(let signature) = answer else { return false }
        return try publicKey.isValid(signature, of: data)
    }
}

/// The constraints of `ssh-add`, in bytes.
enum PlayedConstraint {
    static func lifetime(_ seconds: UInt32) -> Data {
        SSHWriter.bytes { writer in
            writer.write(UInt8(1))
            writer.write(seconds)
        }
    }

    static let confirmation = Data([2])

    /// `from` is nil for the machine of the agent.
    static func destinations(_ hops: [(from: PlayedHost?, to: PlayedHost, user: String)]) -> Data {
        destinations(
            hops.map { hop in
                (hop.from.map { ($0.name, [($0.key, false)]) }, (hop.to.name, [(hop.to.key, false)]), hop.user)
            })
    }

    typealias Named = (name: String, keys: [(SSHPublicKey, Bool)])

    static func destinations(_ hops: [(from: Named?, to: Named, user: String)]) -> Data {
        let list = SSHWriter.bytes { writer in
            for (from, to, user) in hops {
                writer.write(
                    string: SSHWriter.bytes { one in
                        one.write(string: hop("", from))
                        one.write(string: hop(user, to))
                        one.write(string: Data())
                    })
            }
        }
        return SSHWriter.bytes { writer in
            writer.write(UInt8(255))
            writer.write(text: "restrict-destination-v00@openssh.com")
            writer.write(string: list)
        }
    }

    private static func hop(_ user: String, _ host: Named?) -> Data {
        SSHWriter.bytes { writer in
            writer.write(text: user)
            writer.write(text: host?.name ?? "")
            writer.write(string: Data())
            for (key, isAuthority) in host?.keys ?? [] {
                writer.write(string: key.blob)
                writer.write(flag: isAuthority)
            }
        }
    }
}

/// Bytes that a client wants signed.
enum PlayedData {
    static let session = Data(repeating: 5, count: 32)
    static let otherSession = Data(repeating: 6, count: 32)

    static func login(
        _ key: SSHPublicKey, user: String = "me", session: Data = session, hostKey: SSHPublicKey? = nil,
        service: String = "ssh-connection"
    ) -> Data {
        SSHWriter.bytes { writer in
            writer.write(string: session)
            writer.write(UInt8(50))
            writer.write(text: user)
            writer.write(text: service)
            writer.write(text: hostKey == nil ? "publickey" : "publickey-hostbound-v00@openssh.com")
            writer.write(flag: true)
            writer.write(text: key.name)
            writer.write(string: key.blob)
            if let hostKey { writer.write(string: hostKey.blob) }
        }
    }

    static func signature(_ namespace: String) -> Data {
        SSHWriter.bytes { writer in
            writer.write(fixed: Data("SSHSIG".utf8))
            writer.write(text: namespace)
            writer.write(string: Data())
            writer.write(text: "sha512")
            writer.write(string: Data(repeating: 1, count: 64))
        }
    }
}

/// Ostiary's part, played: it signs at once, and keeps what it was asked.
final class PlayedKeys: KeyHolding, Sendable {
    struct Asked: Sendable, Equatable {
        var signatures: [String] = []
        /// Of the questions about these.
        var words: [String] = []
        var confirmations: [String] = []
        var lists = 0
    }

    private let held: [HeldKey]
    private let asked = Mutex(Asked())
    private let questions = Mutex<[Cancellation]>([])
    private let meanwhile: @Sendable (Cancellation) -> Void
    let declines: Bool
    let signature = SSHSignature(name: "ecdsa-sha2-nistp256", bytes: Data([1, 2, 3]))

    /// - Parameter meanwhile: happens while each question stands. It gets the question's cancellation, which is not obeyed: the person has answered at the
    ///   same moment.
    init(
        _ held: [HeldKey] = [], declines: Bool = false,
        meanwhile: @escaping @Sendable (Cancellation) -> Void = { _ in }
    ) {
        (self.held, self.declines, self.meanwhile) = (held, declines, meanwhile)
    }

    var whatWasAsked: Asked { asked.withLock { $0 } }
    /// Of all questions, in their order.
    var cancellations: [Cancellation] { questions.withLock { $0 } }

    struct Declined: Error {}

    func keys() throws -> [HeldKey] {
        asked.withLock { $0.lists += 1 }
        return held
    }

    private func answer(_ question: Cancellation) throws {
        questions.withLock { $0.append(question) }
        meanwhile(question)
        guard !declines else { throw Declined() }
    }

    func sign(_ request: ClientSignature, with key: HeldKey, cancellation: Cancellation) throws -> SSHSignature {
        // The daemon finds its own words for the others.
        let words = try key.isImported ? ImportedKeyRules.question(about: request, with: key) : ""
        asked.withLock { asked in
            asked.signatures.append(key.name)
            asked.words.append(words)
        }
        try answer(cancellation)
        return signature
    }

    func sign(
        _ request: ClientSignature, withSecurityKey key: SSHPrivateKey, cancellation: Cancellation
    ) throws -> SSHSignature {
        asked.withLock { $0.signatures.append("security key \(key.publicKey.application ?? "")") }
        try answer(cancellation)
        return signature
    }

    func confirm(_ reason: String, for connection: BoundConnection, cancellation: Cancellation) throws {
        asked.withLock { $0.confirmations.append(reason) }
        try answer(cancellation)
    }
}

/// An agent without a socket, whose clocks a test moves. That for certificates begins at 1,000,000 seconds.
final class PlayedAgent: Sendable {
    private let seconds = Mutex(1000)
    private let notes = Mutex<[String]>([])
    private let waits = Mutex<[Duration]>([])
    let core: AgentCore

    /// - Parameter hostName: what is known of every host's key.
    init(lifetime: UInt32? = nil, hostName: String = "known.example.org") {
        let place = Place()
        core = AgentCore(
            added: AddedKeys { .seconds(place.agent?.seconds.withLock { $0 } ?? 0) },
            lock: AgentLock { duration in place.agent?.waits.withLock { $0.append(duration) } }, lifetime: lifetime,
            hostName: { _ in hostName },
            time: { UInt64(999_000 + (place.agent?.seconds.withLock { $0 } ?? 0)) },
            note: { text in place.agent?.notes.withLock { $0.append(text) } })
        place.agent = self
    }

    /// Knots the closures to the agent that they belong to.
    private final class Place: @unchecked Sendable {
        // SAFETY: (@unchecked) written once, before anything reads it.
        weak var agent: PlayedAgent?
    }

    func pass(_ count: Int) { seconds.withLock { $0 += count } }
    var whatWasNoted: [String] { notes.withLock { $0 } }
    var whatWasWaited: [Duration] { waits.withLock { $0 } }

    func session(
        _ held: PlayedKeys? = nil, upstream: UpstreamAgent? = nil, clientMayForward: Bool = false,
        cancellation: Cancellation = Cancellation()
    ) -> AgentSession {
        AgentSession(
            core, held: held, upstream: upstream, clientMayForward: clientMayForward, cancellation: cancellation)
    }
}

extension AgentSession {
    mutating func send(_ number: AgentRequestNumber, _ contents: Data = Data()) -> AgentAnswer {
        answer(number.rawValue, SecretBytes(contents))
    }

    mutating func add(_ key: PlayedKey, _ constraints: Data = Data(), comment: String = "key") -> AgentAnswer {
        send(
            constraints.isEmpty ? .addIdentity : .addConstrainedIdentity,
            key.addition(comment, constraints: constraints))
    }

    mutating func sign(_ key: SSHPublicKey, _ data: Data, flags: UInt32 = 0) -> AgentAnswer {
        send(
            .sign,
            SSHWriter.bytes { writer in
                writer.write(string: key.blob)
                writer.write(string: data)
                writer.write(flags)
            })
    }

    mutating func extend(_ name: String, _ contents: Data = Data()) -> AgentAnswer {
        send(
            .extended,
            SSHWriter.bytes { writer in
                writer.write(text: name)
                writer.write(fixed: contents)
            })
    }

    mutating func bind(_ contents: Data) -> AgentAnswer { extend("session-bind@openssh.com", contents) }

    mutating func remove(_ key: SSHPublicKey) -> AgentAnswer {
        send(.removeIdentity, SSHWriter.bytes { $0.write(string: key.blob) })
    }

    mutating func lock(_ passphrase: String) -> AgentAnswer {
        send(.lock, SSHWriter.bytes { $0.write(text: passphrase) })
    }

    mutating func unlock(_ passphrase: String) -> AgentAnswer {
        send(.unlock, SSHWriter.bytes { $0.write(text: passphrase) })
    }

    /// The blobs of the list.
    mutating func listed() -> [Data] {
        guard case .identities(let list) = send(.requestIdentities) else { return [Data("no list".utf8)] }
        return list.map(\.blob)
    }
}
