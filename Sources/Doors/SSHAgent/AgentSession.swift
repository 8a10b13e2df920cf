import AccessControl
package import Cancellations
import Foundation
import SSHFormats
import SSHKeyFiles
package import SecretMemory

/// Answers the messages of one connection, one after the other (RFC 9987; `PROTOCOL.agent` of OpenSSH). It belongs to the connection's
/// thread.
package struct AgentSession {
    static let sessionBinding = "session-bind@openssh.com"

    private let core: AgentCore
    /// Nil where Ostiary is not asked.
    private let held: (any KeyHolding)?
    private let upstream: UpstreamAgent?
    /// Of the client.
    private let cancellation: Cancellation
    private var connection: BoundConnection
    /// Ostiary's keys as they were listed last on this connection.
    private var known: [HeldKey] = []

    /// - Parameters:
    ///   - clientMayForward: whether the client is a program that may pass on another machine's requests.
    ///   - cancellation: cancelled when the client goes. It ends the question about a signature.
    package init(
        _ core: AgentCore, held: (any KeyHolding)?, upstream: UpstreamAgent? = nil, clientMayForward: Bool = false,
        cancellation: Cancellation = Cancellation()
    ) {
        (self.core, self.held, self.upstream, self.cancellation) = (core, held, upstream, cancellation)
        connection = BoundConnection(clientMayForward: clientMayForward)
    }

    /// The answer to a message.
    ///
    /// - Parameters:
    ///   - number: the message's first byte.
    ///   - contents: the bytes behind it.
    package mutating func answer(_ number: UInt8, _ contents: consuming SecretBytes) -> AgentAnswer {
        guard let request = AgentRequestNumber(rawValue: number) else {
            // The keys of SSH 1, which this agent never has.
            return number == 9 ? .success : .failure
        }
        guard !core.lock.isLocked else { return answerLocked(request, contents) }
        switch request {
        case .requestIdentities: return contents.isEmpty ? .identities(identities()) : .failure
        case .sign: return sign(contents)
        case .addIdentity, .addConstrainedIdentity: return add(request, contents)
        case .removeIdentity: return remove(contents)
        case .removeAllIdentities: return contents.isEmpty ? removeAll() : .failure
        case .addSmartcardKey, .removeSmartcardKey, .addConstrainedSmartcardKey: return passSmartcard(request, contents)
        case .lock: return lock(contents)
        case .unlock: return .failure
        case .extended: return extend(contents)
        }
    }

    /// A locked agent has no keys. Bindings are taken, because the connection goes on after it is unlocked.
    private mutating func answerLocked(
        _ request: AgentRequestNumber, _ contents: consuming SecretBytes
    ) -> AgentAnswer {
        switch request {
        case .requestIdentities: return .identities([])
        case .unlock:
            guard let passphrase = Self.passphrase(contents) else { return .failure }
            return core.lock.unlock(passphrase) ? .success : .failure
        case .extended: return extend(contents)
        default: return .failure
        }
    }

    // MARK: lists

    /// First the keys that programs added, then Ostiary's, then those of the other agent.
    private mutating func identities() -> [ListedIdentity] {
        let added = core.added.all.filter { isSeen($0) }.map { ListedIdentity($0.publicKey, comment: $0.comment) }
        let own = added + listed().map { ListedIdentity($0.publicKey, comment: $0.comment) }
        let blobs = Set(own.map(\.blob))
        return own + foreignIdentities().filter { !blobs.contains($0.blob) }
    }

    private mutating func listed() -> [HeldKey] {
        do { known = try held?.keys() ?? [] } catch {
            core.note("The keys of Ostiary are not shown: \(error)")
            known = []
        }
        return known
    }

    private func foreignIdentities() -> [ListedIdentity] {
        guard let upstream = trustedUpstream() else { return [] }
        do { return try ListedIdentity.list(try upstream.call(.requestIdentities, for: connection)) } catch {
            core.note("The keys of the other agent are not shown: \(error)")
            return []
        }
    }

    private func isSeen(_ key: AddedKey) -> Bool { rules(of: key).permitsSight }

    private func rules(of key: AddedKey) -> DestinationRules {
        DestinationRules(constraints: key.constraints.destinations, connection: connection, time: core.time())
    }

    // MARK: signatures

    private mutating func sign(_ contents: borrowing SecretBytes) -> AgentAnswer {
        defer { connection.noteSignature() }
        guard let request = try? SignatureRequest(contents) else { return .failure }
        if let key = core.added.key(named: request.blob) { return sign(request, with: key) }
        if let key = heldKey(request.blob) { return sign(request, with: key) }
        return passSignature(contents)
    }

    private func sign(_ request: SignatureRequest, with key: AddedKey) -> AgentAnswer {
        do {
            try check(key, for: request)
            if key.constraints.confirms { try confirm(request, key) }
            if key.key.kind == .securityKey { return .signature(try signWithSecurityKey(request, key)) }
            return .signature(try key.key.signature(of: request.data, request.flags, permitsSHA1: true))
        } catch {
            core.note("The key \(key.publicKey.fingerprint) was not used: \(error)")
            return .failure
        }
    }

    /// Whether an added key may make the signature now. A question can stand for long, so each answer needs another look.
    private func check(_ key: AddedKey, for request: SignatureRequest) throws(UseRefusal) {
        guard core.added.holds(key) else { throw .keyGone }
        guard rules(of: key).permitsSignature(of: request.data, by: key.publicKey) else { throw .destinations }
    }

    /// Makes a call that may ask the person. A lock of the agent and the client's end cancel the question. A result that comes nevertheless does not
    /// count, also if the agent was unlocked again.
    private func asking<Answer>(_ ask: (Cancellation) throws -> Answer) throws -> Answer {
        let (locked, question) = (core.lock.untilLocked, Cancellation())
        let ends = [locked, cancellation]
        let registrations = ends.map { end in end.register { question.cancel() } }
        defer {
            for (end, registration) in zip(ends, registrations) { if let registration { end.remove(registration) } }
        }
        // One that came before its registration runs no handler.
        if ends.contains(where: { $0.isCancelled }) { question.cancel() }
        let answer = Result { try ask(question) }
        guard !locked.isCancelled else { throw UseRefusal.locked }
        guard !cancellation.isCancelled else { throw UseRefusal.clientGone }
        return try answer.get()
    }

    /// The question about the security key has the host's proof in it, so it is not put on a connection whose proof was refused.
    private func signWithSecurityKey(_ request: SignatureRequest, _ key: AddedKey) throws -> SSHSignature {
        guard let held else { throw UseRefusal.nobodyToAsk }
        guard !connection.isRefused else { throw KeyRefusal.refusedBinding }
        let signature = try asking {
            try held.sign(clientSignature(request), withSecurityKey: key.key, cancellation: $0)
        }
        try check(key, for: request)
        return signature
    }

    private func confirm(_ request: SignatureRequest, _ key: AddedKey) throws {
        guard let held else { throw UseRefusal.nobodyToAsk }
        // The question would name the host of a binding that counts no more.
        guard !connection.isRefused else { throw KeyRefusal.refusedBinding }
        let reason = try SignatureWords(clientSignature(request), with: key).reason
        try asking { try held.confirm(reason, for: connection, cancellation: $0) }
        try check(key, for: request)
    }

    private func sign(_ request: SignatureRequest, with key: HeldKey) -> AgentAnswer {
        do {
            guard let held, !connection.isRefused else { throw KeyRefusal.refusedBinding }
            return .signature(try asking { try held.sign(clientSignature(request), with: key, cancellation: $0) })
        } catch {
            core.note("The key \(key.comment) was not used: \(error)")
            return .failure
        }
    }

    private func clientSignature(_ request: SignatureRequest) -> ClientSignature {
        let host = connection.sessions.login.map { core.hostName($0.hostKey) } ?? ""
        // A part of a name would be another name.
        let isShort = host.utf8.count <= SSHKeyConstraints.textByteCount
        return ClientSignature(
            data: request.data, flags: request.flags, connection: connection, hostName: isShort ? host : "")
    }

    /// Ostiary's key of this blob, of those that were listed on this connection, or of a new list.
    private mutating func heldKey(_ blob: Data) -> HeldKey? {
        guard held != nil else { return nil }
        let isNamed: (HeldKey) -> Bool = { $0.publicKey.blob == blob }
        return known.first(where: isNamed) ?? listed().first(where: isNamed)
    }

    // MARK: changes

    private mutating func add(_ number: AgentRequestNumber, _ contents: consuming SecretBytes) -> AgentAnswer {
        let addition: KeyAddition
        do {
            addition = try KeyAddition(SecretBytes(copying: contents), isConstrained: number == .addConstrainedIdentity)
        } catch KeyFileError.unsupported(let type) {
            guard upstream != nil else {
                core.note("A key was not added: keys of type \(type) are not supported.")
                return .failure
            }
            return pass(number, contents)
        } catch {
            core.note("A key was not added: \(error)")
            return .failure
        }
        if addition.key.key.kind == .securityKey {
            if let answer = answerWithoutAdding(addition, number, contents) { return answer }
        } else {
            guard addition.constraints.securityKeyProvider == nil else { return .failure }
        }
        guard !addition.constraints.confirms || held != nil else {
            core.note("A key was not added: each use is to be confirmed, and this agent asks nobody (--no-store).")
            return .failure
        }
        let isAdded = core.added.add(addition, lifetime: core.lifetime) { isSeen($0) }
        return isAdded ? .success : .failure
    }

    /// The answer for a security key that this agent does not take; nil for one that it takes. What it does not reach, the other agent may.
    private mutating func answerWithoutAdding(
        _ addition: KeyAddition, _ number: AgentRequestNumber, _ contents: borrowing SecretBytes
    ) -> AgentAnswer? {
        guard let defect = SecurityKeyDefect(addition, isAskingOstiary: held != nil) else {
            guard heldKey(addition.key.key.publicKey.plainBlob) != nil else { return nil }
            // A passkey of this machine, which is there anyway, and which nobody can limit.
            return addition.constraints.areNone ? .success : .failure
        }
        guard upstream == nil else { return pass(number, contents) }
        core.note(
            "A security key was not added: \(defect). Start the agent with --upstream and the socket of an agent that signs "
                + "with it, such as OpenSSH's.")
        return .failure
    }

    private func remove(_ contents: borrowing SecretBytes) -> AgentAnswer {
        var reader = SSHReader(Data(exposing: contents))
        guard let blob = try? reader.readString(limit: SSHLimits.messageByteCount), reader.isAtEnd else {
            return .failure
        }
        if let key = core.added.key(named: blob) {
            guard isSeen(key) else { return .failure }
            core.added.remove(key)
            return .success
        }
        return pass(.removeIdentity, contents)
    }

    /// Ostiary's keys stay: `ostiary ssh remove` destroys them. A connection whose binding was refused removes none.
    private func removeAll() -> AgentAnswer {
        guard !connection.isRefused else { return .failure }
        core.added.removeAll()
        guard let upstream = trustedUpstream() else { return .success }
        do { _ = try upstream.call(.removeAllIdentities, for: connection) } catch {
            core.note("The keys of the other agent were not removed: \(error)")
            return .failure
        }
        return .success
    }

    private func passSmartcard(_ number: AgentRequestNumber, _ contents: borrowing SecretBytes) -> AgentAnswer {
        guard upstream != nil else {
            core.note(
                "Keys of a PKCS #11 library were not added: this agent loads no libraries. Start it with --upstream and the "
                    + "socket of an agent that does, such as OpenSSH's.")
            return .failure
        }
        return pass(number, contents)
    }

    /// Hands a message to the other agent as it came.
    private func pass(_ number: AgentRequestNumber, _ contents: borrowing SecretBytes) -> AgentAnswer {
        guard let upstream = trustedUpstream() else { return .failure }
        do { return .foreign(try upstream.call(number, contents, for: connection)) } catch {
            core.note("The other agent did not answer: \(error)")
            return .failure
        }
    }

    /// The other agent may ask the person itself, and knows nothing of a lock of this one.
    private func passSignature(_ contents: borrowing SecretBytes) -> AgentAnswer {
        let locked = core.lock.untilLocked
        let answer = pass(.sign, contents)
        guard !locked.isCancelled else {
            core.note("The other agent's signature was not given out: \(UseRefusal.locked)")
            return .failure
        }
        return answer
    }

    /// The other agent, as long as it knows all that is known of the connection. It hears of no binding that was refused here, so it would take
    /// what comes afterwards for requests of this machine, or of the host that was bound before.
    private func trustedUpstream() -> UpstreamAgent? {
        guard let upstream else { return nil }
        guard !connection.isRefused else {
            core.note("The other agent is not asked: \(KeyRefusal.refusedBinding).")
            return nil
        }
        return upstream
    }

    // MARK: lock and extensions

    private func lock(_ contents: consuming SecretBytes) -> AgentAnswer {
        guard let passphrase = Self.passphrase(contents) else { return .failure }
        return core.lock.lock(passphrase) ? .success : .failure
    }

    private static func passphrase(_ contents: consuming SecretBytes) -> SecretBytes? {
        do throws(SSHFormatError) {
            var reader = SecretReader(contents)
            let passphrase = try reader.readSecret(limit: AgentLimits.passphraseByteCount)
            try reader.finish()
            return passphrase
        } catch { return nil }
    }

    private mutating func extend(_ contents: borrowing SecretBytes) -> AgentAnswer {
        var reader = SSHReader(Data(exposing: contents))
        guard let name = try? reader.readText(limit: AgentLimits.extensionByteCount),
            let rest = try? reader.read(count: reader.remainingByteCount)
        else { return .failure }
        switch name {
        case Self.sessionBinding: return bind(rest)
        case "query" where rest.isEmpty && !core.lock.isLocked: return .extensions([Self.sessionBinding])
        default: return .failure
        }
    }

    private mutating func bind(_ contents: Data) -> AgentAnswer {
        do { try connection.bind(contents) } catch {
            core.note("A connection was not bound to a session: \(error)")
            return .extensionFailure
        }
        return .success
    }
}

/// Why the agent itself makes no signature, before a question or after it.
package enum UseRefusal: Error, Equatable, Sendable {
    /// The agent runs without Ostiary, or does not reach it.
    case nobodyToAsk
    /// Those of `ssh-add -h`, for this request and at this time.
    case destinations
    /// While the question stood.
    case locked
    case clientGone
    case keyGone
}

extension UseRefusal: CustomStringConvertible {
    package var description: String {
        switch self {
        case .nobodyToAsk: "the person must be asked, and Ostiary is not there for this client"
        case .destinations: "its destinations do not permit it"
        case .locked: "the agent was locked meanwhile"
        case .clientGone: "the client went meanwhile"
        case .keyGone: "it expired, was removed, or was added once more meanwhile"
        }
    }
}
