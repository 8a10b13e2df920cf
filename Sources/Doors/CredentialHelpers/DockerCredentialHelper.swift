import DoorSupport
import Foundation
package import SecretMemory

/// Docker's side: `docker-credential-ostiary get`, `store`, `erase` and `list`.
///
/// Docker reads the answer and the failure from standard output, and compares failures with texts. Those are the ones of
/// docker-credential-helpers, `credentials/error.go`.
package struct DockerCredentialHelper: Sendable {
    package enum Message {
        package static let notFound = "credentials not found in native keychain"
        package static let missingServer = "no credentials server URL"
        package static let missingUsername = "no credentials username"
        package static func unknownAction(_ action: String) -> String { "Unknown credential action `\(action)`" }
        package static let usage = "Usage: docker-credential-ostiary <store|get|erase|list|version>"
    }

    /// A failure that docker knows by its text.
    package struct KnownFailure: Error, Equatable {
        package let message: String
        package init(_ message: String) { self.message = message }
    }

    private let items: CredentialItems

    package init(_ items: CredentialItems) { self.items = items }

    package func get(_ input: borrowing SecretBytes) throws -> SecretBytes {
        let server = try Self.server(input)
        let found = try items.list(CredentialPlace(dockerServer: server).searched)
        guard let newest = found.last else { throw KnownFailure(Message.notFound) }
        let document = try items.read(newest, reason: "sign in to \(server)") { item, secret in
            DockerCredential(
                serverURL: server, username: item.account ?? "", secret: Secret(SecretBytes(copying: secret)))
        }
        guard let document else { throw KnownFailure(Message.notFound) }
        return document.document()
    }

    /// A server has one user: another one's credential for it is replaced.
    package func store(_ input: borrowing SecretBytes) throws {
        let given = try DockerCredential(parsing: input)
        guard !given.serverURL.isEmpty else { throw KnownFailure(Message.missingServer) }
        guard !given.username.isEmpty else { throw KnownFailure(Message.missingUsername) }
        guard !given.secret.bytes.isEmpty else { throw DoorFailure.malformedInput("the secret is empty") }
        var place = CredentialPlace(dockerServer: given.serverURL)
        place.account = given.username
        let secret = CredentialSecret(password: given.secret)
        let reason = "keep the credential for \(given.serverURL)"
        let others = try items.list(CredentialPlace(dockerServer: given.serverURL).searched)
        let same = try items.list(place.exact)
        if let former = same.last, !former.hasRule {
            try items.replace(former, by: secret, reason: reason)
        } else {
            // Replacing a secret under a rule would ask for that rule. A new item has the same one without asking for it.
            try items.add(place, secret, insteadOf: same, reason: reason)
        }
        let kept = Set(same.map(\.id))
        let replaced = others.filter { !kept.contains($0.id) }
        if !replaced.isEmpty { try items.delete(replaced) }
    }

    package func erase(_ input: borrowing SecretBytes) throws {
        let found = try items.list(CredentialPlace(dockerServer: try Self.server(input)).searched)
        if !found.isEmpty { try items.delete(found) }
    }

    package func list() throws -> SecretBytes {
        var users: [String: String] = [:]
        for item in try items.all(of: .docker, reason: "list the servers of docker") {
            guard let server = item.dockerServer else { continue }
            users[server] = item.account ?? ""
        }
        return DockerCredential.list(users)
    }

    private static func server(_ input: borrowing SecretBytes) throws -> String {
        let bytes = unsafe input.withUnsafeBytes { unsafe Array($0) }
        // As upstream: lines are joined, and blanks around them go.
        let joined = bytes.filter { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        guard let text = String(validating: joined, as: UTF8.self), !joined.contains(0) else {
            throw DoorFailure.malformedInput("the server is no text")
        }
        let blanks = { (character: Character) in character == " " || character == "\t" }
        let server = String(text.drop(while: blanks).reversed().drop(while: blanks).reversed())
        guard !server.isEmpty else { throw KnownFailure(Message.missingServer) }
        guard server.utf8.count <= CredentialLimits.nameByteCount else {
            throw DoorFailure.malformedInput("the server is too long")
        }
        return server
    }
}

extension CredentialPlace {
    /// A server as docker names it: `https://index.docker.io/v1/`, `ghcr.io`, `localhost:5000`. Its parts give the same text again.
    package init(dockerServer text: String) {
        let (scheme, rest) = Self.parts(of: text)
        let authority = rest.prefix { $0 != "/" }
        self.init(
            .docker, networkProtocol: scheme, host: String(authority), path: String(rest.dropFirst(authority.count)))
    }

    private static func parts(of text: String) -> (scheme: String, rest: Substring) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, !parts[0].utf8.contains(UInt8(ascii: "/")), parts[1].hasPrefix("//")
        else {
            return ("", text[...])
        }
        return (String(parts[0]), parts[1].dropFirst(2))
    }
}

extension CredentialItems.Found {
    /// The server as docker named it; nil for an item that is none of docker's.
    fileprivate var dockerServer: String? {
        guard let server, let networkProtocol, let path, let port else { return nil }
        let host = port == 0 ? server : "\(server):\(port)"
        return networkProtocol.isEmpty ? host + path : "\(networkProtocol)://\(host)\(path)"
    }
}
