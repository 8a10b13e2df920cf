import DoorSupport
import Foundation
import SSHFormats

/// What a signature is for, in words of this program for the question about a key that lies in no enclave. For the others the daemon
/// finds its own words.
///
/// A client chooses the user and the namespace, and could choose one that reads like the rest of the question or pushes it out of sight. So
/// they stand last and in quotation marks, and nobody is asked about one that is no short plain name. The names of host and key are left out
/// where they are no such names, or where there is no room: the fingerprints say the same.
struct SignatureWords {
    /// As much as a question shows of a reason; it would cut the rest.
    static let scalarCount = 300
    /// Of each foreign name.
    static let nameScalarCount = 64

    /// At most ``scalarCount`` Unicode scalars.
    let reason: String

    /// For a key that Ostiary keeps as an item.
    ///
    /// - Throws: ``KeyRefusal/malformed``, ``KeyRefusal/otherSession``, ``KeyRefusal/otherHostKey``, ``KeyRefusal/unshowableUser``,
    ///   ``KeyRefusal/unshowableNamespace``.
    init(_ request: ClientSignature, with key: HeldKey) throws(KeyRefusal) {
        try self.init(request, key.publicKey, called: key.name, as: "imported key")
    }

    /// For a key that a program gave to the agent.
    ///
    /// - Throws: as the other form.
    init(_ request: ClientSignature, with key: AddedKey) throws(KeyRefusal) {
        try self.init(request, key.publicKey, called: key.comment, as: "key")
    }

    private init(
        _ request: ClientSignature, _ key: SSHPublicKey, called keyName: String, as kind: String
    ) throws(KeyRefusal) {
        let purpose = try Purpose(request)
        let host = Self.shown(request.hostName).map { " (“\($0)” in known_hosts)" } ?? ""
        let name = Self.shown(keyName).map { " (“\($0)”)" } ?? ""
        let way = request.connection.sessions.isForwarded ? "over a forwarded agent: " : ""
        func text(_ host: String, _ name: String) -> String {
            way + purpose.text(host, with: "the \(kind) \(key.fingerprint)\(name)")
        }
        let fitting = [text(host, name), text(host, "")].first { $0.unicodeScalars.count <= Self.scalarCount }
        reason = fitting ?? text("", "")
    }

    private static func shown(_ name: String) -> String? {
        ShownText.isName(name, scalarCount: nameScalarCount) ? name : nil
    }

    /// What is signed.
    private enum Purpose {
        case login(user: String, host: SSHFingerprint?)
        case signature(namespace: String)
        case unknown(byteCount: Int)

        init(_ request: ClientSignature) throws(KeyRefusal) {
            let data: SSHSignedData
            do { data = try SSHSignedData.parse(request.data) } catch { throw .malformed }
            switch data {
            case .userAuthentication(let login):
                guard let user = SignatureWords.shown(login.user) else { throw .unshowableUser }
                self = .login(user: user, host: try request.connection.session(of: login)?.hostKey.fingerprint)
            case .sshsig(let signature):
                guard let namespace = SignatureWords.shown(signature.namespace) else { throw .unshowableNamespace }
                self = .signature(namespace: namespace)
            case .unknown: self = .unknown(byteCount: request.data.count)
            }
        }

        /// - Parameter hostName: what stands behind the fingerprint.
        func text(_ hostName: String, with key: String) -> String {
            switch self {
            case .login(let user, let host?): "log in to the host \(host)\(hostName), with \(key), as “\(user)”"
            case .login(let user, nil): "log in to an unknown host, with \(key), as “\(user)”"
            case .signature(let namespace): "make an SSH signature with \(key), for “\(namespace)”"
            case .unknown(let count): "sign \(count) bytes that are no SSH signature and may be a login, with \(key)"
            }
        }
    }
}
