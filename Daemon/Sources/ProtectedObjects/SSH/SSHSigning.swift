package import AccessControl
import Crypto
import Enclave
package import Foundation
package import OstiaryMessages
package import PromptProtocol
package import Refusals
import SSHFormats
package import SecretMemory

/// One signature for SSH that a key's constraints permit. Only ``init(_:by:)`` makes one, and it asks ``decide(_:by:under:)``.
///
/// The digest for the question and the digest for the key are computed apart, as for every signature that is confirmed.
package struct SSHSigning {
    /// Where the signature goes: the fingerprint of the host's key, `namespace:` and the name of an SSH signature, or `an unknown place`.
    /// Where other hosts could have asked, `forwarded by `, their fingerprints and ` to ` stand before it, or `perhaps forwarded to ` where
    /// nothing tells whether they did. A lease must name these destinations, and the unknown place.
    package let destination: LeaseDestination
    /// Whether ``destination`` tells where the signature goes. No lease is offered where it does not: it would serve any place.
    package let isPlaceKnown: Bool
    /// The purpose that the question names. An answer is for nothing else.
    package let purpose: GrantPurpose
    /// For the log: what is signed, in at most 64 bytes.
    package let operation: String
    /// For the log: the other facts of the question.
    package let details: String
    private let facts: PromptSSHFacts
    private let shownDigest: Data

    /// The data as the question shows it. Most signatures ask nothing, so it is made when a question is.
    package var shown: PromptSignedData { PromptSignedData(facts, digest: shownDigest) }

    /// - Throws: ``RefusedSSHSigning`` or ``SSHRefusal``.
    package init(_ request: UnconfirmedSSHSigning, by key: SSHKey) throws {
        if let refusal = decide(request.request, by: key.publicKey, under: key.constraints) {
            throw RefusedSSHSigning(because: refusal, operation: SSHFacts.operation(of: request.request))
        }
        let facts = try SSHFacts(request.request, hostName: request.hostName, by: key)
        shownDigest = Data(SHA256.hash(data: request.bytes))
        self.facts = facts.shown
        (operation, details) = (facts.operation, facts.details)
        isPlaceKnown = facts.isPlaceKnown
        destination = LeaseDestination(
            facts.destination, mustBeNamed: !facts.isPlaceKnown || facts.shown.isForwarded)
        purpose =
            facts.isPlaceKnown
            ? .ssh(destination: facts.destination)
            : .sshOnce(digest: shownDigest, destination: facts.destination)
    }

    /// Signs `input` with a right or key that confirms each signature: `r ‖ s`.
    package func confirmedSignature(of input: borrowing SecretBytes, with right: OpenedRight) throws -> SecretBytes {
        SecretBytes(try right.signature(forDigest: Self.digest(of: input), shown: shownDigest))
    }

    /// Signs `input` with one that is authorized: `r ‖ s`.
    package func signature(of input: borrowing SecretBytes, with right: OpenedRight) throws -> SecretBytes {
        SecretBytes(try right.key.signature(forDigest: Self.digest(of: input)))
    }

    private static func digest(of input: borrowing SecretBytes) -> Data {
        Data(SHA256.hash(data: Data(exposing: input)))
    }
}

/// A request whose bytes could be read, and that the key does not sign.
package struct RefusedSSHSigning: Error {
    package let because: SSHRefusal
    /// As ``SSHSigning/operation``.
    package let operation: String
}

/// The key that is to sign, and its limits.
package struct SSHKey {
    let publicKey: SSHPublicKey
    let constraints: SSHKeyConstraints?
    /// For a key that has no name of its own.
    var shownFingerprint: String?

    /// - Parameter x963: the key's point.
    /// - Throws: a refusal for a key that is not on P-256.
    package init(x963: Data, constraints: SSHKeyConstraints?) throws(Refusal) {
        do { publicKey = try SSHPublicKey(p256: x963) } catch {
            throw Refusal(.unsupportedAlgorithm, "For SSH only P-256 keys sign.", cause: "key.algorithm")
        }
        self.constraints = constraints
    }
}

/// A request to sign for SSH: read, its bindings verified, and not yet compared with any key.
package struct UnconfirmedSSHSigning {
    let request: SSHRequest
    let hostName: String
    let bytes: Data

    /// Reads the bytes and verifies each binding.
    ///
    /// - Parameter clientMayForward: whether the client may pass on another machine's requests.
    /// - Throws: ``SSHRefusal``, or a refusal for a request that is too large.
    package init(_ body: WireSSHSignRequest, input: borrowing SecretBytes, clientMayForward: Bool) throws {
        guard body.bindings.count <= WireLimits.sshBindingCount,
            body.hostName.utf8.count <= WireLimits.sshHostNameByteCount
        else {
            throw Refusal(
                .tooLarge, "The request names too many sessions, or a host by a name that is too long.",
                cause: "ssh.too-large")
        }
        bytes = Data(exposing: input)
        hostName = body.hostName
        request = SSHRequest(
            data: try Self.data(bytes), sessions: try Self.sessions(body.bindings), clientMayForward: clientMayForward)
    }

    private static func data(_ bytes: Data) throws(SSHRefusal) -> SSHSignedData {
        do { return try SSHSignedData.parse(bytes) } catch { throw .malformed }
    }

    private static func sessions(_ bindings: [WireSSHBinding]) throws(SSHRefusal) -> SSHBoundSessions {
        var sessions = SSHBoundSessions()
        for binding in bindings {
            let parsed: SSHSessionBinding
            do {
                parsed = try SSHSessionBinding(
                    hostKey: binding.hostKey, sessionID: binding.sessionID, signature: binding.signature,
                    isForwarding: binding.isForwarding)
            } catch { throw .malformed }
            do { try sessions.bind(parsed) } catch {
                throw error == .forged ? .forgedBinding : .bindingOrder
            }
        }
        return sessions
    }
}
