import Foundation
import SSHFormats

// Compiled by script/fuzz with module SSHFormats.

/// The formats of SSH that an agent and the daemon read.
let readers: [String: @Sendable ([UInt8]) -> Void] = [
    "ssh-public-key": { bytes in
        guard let key = try? SSHPublicKey(blob: Data(bytes)) else { return }
        precondition(key.blob == Data(bytes), "the key has another blob")
        precondition((try? SSHPublicKey(line: key.line)) == key, "the key's line is another key")
        precondition((try? SSHPublicKey(blob: key.plain.blob)) == key.plain, "the plain key has another encoding")
        if key.type == .p256, let point = key.x963 {
            precondition((try? SSHPublicKey(p256: point)) == key.plain, "the point is another key")
        }
        precondition(key.isSameKey(as: key.plain) && key.x963?.count != 0, "the plain key is another key")
        precondition((try? SSHFingerprint(key.fingerprint.description)) == key.fingerprint, "another fingerprint")
    },
    "ssh-signature": { bytes in
        if let made = try? SSHSignature(p256: Data(bytes.prefix(64))) {
            precondition((try? SSHSignature(blob: made.blob)) == made, "a signature that was made cannot be read")
        }
        guard let signature = try? SSHSignature(blob: Data(bytes)) else { return }
        precondition(signature.blob == Data(bytes), "the signature has another encoding")
    },
    "ssh-binding": { bytes in
        guard let binding = try? SSHSessionBinding(contents: Data(bytes)) else { return }
        var sessions = SSHBoundSessions()
        guard (try? sessions.bind(binding)) != nil else { return }
        precondition(sessions.bindings == [binding], "a verified binding is not bound")
        precondition(
            sessions.isForwarded == binding.isForwarding && sessions.forwarding.isEmpty == (sessions.login != nil),
            "a binding is both or neither")
        let isTaken = (try? sessions.bind(binding)) != nil
        precondition(isTaken && sessions.bindings == [binding], "the same once more changes something")
    },
    "ssh-signed-data": { bytes in
        let data = Data(bytes)
        guard let parsed = try? SSHSignedData.parse(data) else { return }
        switch parsed {
        case .userAuthentication(let login):
            precondition(login.method == .publicKey || login.hostKey != nil, "a host-bound login without a host")
            precondition(encoded(login) == data, "the login has another encoding")
        case .sshsig(let signature):
            precondition(encoded(signature) == data, "the signature has another encoding")
        case .unknown: break
        }
    },
    "ssh-line": { bytes in
        guard let key = try? SSHPublicKey(line: String(decoding: bytes, as: UTF8.self)) else { return }
        precondition((try? SSHPublicKey(line: key.line)) == key, "the key's line is another key")
    },
]

private func encoded(_ login: SSHUserAuthenticationRequest) -> Data {
    SSHWriter.bytes { writer in
        writer.write(string: login.sessionID)
        writer.write(UInt8(50))
        writer.write(text: login.user)
        writer.write(text: login.service)
        writer.write(text: login.method.rawValue)
        writer.write(flag: true)
        writer.write(text: login.algorithm)
        writer.write(string: login.publicKey.blob)
        if let host = login.hostKey { writer.write(string: host.blob) }
    }
}

private func encoded(_ signature: SSHSignatureBlob) -> Data {
    SSHWriter.bytes { writer in
        writer.write(fixed: "SSHSIG".utf8)
        writer.write(text: signature.namespace)
        writer.write(string: signature.reserved)
        writer.write(text: signature.hashAlgorithm.rawValue)
        writer.write(string: signature.digest)
    }
}
