import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import RelyingParty
import RelyingPartyHummingbird
import RelyingPartySQLite

/// The page and the calls that it makes.
struct Site: Sendable {
    let server: WebAuthnServer
    let accounts: Accounts
    let sessions: any SignInSessionStore = SignInSessionsInMemory()

    // Not secure: localhost has no TLS. A site with TLS leaves `isSecure` out.
    /// Ties the two halves of a ceremony to one browser.
    private let ceremonyCookie = BrowserCookie(name: "ceremony", isSecure: false)
    private let sessionCookie = BrowserCookie(name: "signed-in", isSecure: false, lifetime: 12 * 60 * 60)

    /// More than the largest answer that this site accepts.
    static let maximumByteCount = 256 * 1024

    private struct Name: Decodable {
        let name: String
    }

    /// The outcome that the page shows.
    private struct Outcome: Encodable {
        let name: String
        let message: String
    }

    var router: Router<SiteContext> {
        let router = Router(context: SiteContext.self)
        router.add(middleware: RefusalMiddleware(refusal: Self.refusal, answer: Self.answer))
        router.add(middleware: OriginMiddleware(verifier: server.verifier))
        router.add(middleware: SignInMiddleware(sessions: sessions, cookie: sessionCookie))
        router.get("/") { _, _ in Page.file(Page.html, type: "text/html") }
        router.get("page.css") { _, _ in Page.file(Page.style, type: "text/css") }
        router.get("page.js") { _, _ in Page.file(Page.script, type: "text/javascript") }
        router.post("registration/options") { request, _ in try await registrationOptions(request) }
        router.post("registration") { request, _ in try await register(request) }
        router.post("sign-in/options") { request, _ in try await signInOptions(request) }
        router.post("sign-in") { request, _ in try await signIn(request) }
        router.post("sign-out") { request, _ in try await signOut(request) }
        router.get("account") { _, context in try await account(context) }
        router.post("keys/options") { request, context in try await keyOptions(request, context) }
        router.post("keys") { request, context in try await addKey(request, context) }
        router.post("keys/rename") { request, context in try await renameKey(request, context) }
        router.post("keys/remove") { request, context in try await removeKey(request, context) }
        return router
    }

    // MARK: refusals

    private static func refusal(_ error: any Error) -> Refusal? {
        guard case SQLiteStoreError.tooManyChallenges = error else { return nil }
        return Refusal(
            .serviceUnavailable, code: "busy", message: "Too many people are signing in. Try again in some minutes.")
    }

    /// A page for who followed a link, and JSON for the page's calls.
    private static func answer(_ request: Request, _ refusal: Refusal) throws -> Response {
        guard request.method == .get, request.headers[.accept]?.contains("text/html") == true else {
            return try refusal.json()
        }
        return Page.error(refusal.message, status: refusal.status)
    }

    private static let nameLength = Refusal(
        .badRequest, code: "name-length", message: "A name has 1 to 64 bytes. Choose another one.")
    private static let nameIsTaken = Refusal(
        .conflict, code: "name-taken", message: "The name has an account. Sign in, or choose another name.")
    static let noSuchKey = Refusal(
        .notFound, code: "no-such-key", message: "Your account has no such key. Load the page again.")

    // MARK: registration

    private func registrationOptions(_ request: Request) async throws -> Response {
        guard let name = try? JSONDecoder().decode(Name.self, from: try await Self.body(of: request)).name,
            (1...64).contains(name.utf8.count)
        else { throw Self.nameLength }
        // A further key needs a signed-in person.
        guard try await accounts.handle(of: name) == nil else { throw Self.nameIsTaken }
        let (handle, session) = (BrowserCookie.newValue(), ceremonySession(of: request))
        let options = try await server.beginRegistration(of: WebAuthnUser(handle: handle, name: name), session: session)
        try await accounts.begin(handle, name: name, at: Date())
        return try json(options, ceremony: session)
    }

    private func register(_ request: Request) async throws -> Response {
        let answer = try RegistrationResponse(json: try await Self.body(of: request))
        let registration = try await server.finishRegistration(answer, session: ceremonyCookie.value(in: request))
        let credential = registration.credential
        guard let name = try await accounts.claim(credential.userHandle) else {
            _ = try await server.removeCredential(credential.id, of: credential.userHandle)
            throw Self.nameIsTaken
        }
        var response = try json(Outcome(name: name, message: Self.words(for: registration)))
        try await beginSession(credential.userHandle, request, in: &response)
        return response
    }

    private static func words(for registration: Registration) -> String {
        registration.format == .none ? "Registered." : "Registered, with a statement on the key's model."
    }

    // MARK: sign-in

    /// A passkey names the account. A security key that keeps no accounts signs in by name: the browser then gets the IDs of
    /// the account's credentials, so everybody can ask whether a name has an account.
    private func signInOptions(_ request: Request) async throws -> Response {
        let name = try? JSONDecoder().decode(Name.self, from: try await Self.body(of: request)).name
        let account: Data? = if let name { try await accounts.handle(of: name) } else { nil }
        let session = ceremonySession(of: request)
        return try json(try await server.beginAssertion(account: account, session: session), ceremony: session)
    }

    private func signIn(_ request: Request) async throws -> Response {
        let answer = try AssertionResponse(json: try await Self.body(of: request))
        let signIn = try await server.finishAssertion(answer, session: ceremonyCookie.value(in: request))
        guard let name = try await accounts.name(of: signIn.account) else {
            throw Refusal(.forbidden, code: "no-account", message: "The key belongs to no account. Register first.")
        }
        let proof = signIn.assertion.isUserVerified ? "verified" : "present"
        var response = try json(Outcome(name: name, message: "Signed in; the person was \(proof)."))
        try await beginSession(signIn.account, request, in: &response)
        return response
    }

    /// Begins a session with a value that no earlier page of this browser knew, and ends the one that the browser had.
    func beginSession(_ account: Data, _ request: Request, in response: inout Response) async throws {
        if let token = sessionCookie.value(in: request) { try await sessions.end(token) }
        let token = BrowserCookie.newValue()
        try await sessions.begin(token, account: account, at: Date())
        sessionCookie.set(token, in: &response)
    }

    private func signOut(_ request: Request) async throws -> Response {
        if let token = sessionCookie.value(in: request) { try await sessions.end(token) }
        var response = try json([String: String]())
        sessionCookie.remove(in: &response)
        return response
    }
}

extension Site {
    // MARK: HTTP

    static func body(of request: Request) async throws -> Data {
        Data(try await request.body.collect(upTo: maximumByteCount).readableBytesView)
    }

    /// One value for a browser, so that two of its pages do not end each other's ceremonies.
    func ceremonySession(of request: Request) -> Data {
        guard let value = ceremonyCookie.value(in: request), value.count == 32 else { return BrowserCookie.newValue() }
        return value
    }

    func session(of request: Request) -> Data? { ceremonyCookie.value(in: request) }

    func json(_ value: some Encodable, ceremony session: Data? = nil) throws -> Response {
        var response = Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(value))))
        if let session { ceremonyCookie.set(session, in: &response) }
        return response
    }
}
