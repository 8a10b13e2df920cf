import Foundation
import Hummingbird
import RelyingParty
import RelyingPartyHummingbird

/// The keys of somebody who is signed in.
extension Site {
    private struct AccountContent: Encodable {
        struct Key: Encodable {
            let id: String
            let name: String
            let creation: Double?
            let lastUse: Double?
            let isBackedUp: Bool
        }

        var name: String?
        var keys: [Key]?
    }

    private struct KeyName: Decodable {
        let id: String
        let name: String?
    }

    /// Who is signed in, and the keys of the account; an empty object for nobody.
    func account(_ context: SiteContext) async throws -> Response {
        guard let account = context.account, let name = try await accounts.name(of: account) else {
            return try json(AccountContent())
        }
        let keys = try await server.credentials(of: account).map { record in
            AccountContent.Key(
                id: record.id.base64URLEncoded, name: record.nickname ?? Self.kind(of: record),
                creation: record.creation?.timeIntervalSince1970, lastUse: record.lastUse?.timeIntervalSince1970,
                isBackedUp: record.isBackedUp)
        }
        return try json(AccountContent(name: name, keys: keys))
    }

    private static func kind(of record: CredentialRecord) -> String {
        let isPasskey = record.isDiscoverable ?? record.isBackupEligible
        return isPasskey ? "Passkey" : "Security key"
    }

    func keyOptions(_ request: Request, _ context: SiteContext) async throws -> Response {
        let account = try context.signedIn()
        guard let name = try await accounts.name(of: account) else { throw Refusal.signedOut }
        let session = ceremonySession(of: request)
        let options = try await server.beginRegistration(
            of: WebAuthnUser(handle: account, name: name), session: session)
        return try json(options, ceremony: session)
    }

    func addKey(_ request: Request, _ context: SiteContext) async throws -> Response {
        let account = try context.signedIn()
        let response = try RegistrationResponse(json: try await Self.body(of: request))
        _ = try await server.finishRegistration(response, session: session(of: request), account: account)
        return try json(["name": try await accounts.name(of: account) ?? "", "message": "The key was added."])
    }

    func renameKey(_ request: Request, _ context: SiteContext) async throws -> Response {
        let (account, key) = (try context.signedIn(), try await Self.key(in: request))
        guard try await server.renameCredential(key.id, of: account, to: key.name) else { throw Self.noSuchKey }
        return try json([String: String]())
    }

    /// Who signed in with a key that is gone must not stay signed in: all sessions of the account end, and this browser gets
    /// another one.
    ///
    /// The last key stays: without it nobody could sign in to the account any more.
    func removeKey(_ request: Request, _ context: SiteContext) async throws -> Response {
        let (account, key) = (try context.signedIn(), try await Self.key(in: request))
        switch try await server.removeCredentialUnlessLast(key.id, of: account) {
        case .removed: break
        case .isLast: throw Self.lastKey
        case .unknownCredential: throw Self.noSuchKey
        }
        try await sessions.endAll(of: account)
        var response = try json(try await server.acceptedCredentials(of: account))
        try await beginSession(account, request, in: &response)
        return response
    }

    private static let lastKey = Refusal(
        .conflict, code: "last-key", message: "This is the only key of your account. Add another one first.")

    private static func key(in request: Request) async throws -> (id: Data, name: String?) {
        guard let key = try? JSONDecoder().decode(KeyName.self, from: try await body(of: request)),
            let id = Data(base64URLEncoded: key.id)
        else { throw noSuchKey }
        return (id, key.name)
    }
}
