import Crypto
import Foundation
import SSHFormats
import Testing

@Suite struct SSHSessionBindingTests {
    private static let vectors = SSHVectors.openSSH

    /// A host of the test's own.
    private struct Host {
        private let key = Curve25519.Signing.PrivateKey()

        var blob: Data {
            SSHWriter.bytes { writer in
                writer.write(text: "ssh-ed25519")
                writer.write(string: key.publicKey.rawRepresentation)
            }
        }

        func binding(_ session: UInt8, forwarding: Bool = false, signing other: UInt8? = nil) throws
            -> SSHSessionBinding
        {
            let signature = try key.signature(for: Data(repeating: other ?? session, count: 32))
            return try SSHSessionBinding(
                hostKey: blob, sessionID: Data(repeating: session, count: 32),
                signature: SSHSignature(name: "ssh-ed25519", bytes: signature).blob, isForwarding: forwarding)
        }
    }

    @Test(arguments: vectors.logins) func `the binding that ssh sends is verified`(_ login: SSHVectors.Login) throws {
        let binding = try SSHSessionBinding(contents: login.bind)
        try binding.verify()
        #expect(!binding.isForwarding)
        let sessions = try SSHBoundSessions([binding])
        #expect(sessions.login == binding && !sessions.isForwarded && sessions.forwarding.isEmpty)
    }

    @Test(arguments: ["host_ed25519", "host_256", "host_384", "host_521", "host_rsa2048"])
    func `each kind of host key binds, with a certificate too`(_ name: String) throws {
        let host = try #require(Self.vectors.hosts[name])
        for key in [host.key, host.cert] {
            for (kind, signature) in host.sigs {
                let binding = try SSHSessionBinding(
                    hostKey: key, sessionID: Self.vectors.sessionID, signature: signature, isForwarding: true)
                guard kind != "sha1" else {
                    #expect(throws: SSHBindingError.forged) { try binding.verify() }
                    continue
                }
                try binding.verify()
            }
        }
    }

    @Test func `each truncation and a byte too many are refused`() throws {
        for login in Self.vectors.logins.prefix(2) {
            for bytes in Spoiled.lengths(of: login.bind) {
                #expect(throws: SSHFormatError.self) { try SSHSessionBinding(contents: bytes) }
            }
        }
    }

    @Test func `a changed bit is refused, but for the flag that no host signs`() throws {
        let bytes = Self.vectors.logins[0].bind
        for (index, changed) in Spoiled.bits(of: bytes).enumerated() where index != (bytes.count - 1) * 8 {
            #expect(throws: (any Error).self) { try SSHSessionBinding(contents: changed).verify() }
        }
        var forwarding = bytes
        forwarding[bytes.count - 1] = 1
        let binding = try SSHSessionBinding(contents: forwarding)
        try binding.verify()
        #expect(binding.isForwarding)
    }

    @Test(arguments: [0, 19, 65, 1000]) func `a session id has the length of a digest`(_ count: Int) throws {
        let host = Host()
        let binding = try host.binding(1)
        #expect(throws: SSHFormatError.malformed(.sessionID)) {
            try SSHSessionBinding(
                hostKey: host.blob, sessionID: Data(count: count), signature: binding.signature.blob,
                isForwarding: false)
        }
    }

    @Test func `a forged binding binds nothing`() throws {
        let (host, other) = (Host(), Host())
        let stolen = try SSHSessionBinding(
            hostKey: other.blob, sessionID: Data(repeating: 1, count: 32),
            signature: host.binding(1).signature.blob, isForwarding: false)
        var sessions = SSHBoundSessions()
        for binding in [stolen, try host.binding(1, signing: 2)] {
            #expect(throws: SSHBindingError.forged) { try binding.verify() }
            #expect(throws: SSHBindingError.forged) { try sessions.bind(binding) }
        }
        #expect(sessions.bindings.isEmpty && sessions.login == nil)
    }

    @Test func `hosts that forward come first, and nothing comes behind the login`() throws {
        let (first, second) = (Host(), Host())
        var sessions = SSHBoundSessions()
        try sessions.bind(first.binding(1, forwarding: true))
        #expect(sessions.isForwarded && sessions.login == nil)
        try sessions.bind(second.binding(2))
        #expect(try sessions.login == second.binding(2) && sessions.forwarding.map(\.sessionID.first) == [1])
        #expect(throws: SSHBindingError.afterLogin) { try sessions.bind(first.binding(3)) }
        #expect(throws: SSHBindingError.afterLogin) { try sessions.bind(first.binding(3, forwarding: true)) }
        #expect(sessions.bindings.count == 2)
    }

    @Test func `a session is bound once: to one key, for one purpose`() throws {
        let (host, other) = (Host(), Host())
        var sessions = try SSHBoundSessions([host.binding(1, forwarding: true)])
        try sessions.bind(host.binding(1, forwarding: true))
        #expect(sessions.bindings.count == 1, "the same once more changes nothing")
        #expect(throws: SSHBindingError.repeatedSession) { try sessions.bind(host.binding(1)) }
        #expect(throws: SSHBindingError.repeatedSession) { try sessions.bind(other.binding(1, forwarding: true)) }
    }

    @Test func `sixteen sessions are the most`() throws {
        let host = Host()
        var sessions = SSHBoundSessions()
        for number in 0..<16 { try sessions.bind(host.binding(UInt8(number), forwarding: true)) }
        #expect(throws: SSHBindingError.tooMany) { try sessions.bind(host.binding(16)) }
    }
}
