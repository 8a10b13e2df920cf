import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import RelyingParty
import RelyingPartySQLite

/// The page and the four calls that it makes.
struct Site: Sendable {
    let server: WebAuthnServer
    let credentials: SQLiteStore
    let accounts: Accounts

    private static let cookie = "session"
    /// More than the largest answer that this site accepts.
    private static let maximumByteCount = 256 * 1024

    private struct Name: Decodable {
        let name: String
    }

    /// The outcome that the page shows.
    private struct Outcome: Encodable {
        let name: String
        let message: String
    }

    var router: Router<BasicRequestContext> {
        let router = Router()
        router.get("/") { _, _ in Page.file(Page.html, type: "text/html") }
        router.get("page.css") { _, _ in Page.file(Page.style, type: "text/css") }
        router.get("page.js") { _, _ in Page.file(Page.script, type: "text/javascript") }
        router.post("registration/options") { request, _ in
            try await answering { try await registrationOptions(request) }
        }
        router.post("registration") { request, _ in try await answering { try await register(request) } }
        router.post("sign-in/options") { request, _ in try await answering { try await signInOptions(request) } }
        router.post("sign-in") { request, _ in try await answering { try await signIn(request) } }
        return router
    }

    // MARK: registration

    private func registrationOptions(_ request: Request) async throws -> Response {
        guard let name = try? JSONDecoder().decode(Name.self, from: try await Self.body(of: request)).name,
            (1...64).contains(name.utf8.count)
        else { throw HTTPError(.badRequest, message: "A name has 1 to 64 bytes.") }
        // A second credential needs a signed-in person, and this site has no page for it.
        guard try await accounts.handle(of: name) == nil else { throw Self.nameIsTaken }
        let (handle, session) = (Self.random(), Self.random())
        let options = try await server.beginRegistration(of: WebAuthnUser(handle: handle, name: name), session: session)
        try await accounts.begin(handle, name: name, at: Date())
        return try Self.json(options, session: session)
    }

    private func register(_ request: Request) async throws -> Response {
        let response = try RegistrationResponse(json: try await Self.body(of: request))
        let registration = try await server.finishRegistration(response, session: Self.session(of: request))
        let credential = registration.credential
        guard let name = try await accounts.claim(credential.userHandle) else {
            _ = try await credentials.remove(credential.id, of: credential.userHandle)
            throw Self.nameIsTaken
        }
        return try Self.json(
            Outcome(name: name, message: "Registered; the attestation is \(registration.format.rawValue)."))
    }

    private static let nameIsTaken = HTTPError(
        .conflict, message: "The name has an account. Sign in, or choose another name.")

    // MARK: sign-in

    /// A passkey names the account. A security key that keeps no accounts signs in by name: the browser then gets the IDs of
    /// the account's credentials, so everybody can ask whether a name has an account.
    private func signInOptions(_ request: Request) async throws -> Response {
        let name = try? JSONDecoder().decode(Name.self, from: try await Self.body(of: request)).name
        let account: Data? = if let name { try await accounts.handle(of: name) } else { nil }
        let session = Self.random()
        return try Self.json(try await server.beginAssertion(account: account, session: session), session: session)
    }

    private func signIn(_ request: Request) async throws -> Response {
        let response = try AssertionResponse(json: try await Self.body(of: request))
        let signIn = try await server.finishAssertion(response, session: Self.session(of: request))
        guard let name = try await accounts.name(of: signIn.account) else {
            throw HTTPError(.forbidden, message: "The credential belongs to no account.")
        }
        let proof = signIn.assertion.isUserVerified ? "verified" : "present"
        return try Self.json(Outcome(name: name, message: "Signed in; the person was \(proof)."))
    }

    // MARK: HTTP

    /// Refusals of a ceremony are the client's, and their names say which check failed.
    private func answering(_ body: () async throws -> Response) async throws -> Response {
        do {
            return try await body()
        } catch let error as CeremonyError {
            throw HTTPError(.forbidden, message: "\(error)")
        } catch let error as CeremonyJSONError {
            throw HTTPError(.badRequest, message: "\(error)")
        } catch SQLiteStoreError.tooManyChallenges {
            throw HTTPError(.serviceUnavailable, message: "Too many people are signing in. Try again in some minutes.")
        }
    }

    private static func body(of request: Request) async throws -> Data {
        Data(try await request.body.collect(upTo: maximumByteCount).readableBytesView)
    }

    private static func random() -> Data {
        var generator = SystemRandomNumberGenerator()
        return Data((0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    private static func session(of request: Request) -> Data? {
        request.cookies[cookie].flatMap { Data(base64URLEncoded: $0.value) }
    }

    private static func json(_ value: some Encodable, session: Data? = nil) throws -> Response {
        let buffer = ByteBuffer(bytes: try JSONEncoder().encode(value))
        var response = Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: buffer))
        if let session {
            // Not `secure`: localhost has no TLS. A site with TLS sets it.
            response.setCookie(
                Cookie(
                    name: cookie, value: session.base64URLEncoded, path: "/", httpOnly: true, sameSite: .strict))
        }
        return response
    }
}
