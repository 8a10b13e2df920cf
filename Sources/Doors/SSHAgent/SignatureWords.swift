import Foundation
import OstiaryMessages
import SSHFormats

/// What a signature is for, in words of this program for the question about a key that lies in no enclave. For the others the daemon
/// finds its own words.
struct SignatureWords {
    private let request: ClientSignature
    /// What people call the key.
    private let keyName: String

    init(_ request: ClientSignature, keyName: String) { (self.request, self.keyName) = (request, keyName) }

    /// At most as long as a reason may be.
    var reason: String {
        let text = "\(purpose), with the key \(keyName)"
        guard text.utf8.count > WireLimits.reasonByteCount else { return text }
        // Characters are kept whole.
        var (kept, count) = ("", 0)
        for character in text {
            count += character.utf8.count
            guard count <= WireLimits.reasonByteCount - 3 else { break }
            kept.append(character)
        }
        return kept + "…"
    }

    private var purpose: String {
        switch try? SSHSignedData.parse(request.data) {
        case .userAuthentication(let login): "log in as \(login.user) \(destination)\(way)"
        case .sshsig(let signature): "make an SSH signature for “\(signature.namespace)”\(way)"
        case .unknown, nil: "sign \(request.data.count) bytes that are neither a login nor an SSH signature\(way)"
        }
    }

    private var destination: String {
        guard let host = request.connection.sessions.login?.hostKey.fingerprint else { return "to an unknown host" }
        return request.hostName.isEmpty ? "to the host \(host)" : "to \(request.hostName), host \(host)"
    }

    private var way: String { request.connection.sessions.isForwarded ? ", over a forwarded agent" : "" }
}
