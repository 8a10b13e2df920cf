import HTTPTypes
import Hummingbird
import NIOCore

/// The page for a browser. Nothing comes from another site, and nothing within the page is run.
enum Page {
    static func file(_ content: String, type: String, status: HTTPResponse.Status = .ok) -> Response {
        var headers: HTTPFields = [.contentType: "\(type); charset=utf-8", .xContentTypeOptions: "nosniff"]
        headers[.contentSecurityPolicy] =
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
            + "form-action 'none'; frame-ancestors 'none'"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: content)))
    }

    /// - Parameter message: words without characters that HTML gives a meaning.
    static func error(_ message: String, status: HTTPResponse.Status) -> Response {
        file(
            """
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <title>That did not work</title>
            <link rel="stylesheet" href="/page.css">
            <h1>That did not work</h1>
            <p>\(message)</p>
            <p><a href="/">Back to the start</a></p>
            </html>

            """, type: "text/html", status: status)
    }

    static let html = """
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width">
        <meta name="color-scheme" content="light dark">
        <title>Sign in</title>
        <link rel="stylesheet" href="page.css">
        <main>
        <section id="signed-out" hidden>
        <h1>Sign in without a password</h1>
        <form id="registration">
        <label for="name">Name</label>
        <input id="name" required maxlength="64" autocomplete="username webauthn">
        <button>Register</button>
        <button type="button" id="sign-in" class="primary">Sign in</button>
        </form>
        <p class="hint">A passkey signs in without a name. A security key that keeps no account needs it.</p>
        </section>
        <section id="signed-in" hidden>
        <h1>Hello, <span id="account"></span></h1>
        <h2>Your keys</h2>
        <ul id="keys"></ul>
        <p><button id="add">Add a key</button> <button id="sign-out">Sign out</button></p>
        </section>
        <output id="outcome" aria-live="polite"></output>
        <noscript>This page needs JavaScript.</noscript>
        </main>
        <script src="page.js"></script>
        </html>

        """

    static let style = """
        :root {
            color-scheme: light dark;
            --page: #f6f6f4; --card: #fff; --text: #1c1c1a; --faint: #5b5b57; --line: #d4d4cf; --accent: #1f5fbf;
            --on-accent: #fff; --error: #a3261b;
        }
        @media (prefers-color-scheme: dark) {
            :root {
                --page: #161615; --card: #222220; --text: #ecece8; --faint: #a9a9a2; --line: #41413d; --accent: #8ab4f8;
                --on-accent: #10213d; --error: #ff9d92;
            }
        }
        body {
            font: 1.1em/1.5 system-ui, sans-serif; margin: 0; padding: 2em 1em; background: var(--page); color: var(--text);
        }
        main { max-width: 32em; margin: 0 auto; padding: 1.5em 2em; background: var(--card); border: 1px solid var(--line);
            border-radius: 12px; }
        h1 { font-size: 1.5em; margin: 0 0 .8em; overflow-wrap: anywhere; }
        h2 { font-size: 1.1em; }
        label { display: block; color: var(--faint); }
        input, button {
            font: inherit; padding: .4em .9em; border: 1px solid var(--line); border-radius: 8px; background: var(--page);
            color: var(--text);
        }
        input { display: block; box-sizing: border-box; width: 100%; margin: .2em 0 1em; }
        button { cursor: pointer; }
        button.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
        button:focus-visible, input:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
        a { color: var(--accent); }
        .hint, .detail { color: var(--faint); font-size: .9em; }
        #keys { list-style: none; padding: 0; }
        #keys li { display: flex; gap: 1em; align-items: center; padding: .7em 0; border-top: 1px solid var(--line); }
        #keys li div { flex: 1; min-width: 0; overflow-wrap: anywhere; }
        output { display: block; margin-top: 1em; min-height: 3em; }
        output.error { color: var(--error); }

        """
}
