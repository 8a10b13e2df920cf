import AccessControl
import ExactNames
import Foundation
import PromptProtocol
import SSHFormats

/// The words for a permitted request: for the question, the log and leases.
struct SSHFacts {
    let shown: PromptSSHFacts
    /// The name of ``SSHSigning/destination``.
    let destination: ExactName
    /// Whether ``destination`` tells where the signature goes.
    let isPlaceKnown: Bool
    let operation: String
    let details: String

    /// - Throws: ``SSHRefusal/unshowable``.
    init(
        _ request: SSHRequest, hostName: String, by key: SSHKey
    ) throws(SSHRefusal) {
        let forwarders = request.sessions.forwarding.map(\.hostKey.fingerprint.description)
        let host = request.destination?.fingerprint
        let pinnedName = host.flatMap { key.constraints?.pin(of: $0.bytes)?.name } ?? ""
        let subject = try Subject(request.data, host: host)
        let isLogin = if case .userAuthentication = request.data { true } else { false }
        shown = PromptSSHFacts(
            subject.purpose, signingKey: key.shownFingerprint.map { DisplayText(fact: $0) },
            hostKey: host.map { DisplayText(fact: $0.description) },
            hostName: isLogin ? Self.name(pinned: pinnedName, claimed: hostName) : nil,
            forwarders: forwarders.map { DisplayText(fact: $0) }, mayBeForwarded: request.mayBeForwarded)
        let place = subject.destination
        // A host behind the client can compose the signed bytes, so what they name is where that host logs in, and not the client.
        isPlaceKnown = place != nil && !request.mayBeForwarded
        let over =
            request.mayBeForwarded
            ? "perhaps forwarded to "
            : forwarders.isEmpty ? "" : "forwarded by \(forwarders.joined(separator: " ")) to "
        destination = ExactName(over + (place ?? Self.unknownPlace))
        operation = Self.operation(of: request)
        let way =
            request.mayBeForwarded ? ["perhaps forwarded"] : forwarders.last.map { ["forwarded by \($0)"] } ?? []
        let signer = key.shownFingerprint.map { ["by the key \($0)"] } ?? []
        // The client chooses the user and the namespace, and the log cuts a long text.
        details = (way + signer + subject.details).joined(separator: ", ")
    }

    /// Differs from the empty destination of uses that are not for SSH.
    private static let unknownPlace = "an unknown place"

    /// The kind of the signed data, for the log: at most 64 bytes.
    static func operation(of request: SSHRequest) -> String {
        switch request.data {
        case .userAuthentication: request.destination.map { "login to \($0.fingerprint)" } ?? "login to an unknown host"
        case .sshsig: "SSH signature"
        case .unknown: "unknown data"
        }
    }

    private static func name(pinned: String, claimed: String) -> PromptSSHFacts.HostName? {
        if !pinned.isEmpty { return .ofOwner(DisplayText(fact: pinned)) }
        let claimed = DisplayText(claimed, maximumScalarCount: 100)
        return claimed.isEmpty ? nil : .claimed(claimed)
    }

    /// The signed data in words.
    private struct Subject {
        let purpose: PromptSSHFacts.Purpose
        let destination: String?
        let details: [String]

        init(_ data: SSHSignedData, host: SSHFingerprint?) throws(SSHRefusal) {
            switch data {
            case .userAuthentication(let login):
                guard let user = DisplayText(wholeFact: login.user) else { throw .unshowable }
                purpose = .login(user: user, service: DisplayText(fact: login.service))
                destination = host?.description
                details = ["user \(user)"] + (login.service == "ssh-connection" ? [] : ["service \(login.service)"])
            case .sshsig(let signature):
                guard let namespace = DisplayText(wholeFact: signature.namespace) else { throw .unshowable }
                purpose = .signature(namespace: namespace)
                destination = "namespace:\(signature.namespace)"
                details = ["namespace \(namespace)"]
            case .unknown:
                purpose = .unknown
                destination = nil
                details = []
            }
        }
    }
}
