import AccessControl
import Cancellations
import Foundation
import SSHAgent
import SSHFormats
import SSHKeyFiles
import SecretMemory

// Compiled by script/fuzz with the agent's modules.

/// What programs send to the agent, and the files that its command reads.
let readers: [String: @Sendable ([UInt8]) -> Void] = [
    "agent-messages": { bytes in
        play(bytes, asksOstiary: false)
        play(bytes, asksOstiary: true)
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

/// Sends messages on a connection to an agent of its own. Each has its length in one byte, so that several fit into a short input; 255 says
/// that two more bytes have it.
///
/// - Parameter asksOstiary: whether Ostiary has keys, and another agent should have some, which is not there.
private func play(_ bytes: [UInt8], asksOstiary: Bool) {
    let core = AgentCore(lock: AgentLock { _ in }, hostName: { _ in "host.example" }, time: { 0 }, note: { _ in })
    let cancellation = Cancellation()
    let upstream = asksOstiary ? UpstreamAgent(path: "/nonexistent/agent", cancellation: cancellation) : nil
    var session = AgentSession(
        core, held: asksOstiary ? PlayedKeys() : nil, upstream: upstream, clientMayForward: asksOstiary)
    var rest = bytes[...]
    while let count = readCount(&rest), let number = rest.popFirst() {
        let contents = Data(rest.prefix(count))
        rest = rest.dropFirst(count)
        let wasLocked = core.lock.isLocked
        let answer = session.answer(number, SecretBytes(contents))
        precondition(answer.bytes.count >= 5, "an answer without a number")
        guard wasLocked else { continue }
        switch answer {
        case .failure, .success, .extensionFailure: break
        case .identities(let identities): precondition(identities.isEmpty, "a locked agent has keys")
        default: preconditionFailure("a locked agent answered")
        }
    }
}

private func readCount(_ rest: inout ArraySlice<UInt8>) -> Int? {
    guard let count = rest.popFirst() else { return nil }
    guard count == 255 else { return Int(count) }
    guard let high = rest.popFirst(), let low = rest.popFirst() else { return nil }
    return Int(high) << 8 | Int(low)
}

/// Ostiary's part: a key in each place, and a person who agrees to everything.
private struct PlayedKeys: KeyHolding {
    private static let signature = SSHSignature(name: SSHKeyType.p256.name, bytes: Data([1, 2, 3]))
    private static let held: [HeldKey] = [
        key(
            "ecdsa-sha2-nistp256 "
                + "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBLAaFyp2pGAsktMkLLiX3eMCTHQN67IVtMawquk8"
                + "IpGp6FwQdDI32tVv7A4t+6cDeRwA93Acfha9/XxIU4/Hf+I=",
            .enclave(right: Data([1]), confirms: false)),
        key(
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG56HN0psLeP0Tr0xVmP7/TvKpcWbjym8uT7/M2AUFvx",
            .imported(item: Data([2])), neverForwarded: true),
        key(
            "sk-ecdsa-sha2-nistp256@openssh.com "
                + "AAAAInNrLWVjZHNhLXNoYTItbmlzdHAyNTZAb3BlbnNzaC5jb20AAAAIbmlzdHAyNTYAAABBBI5TO2+gv3tGJbswZnwB"
                + "+2B++fi4qA/vWzAGKHAxh7Kjc+sdveAzGDZtBp+DpvWQAFPHNjPLBBshxV4ahsH0ALQAAAAEc3NoOg==",
            .passkey(id: Data([3]))),
    ]

    private static func key(_ line: String, _ place: HeldKey.Place, neverForwarded: Bool = false) -> HeldKey {
        do {
            return HeldKey(
                name: "key", publicKey: try SSHPublicKey(line: line),
                constraints: try SSHKeyConstraints(neverForwarded: neverForwarded), place: place)
        } catch { preconditionFailure("\(error)") }
    }

    func keys() throws -> [HeldKey] { Self.held }

    func sign(_ request: ClientSignature, with key: HeldKey, cancellation: Cancellation) throws -> SSHSignature {
        // The daemon finds its own words for the others.
        if key.isImported { _ = try ImportedKeyRules.question(about: request, with: key) }
        return Self.signature
    }

    func sign(
        _ request: ClientSignature, withSecurityKey key: SSHPrivateKey, cancellation: Cancellation
    ) throws -> SSHSignature { Self.signature }

    func confirm(_ reason: String, for connection: BoundConnection, cancellation: Cancellation) throws {
        precondition(!reason.isEmpty, "a question without words")
    }
}
