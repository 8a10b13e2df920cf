import Foundation
import SSHAgent
import SSHFormats
import SSHKeyFiles
import SecretMemory

// Compiled by script/fuzz with the agent's modules.

/// What programs send to the agent, and the files that its command reads.
let readers: [String: @Sendable ([UInt8]) -> Void] = [
    "agent-messages": { bytes in
        var session = AgentSession(core, held: nil)
        // Each message has its length in one byte, so that several fit into a short input.
        var rest = bytes[...]
        while let count = rest.popFirst(), let number = rest.popFirst() {
            // A lock or an unlock waits.
            let contents = Data(rest.prefix(Int(count)))
            rest = rest.dropFirst(Int(count))
            guard ![22, 23].contains(number) else { continue }
            let answer = session.answer(number, SecretBytes(contents)).bytes
            precondition(answer.count >= 5, "an answer without a number")
        }
        core.added.removeAll()
        if let identities = try? ListedIdentity.list(Data(bytes)) {
            precondition(identities.count <= AgentLimits.identityCount, "more keys than an agent takes")
        }
    },
    "agent-key": { bytes in
        var reader = SecretReader(SecretBytes(Data(bytes)))
        let isEmpty = (try? reader.readByte()) == nil
        let count = reader.rest().count
        precondition(isEmpty == bytes.isEmpty && count == max(0, bytes.count - 1), "a byte is lost")
        for isConstrained in [false, true] {
            guard let addition = try? KeyAddition(SecretBytes(Data(bytes)), isConstrained: isConstrained) else {
                continue
            }
            let key = addition.key.key
            guard key.kind != .securityKey else { continue }
            let again = try? SSHPrivateKey(key.publicKey, secret: SecretBytes(copying: key.secret))
            precondition(again != nil, "a key cannot be stored")
            let signature = try? key.signature(of: Data([1]), .rsaSHA256, permitsSHA1: false)
            precondition(signature != nil, "a key that was read does not sign")
        }
    },
    "host-certificate": { bytes in
        guard let key = try? SSHPublicKey(blob: Data(bytes)), let certificate = try? HostCertificate(key) else {
            return
        }
        precondition(!certificate.authority.isCertificate, "a certificate signed a certificate")
        precondition(!certificate.isValid(for: Data(), at: .max), "it is valid for ever, for no host")
        _ = certificate.isValid(for: Data("host.example".utf8), at: 1_900_000_000)
    },
    "ssh-key-file": { bytes in
        guard let file = try? OpenSSHKeyFile(SecretBytes(Data(bytes))) else { return }
        let (publicKey, isEncrypted) = (file.publicKey, file.isEncrypted)
        guard let opened = try? file.open() else { return }
        precondition(!isEncrypted && opened.key.publicKey == publicKey, "the file holds another key")
    },
    "known-hosts": { bytes in
        let known = KnownHosts(Data(bytes))
        for entry in known.entries {
            let name = known.name(of: entry.key)
            precondition(
                name.isEmpty || known.entries.contains { $0.key.isSameKey(as: entry.key) }, "a name of no line")
            _ = known.hostKeys(of: "*")
            _ = known.hostKeys(of: "host.example")
        }
    },
]

private let core = AgentCore(time: { 0 }, note: { _ in })
