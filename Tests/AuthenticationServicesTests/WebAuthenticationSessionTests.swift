@testable import AuthenticationServices
import Foundation
import Glibc
import IndependentTools
import LoopbackCallback
import Testing

/// Sign-ins in a browser. The browser is a script, since no machine of automation has one; what it fetches, curl fetches.
@Suite("Web sessions", .timeLimit(.minutes(10))) struct WebAuthenticationSessionTests {
    private typealias End = (url: URL?, error: ASWebAuthenticationSessionError?)

    /// Starts a session, and waits for its end.
    private func end(
        _ page: String, _ callback: ASWebAuthenticationSession.Callback, browser: String = "exit 0",
        expectsStart: Bool, headers: [String: String]? = nil,
        then act: @escaping @Sendable (ASWebAuthenticationSession) -> Void = { _ in }
    ) async throws -> End {
        let script = FileManager.default.temporaryDirectory.appendingPathComponent("browser-\(UUID().uuidString)")
        try ProgramFile.script("#!/bin/sh\n\(browser)\n", at: script.path, mode: 0o700)
        defer { try? FileManager.default.removeItem(at: script) }
        let page = try #require(URL(string: page))
        return await withCheckedContinuation { continuation in
            let session = ASWebAuthenticationSession(
                url: page, callback: callback, browser: Browser(program: script.path)
            ) { continuation.resume(returning: ($0, $1 as? ASWebAuthenticationSessionError)) }
            session.additionalHeaderFields = headers
            #expect(session.canStart == expectsStart)
            #expect(session.start() == expectsStart)
            #expect(!session.canStart && !session.start())
            act(session)
        }
    }

    /// A port that was free a moment ago.
    private func freePort() throws -> UInt16 { try CallbackListener(port: 0).port }

    @Test func `the browser is opened with the page, and its redirect ends the session`() async throws {
        let port = try freePort()
        let end = try await end(
            "https://id.example.org/login?state=7", .loopback(port: port, path: "done"),
            browser: "curl -s \"http://127.0.0.1:\(port)/done?code=1&state=7&opened=$1\"", expectsStart: true)
        #expect(
            end.url?.absoluteString
                == "http://127.0.0.1:\(port)/done?code=1&state=7&opened=https://id.example.org/login?state=7")
        #expect(end.error == nil)
    }

    @Test(arguments: ["/done/", "/a%20b/", "done/"]) func `a slash at the end of the path counts`(path: String)
        async throws
    {
        let port = try freePort()
        let target = path.hasPrefix("/") ? path : "/" + path
        for callback in [
            ASWebAuthenticationSession.Callback.loopback(port: port, path: path),
            .customScheme("http"),
        ] {
            let place = "http://127.0.0.1:\(port)\(target)"
            let escaped = try #require(place.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
            let end = try await end(
                "https://id.example.org?redirect_uri=\(escaped)", callback,
                browser: "curl -s -o /dev/null \(place.dropLast()) \(place)?code=1", expectsStart: true)
            #expect(end.url?.absoluteString == place + "?code=1", "\(callback)")
        }
    }

    @Test func `a return with another state, or to another host, gets an error, and the session goes on`() async throws
    {
        let port = try freePort()
        let place = "http://127.0.0.1:\(port)"
        let browser = """
            status() { curl -s -o /dev/null -w '%{http_code}+' "$@"; }
            seen=$(status '\(place)/done?code=2'; status '\(place)/done?code=2&state=8'
            status --request-target '@evil.example/done?state=7' '\(place)')
            curl -s "\(place)/done?state=7&seen=$seen"
            """
        let end = try await end(
            "https://id.example.org/login?state=7", .loopback(port: port, path: "/done"), browser: browser,
            expectsStart: true)
        #expect(end.url?.host == "127.0.0.1")
        #expect(end.url?.query == "state=7&seen=403+403+404+")
    }

    @Test(.enabled(if: getuid() == 0, "only root can become another user"))
    func `another user's return is refused, and the session goes on`() async throws {
        let port = try freePort()
        let place = "http://127.0.0.1:\(port)/done"
        let browser = """
            other=$(setpriv --reuid=1 --regid=1 --clear-groups curl -s -o /dev/null -w '%{http_code}' '\(place)?code=forged')
            curl -s "\(place)?other=$other"
            """
        let end = try await end(
            "https://id.example.org", .loopback(port: port, path: "/done"), browser: browser, expectsStart: true)
        // The connection may be closed before its answer is read.
        #expect(["other=403", "other=000"].contains(end.url?.query ?? ""), "\(end)")
    }

    @Test func `the port serves the next session at once`() async throws {
        let port = try freePort()
        for code in 1...3 {
            let end = try await end(
                "https://id.example.org", .loopback(port: port, path: "/done"),
                browser: "curl -s http://127.0.0.1:\(port)/done?code=\(code)", expectsStart: true)
            #expect(end.url?.query == "code=\(code)", "\(end)")
        }
    }

    @Test func `the scheme http takes the place that the page names`() async throws {
        let port = try freePort()
        let end = try await end(
            "https://id.example.org/login?redirect_uri=http%3A%2F%2F127.0.0.1%3A\(port)%2Fback",
            .customScheme("http"), browser: "curl -s http://127.0.0.1:\(port)/back?code=2", expectsStart: true)
        #expect(end.url?.query == "code=2")
    }

    /// Whatever else reaches the port does not end the session.
    @Test func `other requests get an error, and the session goes on`() async throws {
        let port = try freePort()
        let place = "http://127.0.0.1:\(port)"
        let browser = """
            status() { curl -s -o /dev/null -w '%{http_code}+' "$@"; }
            seen=$(status \(place)/other; status -X POST \(place)/done; status -H 'Host: evil.example' \(place)/done
            status -H "X: $(head -c 20000 /dev/zero | tr '\\0' x)" \(place)/done; status -I \(place)/done)
            curl -s "\(place)/done?seen=$seen"
            """
        let end = try await end(
            "https://id.example.org", .loopback(port: port, path: "/done"), browser: browser, expectsStart: true)
        // The connection of a request that is too long may be closed before its answer is read.
        let seen = end.url?.query?.replacing("400", with: "000")
        #expect(seen == "seen=404+404+404+000+404+", "\(end)")
    }

    @Test(arguments: [
        ("https://id.example.org", ASWebAuthenticationSession.Callback.customScheme("app")),
        ("https://id.example.org", .customScheme("")), ("https://id.example.org", .customScheme("http")),
        ("https://id.example.org", .https(host: "example.org", path: "/done")),
        ("https://id.example.org?redirect_uri=http://127.0.0.1/x", .customScheme("http")),
        ("https://id.example.org?redirect_uri=http://192.0.2.1:8000/x", .customScheme("http")),
        ("https://id.example.org?redirect_uri=http://localhost:8000/x", .customScheme("http")),
        (
            "https://id.example.org?redirect_uri=http://127.0.0.1:80/&redirect_uri=http://127.0.0.1:81/",
            .customScheme("http")
        ),
        ("file:///etc/passwd", .loopback(port: 8000, path: "/")), ("--help", .loopback(port: 8000, path: "/")),
        ("javascript:alert(1)", .loopback(port: 8000, path: "/")), ("https:", .loopback(port: 8000, path: "/")),
    ])
    func `what cannot come back is refused before a browser is opened`(
        page: String, callback: ASWebAuthenticationSession.Callback
    ) async throws {
        let end = try await end(page, callback, expectsStart: false)
        #expect(end.url == nil && end.error?.code == .presentationContextInvalid)
        #expect(end.error?.localizedDescription.isEmpty == false)
    }

    @Test func `header fields are refused, since a browser takes none`() async throws {
        let end = try await end(
            "https://id.example.org", .loopback(port: try freePort(), path: "/"), expectsStart: false,
            headers: ["X": "1"])
        #expect(end.error?.code == .presentationContextInvalid)
    }

    @Test func `a port that another program has is not taken over`() async throws {
        let other = try CallbackListener(port: 0)
        let page = try #require(URL(string: "https://id.example.org"))
        let error: ASWebAuthenticationSessionError? = await withCheckedContinuation { continuation in
            let session = ASWebAuthenticationSession(
                url: page, callback: .loopback(port: other.port, path: "/"), browser: Browser(program: "true")
            ) { continuation.resume(returning: $1 as? ASWebAuthenticationSessionError) }
            #expect(session.canStart && !session.start())
        }
        #expect(error?.code == .presentationContextInvalid)
        #expect(error?.localizedDescription.contains("\(other.port)") == true)
    }

    @Test func `a program that cancels is told so, once`() async throws {
        let end = try await end(
            "https://id.example.org", .loopback(port: try freePort(), path: "/"), expectsStart: true
        ) { session in
            session.cancel()
            session.cancel()
        }
        #expect(end.error?.code == .canceledLogin)
        #expect(end.error.map { ($0 as NSError).domain } == ASWebAuthenticationSessionErrorDomain)
    }

    @Test(arguments: [("exit 3", "status 3"), ("exit 127", "not installed")])
    func `a browser that does not open is told of`(browser: String, text: String) async throws {
        let end = try await end(
            "https://id.example.org", .loopback(port: try freePort(), path: "/"), browser: browser, expectsStart: true)
        #expect(end.error?.code == .presentationContextInvalid)
        #expect(end.error?.localizedDescription.contains(text) == true)
    }

    @Test func `a callback says which addresses are its own`() throws {
        let local = ASWebAuthenticationSession.Callback.loopback(port: 8000, path: "done")
        #expect(local.matchesURL(try #require(URL(string: "http://127.0.0.1:8000/done?code=1"))))
        for other in [
            "http://127.0.0.1:8001/done", "https://127.0.0.1:8000/done", "http://127.0.0.2:8000/done",
            "http://127.0.0.1:8000/",
            "http://127.0.0.1:8000/done/",
        ] {
            #expect(!local.matchesURL(try #require(URL(string: other))))
        }
        let folder = ASWebAuthenticationSession.Callback.loopback(port: 8000, path: "/done/")
        #expect(folder.matchesURL(try #require(URL(string: "http://127.0.0.1:8000/done/?code=1"))))
        #expect(!folder.matchesURL(try #require(URL(string: "http://127.0.0.1:8000/done"))))
        let site = ASWebAuthenticationSession.Callback.https(host: "example.org", path: "/done")
        #expect(site.matchesURL(try #require(URL(string: "https://Example.org/done"))))
        #expect(!site.matchesURL(try #require(URL(string: "https://example.org/other"))))
        #expect(ASWebAuthenticationSession.Callback.customScheme("App").matchesURL(try #require(URL(string: "app:x"))))
    }
}
