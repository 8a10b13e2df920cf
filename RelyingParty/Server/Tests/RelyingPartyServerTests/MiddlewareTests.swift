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

    /// Another host of the domain may set cookies of any other name, and for some paths only, so that browsers send them first.
    @Test func `a cookie of another name, or one of two, signs nobody in`() async throws {
        let (token, other) = (BrowserCookie.newValue(), BrowserCookie.newValue())
        for value in [token, other] { await sessions.begin(value, account: Data("ann".utf8), at: Self.date) }
        let name: @Sendable (Request, Context) async throws -> String = { _, context in
            context.account.map { String(decoding: $0, as: UTF8.self) } ?? "nobody"
        }
        let own = "test=\(token.base64URLEncoded)"
        for cookies in [
            own, "a=b; \(own)", "\(own); a=b", "a=b;\(own)", "a; \(own)", "  \(own)", "\u{2000}\(own); \(own)",
        ] {
            #expect(try await answer(cookie: cookies, name).1 == "ann", "\(cookies)")
        }
        for blank in ["\u{2000}", "\u{A0}", "\u{85}", "\u{3000}", "\u{2028}", "\u{301}", "_"] {
            #expect(try await answer(cookie: "\(blank)\(own)", name).1 == "nobody", "\(blank.unicodeScalars)")
            #expect(try await answer(cookie: "a=b; \(blank)\(own)", name).1 == "nobody", "\(blank.unicodeScalars)")
        }
        for cookies in [
            "\(own); test=\(other.base64URLEncoded)", "test=\(other.base64URLEncoded); \(own)", "\(own); \(own)",
            "test; test=", "TEST=\(token.base64URLEncoded)", "test =\(token.base64URLEncoded)",
            "test= \(token.base64URLEncoded)", "test=\"\(token.base64URLEncoded)\"", "=\(own)", "a=\(own)",
            "a=b, \(own)",
        ] {
            #expect(try await answer(cookie: cookies, name).1 == "nobody", "\(cookies)")
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

    // MARK: whose page asked

    private static let verifier = WebAuthnVerifier(
        relyingPartyIdentifier: "localhost", origins: ["http://localhost:8080", "https://login.example.org"])
    private static let signedIn = ("Cookie", "test=AQ")

    /// The status and the text of the answer to a request with these headers.
    private func answer(
        _ headers: [(String, String)], method: HTTPRequest.Method = .post
    ) async throws -> (HTTPResponse.Status, String) {
        let router = Router(context: Context.self)
        router.add(middleware: RefusalMiddleware())
        router.add(middleware: OriginMiddleware(verifier: Self.verifier))
        for method in [HTTPRequest.Method.get, .head, .options, .post, .put, .patch, .delete] {
            router.on("page", method: method) { _, _ in "done" }
        }
        return try await Application(router: router).test(.router) { client in
            var fields = HTTPFields()
            for (name, value) in headers {
                fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
            }
            return try await client.execute(uri: "/page", method: method, headers: fields) {
                ($0.status, String(buffer: $0.body))
            }
        }
    }

    private func expectRefusal(
        _ headers: [(String, String)], method: HTTPRequest.Method = .post,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let (status, text) = try await answer(headers, method: method)
        let isRefused = status == .forbidden && text.contains("\"foreign-origin\"")
        #expect(isRefused, "\(headers): \(status) \(text)", sourceLocation: sourceLocation)
    }

    @Test func `a page of the site's origins changes something`() async throws {
        for origin in ["http://localhost:8080", "https://login.example.org"] {
            for method in [HTTPRequest.Method.post, .put, .patch, .delete] {
                #expect(try await answer([("Origin", origin), Self.signedIn], method: method).1 == "done")
            }
            // The type of the content does not tell the sender.
            let plain = [("Origin", origin), ("Content-Type", "text/plain"), Self.signedIn]
            #expect(try await answer(plain).1 == "done")
        }
    }

    @Test(arguments: [
        "http://localhost:9999", "https://localhost:8080", "http://localhost", "http://localhost:8080/",
        "http://localhost:80801", "HTTP://localhost:8080", "http://127.0.0.1:8080", "https://example.org",
        "https://other.login.example.org", "https://login.example.org.", "https://login.example.org:443", "null", "",
        "http://localhost:8080, http://localhost:8080", "http://localhost:8080 http://localhost:9999", "*",
    ])
    func `a page of another origin changes nothing, of the same site neither`(_ origin: String) async throws {
        for method in [HTTPRequest.Method.post, .put, .patch, .delete] {
            try await expectRefusal([("Origin", origin), Self.signedIn], method: method)
        }
        // Neither another header nor the kind of the content nor a missing cookie makes up for it.
        try await expectRefusal([("Origin", origin), ("Sec-Fetch-Site", "same-origin"), Self.signedIn])
        try await expectRefusal([
            ("Origin", origin), ("Sec-Fetch-Site", "same-site"), ("Content-Type", "text/plain"), Self.signedIn,
        ])
        try await expectRefusal([("Origin", origin)])
    }

    @Test func `a request that names two origins is of none`() async throws {
        let (own, other) = ("http://localhost:8080", "http://localhost:9999")
        for origins in [[own, other], [other, own], [own, own]] {
            try await expectRefusal(origins.map { ("Origin", $0) } + [Self.signedIn])
        }
    }

    @Test func `without an origin the browser tells whether the page is of the same one`() async throws {
        for site in ["same-origin", "none"] {
            #expect(try await answer([("Sec-Fetch-Site", site), Self.signedIn]).1 == "done")
        }
        for site in ["same-site", "cross-site", "Same-Origin", "same-origin, none", "same-origin;a", ""] {
            try await expectRefusal([("Sec-Fetch-Site", site), Self.signedIn])
            try await expectRefusal([("Sec-Fetch-Site", site)])
        }
    }

    @Test func `a request that says nothing of its page is a program's, which has no cookie`() async throws {
        #expect(try await answer([]).1 == "done")
        #expect(try await answer([("Content-Type", "text/plain")]).1 == "done")
        for cookie in ["test=AQ", "ceremony=AQ", ""] {
            for method in [HTTPRequest.Method.post, .put, .patch, .delete] {
                try await expectRefusal([("Cookie", cookie)], method: method)
            }
        }
    }

    @Test func `who only looks may come from anywhere`() async throws {
        for method in [HTTPRequest.Method.get, .head, .options] {
            for headers in [[], [("Origin", "https://example.net")], [("Sec-Fetch-Site", "cross-site")]]
                as [[(String, String)]]
            {
                #expect(try await answer(headers + [Self.signedIn], method: method).0 == .ok)
            }
        }
        let unknown = try #require(HTTPRequest.Method(rawValue: "CHANGE"))
        try await expectRefusal([("Origin", "http://localhost:9999"), Self.signedIn], method: unknown)
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
