import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import RelyingParty
import RelyingPartyHummingbird
import Testing

/// The middleware, in a server without a network.
@Suite struct MiddlewareTests {
    private struct Context: SignInRequestContext {
        var coreContext: CoreRequestContextStorage
        var account: Data?

        init(source: Source) { coreContext = CoreRequestContextStorage(source: source) }
    }

    private struct Unknown: Error {
        let secret = "hunter2"
    }

    private static let date = Date(timeIntervalSince1970: 1_800_000_000)
    private let sessions = SignInSessionsInMemory(lifetime: 60)
    private let cookie = BrowserCookie(name: "test", isSecure: false)

    /// The status and the text of the answer to a request with this cookie.
    private func answer(
        cookie value: String? = nil, isRequired: Bool = false,
        _ handler: @escaping @Sendable (Request, Context) async throws -> String
    ) async throws -> (HTTPResponse.Status, String) {
        let router = Router(context: Context.self)
        router.add(middleware: RefusalMiddleware())
        router.add(
            middleware: SignInMiddleware(
                sessions: sessions, cookie: cookie, isRequired: isRequired, clock: { Self.date }))
        router.get("page", use: handler)
        return try await Application(router: router).test(.router) { client in
            var headers = HTTPFields()
            if let value { headers[.cookie] = value }
            return try await client.execute(uri: "/page", method: .get, headers: headers) {
                ($0.status, String(buffer: $0.body))
            }
        }
    }

    // MARK: who is signed in

    @Test func `the cookie of a session tells who is signed in`() async throws {
        let token = BrowserCookie.newValue()
        #expect(token.count == 32 && token != BrowserCookie.newValue())
        await sessions.begin(token, account: Data("ann".utf8), at: Self.date)
        let name: @Sendable (Request, Context) async throws -> String = { _, context in
            context.account.map { String(decoding: $0, as: UTF8.self) } ?? "nobody"
        }
        #expect(try await answer(cookie: "test=\(token.base64URLEncoded)", name).1 == "ann")
        var other = token
        other[31] ^= 1
        for value in [
            nil, "", "test=", "test=\(other.base64URLEncoded)", "test=AA==", "other=\(token.base64URLEncoded)",
        ] {
            #expect(try await answer(cookie: value, name).1 == "nobody")
            let refused = try await answer(cookie: value, isRequired: true, name)
            #expect(refused.0 == .unauthorized && refused.1.contains("signed-out"))
        }
    }

    @Test func `a session ends, expires, and makes room`() async throws {
        let (ann, bob) = (Data("ann".utf8), Data("bob".utf8))
        let tokens = (0..<4).map { _ in BrowserCookie.newValue() }
        for token in tokens.prefix(2) { await sessions.begin(token, account: ann, at: Self.date) }
        await sessions.begin(tokens[2], account: bob, at: Self.date)
        #expect(await sessions.account(tokens[0], at: Self.date + 59) == ann)
        #expect(await sessions.account(tokens[0], at: Self.date + 60) == nil)
        await sessions.end(tokens[0])
        #expect(await sessions.account(tokens[0], at: Self.date) == nil)
        await sessions.endAll(of: ann)
        #expect(await sessions.account(tokens[1], at: Self.date) == nil)
        #expect(await sessions.account(tokens[2], at: Self.date) == bob)
        let small = SignInSessionsInMemory(lifetime: 60, maximumCount: 2)
        for (index, token) in tokens.prefix(3).enumerated() {
            await small.begin(token, account: ann, at: Self.date + Double(index))
        }
        #expect(await small.account(tokens[0], at: Self.date) == nil)
        #expect(await small.account(tokens[2], at: Self.date) == ann)
        await small.begin(tokens[3], account: ann, at: Self.date + 1000)
        #expect(await small.account(tokens[2], at: Self.date) == nil)
    }

    @Test func `a cookie of a site with TLS belongs to one host`() throws {
        var response = Response(status: .ok)
        BrowserCookie(name: "a", lifetime: 5).set(Data([1]), in: &response)
        BrowserCookie(name: "a").remove(in: &response)
        let cookies = response.headers[values: .setCookie]
        #expect(cookies.count == 2 && cookies[0].hasPrefix("__Host-a=AQ;") && cookies[1].hasPrefix("__Host-a=;"))
        for attribute in ["Secure", "HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=5"] {
            #expect(cookies[0].contains(attribute), "\(cookies[0])")
        }
        #expect(cookies[1].contains("Max-Age=0"))
    }

    // MARK: refusals

    @Test func `an error becomes words and a name, and nothing of the inside`() async throws {
        let cases: [(any Error & Sendable, HTTPResponse.Status, String)] = [
            (CeremonyError.counterNotIncreased(stored: 9, received: 8), .forbidden, "counter-not-increased"),
            (CeremonyJSONError.tooLong(9), .badRequest, "answer-too-long"),
            (Refusal(.conflict, code: "taken", message: "It is taken."), .conflict, "It is taken."),
            (HTTPError(.badRequest, message: "Swift.DecodingError"), .badRequest, "not-understood"),
            (HTTPError(.internalServerError, message: "Unknown"), .internalServerError, "failure"),
            (Unknown(), .internalServerError, "This site made an error."),
        ]
        for (error, status, text) in cases {
            let outcome = try await answer { _, _ in throw error }
            #expect(outcome.0 == status && outcome.1.contains(text), "\(outcome)")
            for inside in ["hunter2", "Unknown", "Swift.", "stored"] {
                #expect(!outcome.1.contains(inside), "\(outcome)")
            }
        }
    }
}
