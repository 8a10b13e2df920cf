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
    },
    "agent-key": { bytes in
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
        }
    },
]

private let core = AgentCore(time: { 0 }, note: { _ in })
