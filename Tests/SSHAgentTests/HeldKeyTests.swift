import AccessControl
import Crypto
import Foundation
import IndependentTools
import SSHAgent
import SSHFormats
import SSHKeyFiles
import SecretMemory
import Testing

/// Keys that Ostiary keeps, and the rules of imported ones.
@Suite("Ostiary's keys in an agent", .timeLimit(.minutes(10)))
struct HeldKeyTests {
    private let agent = PlayedAgent()
    private let (a, b): (PlayedHost, PlayedHost)
    private let publicKey: SSHPublicKey

    init() throws {
        (a, b) = (try PlayedHost("a"), try PlayedHost("b"))
        publicKey = try SSHPublicKey(p256: P256.Signing.PrivateKey().publicKey.x963Representation)
    }

    private func held(_ constraints: SSHKeyConstraints, imported: Bool = true) -> HeldKey {
        HeldKey(
            name: "work", publicKey: publicKey, constraints: constraints,
            place: imported ? .imported(item: Data(count: 16)) : .enclave(right: Data(count: 16), confirms: true))
    }

    private func pin(_ host: PlayedHost) -> SSHHostPin { SSHHostPin(fingerprint: Array(host.key.fingerprint.bytes)) }

    private func login(_ host: PlayedHost? = nil, session: Data = PlayedData.session) -> Data {
        PlayedData.login(publicKey, session: session, hostKey: host?.key)
    }

    /// Signs on a connection with these bindings; returns the keys that somebody was asked for.
    private func asked(
        _ constraints: SSHKeyConstraints, _ bindings: [Data], _ data: Data, imported: Bool = true,
        byForwarder clientMayForward: Bool = false
    ) -> [String] {
        let keys = PlayedKeys([held(constraints, imported: imported)])
        var session = agent.session(keys, clientMayForward: clientMayForward)
        for binding in bindings { _ = session.bind(binding) }
        let answer = session.sign(publicKey, data)
        #expect((answer == .signature(keys.signature)) == !keys.whatWasAsked.signatures.isEmpty)
        return keys.whatWasAsked.signatures
    }

    @Test func `keys are listed behind those of ssh-add, imported ones by their label, and ask nobody`() throws {
        let added = try PlayedKey()
        let keys = PlayedKeys([held(try SSHKeyConstraints())])
        var session = agent.session(keys)
        _ = session.add(added)
        #expect(
            session.send(.requestIdentities)
                == .identities([
                    ListedIdentity(added.publicKey, comment: "key"),
                    ListedIdentity(publicKey, comment: "work (imported)"),
                ]))
        #expect(keys.whatWasAsked == PlayedKeys.Asked(lists: 1))
        // A signature needs no new list.
        #expect(session.sign(publicKey, login()) == .signature(keys.signature))
        #expect(keys.whatWasAsked.lists == 1)
    }

    @Test func `ssh-add removes none of them`() throws {
        let keys = PlayedKeys([held(try SSHKeyConstraints())])
        var session = agent.session(keys)
        #expect(session.remove(publicKey) == .failure)
        #expect(session.send(.removeAllIdentities) == .success)
        #expect(session.listed() == [publicKey.blob])
    }

    @Test(arguments: [true, false]) func `after a refused binding none is used, and nobody is asked`(
        imported: Bool
    ) throws {
        let any = try SSHKeyConstraints(permitsUnknown: true)
        let forged = try a.binding(PlayedData.session, signing: PlayedData.otherSession)
        let right = try a.binding(PlayedData.session)
        #expect(asked(any, [right], login(a), imported: imported) == ["work"])
        let wrong = [[forged], [right, forged], [right, try b.binding(PlayedData.otherSession)], [Data()]]
        for bindings in wrong { #expect(asked(any, bindings, login(a), imported: imported).isEmpty) }
        // Late: after a signature.
        let keys = PlayedKeys([held(any, imported: imported)])
        var session = agent.session(keys)
        _ = session.sign(publicKey, PlayedData.signature("git"))
        #expect(session.bind(right) == .extensionFailure)
        #expect(session.sign(publicKey, login(a)) == .failure)
        #expect(keys.whatWasAsked.signatures.count == 1)
    }

    @Test func `an imported key logs in where its binding says, and nowhere else`() throws {
        let any = try SSHKeyConstraints()
        let bound = [try a.binding(PlayedData.session)]
        #expect(asked(any, bound, login(a)) == ["work"])
        #expect(asked(any, bound, login()) == ["work"])
        #expect(asked(any, [], login(a)) == ["work"])
        #expect(asked(any, bound, login(b)).isEmpty)
        #expect(asked(any, bound, login(a, session: PlayedData.otherSession)).isEmpty)
        #expect(asked(any, [try a.binding(PlayedData.session, forwarding: true)], login(a)).isEmpty)
        let other = try PlayedKey().publicKey
        #expect(asked(any, bound, PlayedData.login(other, hostKey: a.key)).isEmpty)
        #expect(asked(any, bound, login(a) + [0]).isEmpty)
    }

    @Test func `a pinned key needs a bound host that it is pinned to, on the whole way`() throws {
        let pinned = try SSHKeyConstraints(hosts: [pin(a)])
        #expect(asked(pinned, [try a.binding(PlayedData.session)], login(a)) == ["work"])
        #expect(asked(pinned, [], login(a)).isEmpty)
        #expect(asked(pinned, [try b.binding(PlayedData.session)], login(b)).isEmpty)
        let over = [try b.binding(PlayedData.otherSession, forwarding: true), try a.binding(PlayedData.session)]
        #expect(asked(pinned, over, login(a)).isEmpty)
        let both = try SSHKeyConstraints(hosts: [pin(a), pin(b)])
        #expect(asked(both, over, login(a)) == ["work"])
        #expect(asked(both, over, login()).isEmpty)
        #expect(asked(try SSHKeyConstraints(hosts: []), [try a.binding(PlayedData.session)], login(a)).isEmpty)
    }

    @Test func `what an old ssh asks for unbound may be another machine's request`() throws {
        let data = PlayedData.signature("git")
        for constraints in [
            try SSHKeyConstraints(neverForwarded: true), try SSHKeyConstraints(hosts: [pin(a)]),
            try SSHKeyConstraints(neverForwarded: true, permitsUnknown: true),
        ] {
            #expect(asked(constraints, [], data) == ["work"])
            #expect(asked(constraints, [], data, byForwarder: true).isEmpty)
            #expect(asked(constraints, [try a.binding(PlayedData.session)], data, byForwarder: true) == ["work"])
        }
        #expect(asked(try SSHKeyConstraints(), [], data, byForwarder: true) == ["work"])
    }

    @Test func `a key that is never forwarded is refused over a forwarded agent`() throws {
        let never = try SSHKeyConstraints(neverForwarded: true)
        #expect(asked(never, [try a.binding(PlayedData.session)], login(a)) == ["work"])
        #expect(asked(never, [], login(a)).isEmpty)
        let over = [try b.binding(PlayedData.otherSession, forwarding: true)]
        #expect(asked(never, over + [try a.binding(PlayedData.session)], login(a)).isEmpty)
        #expect(asked(never, over, PlayedData.signature("git")).isEmpty)
        #expect(asked(never, [], PlayedData.signature("git")) == ["work"])
    }

    @Test func `signatures are for their namespaces, and unknown data needs a key that permits it`() throws {
        let git = try SSHKeyConstraints(namespaces: ["git"])
        #expect(asked(git, [], PlayedData.signature("git")) == ["work"])
        for name in ["file", "GIT", "git ", "g"] {
            #expect(asked(git, [], PlayedData.signature(name)).isEmpty, "\(name)")
        }
        #expect(asked(git, [], Data("anything".utf8)).isEmpty)
        let unknown = try SSHKeyConstraints(permitsUnknown: true)
        #expect(asked(unknown, [], Data("anything".utf8)) == ["work"])
        #expect(asked(unknown, [], PlayedData.signature("git").dropLast()).isEmpty)
    }

    // MARK: imported keys

    @Test func `each kind of imported key signs as OpenSSH verifies, and RSA not with SHA-1`() throws {
        let data = Data("a message".utf8)
        let folder = try KeyFolder()
        for (type, bits) in [("ed25519", "256"), ("ecdsa", "256"), ("ecdsa", "384"), ("ecdsa", "521"), ("rsa", "2048")]
        {
            let key = try folder.key(type, bits)
            for flags: SignatureFlags in [.rsaSHA256, .rsaSHA512] {
                let signature = try key.signature(of: data, flags, permitsSHA1: false)
                #expect(try key.publicKey.isValid(signature, of: data), "\(type) \(bits)")
                #expect(try !key.publicKey.isValid(signature, of: data + [0]), "\(type) \(bits)")
            }
            guard type == "rsa" else { continue }
            #expect(throws: KeySignatureError.outdatedAlgorithm) {
                try key.signature(of: data, [], permitsSHA1: false)
            }
            #expect(try key.signature(of: data, [], permitsSHA1: true).name == "ssh-rsa")
        }
    }
}

/// Keys of `ssh-keygen`.
struct KeyFolder {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ostiary \(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    func key(_ type: String, _ bits: String) throws -> SSHPrivateKey {
        let path = folder.appendingPathComponent("\(type)-\(bits)").path
        let outcome = try IndependentTool.run(
            "ssh-keygen", ["-q", "-t", type, "-b", bits, "-N", "", "-f", path])
        guard outcome.status == 0 else { throw ToolFailed(words: outcome.diagnostics) }
        return try OpenSSHKeyFile(SecretBytes(Data(contentsOf: URL(fileURLWithPath: path)))).open().key
    }
}

/// OpenSSH's program did not do its part.
struct ToolFailed: Error {
    let words: String
}
