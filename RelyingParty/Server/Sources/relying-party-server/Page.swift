import HTTPTypes
import Hummingbird
import NIOCore

/// The page for a browser: one form and one button, and the calls of WebAuthn. Nothing comes from another site, and nothing
/// within the page is run.
enum Page {
    static func file(_ content: String, type: String) -> Response {
        var headers: HTTPFields = [.contentType: "\(type); charset=utf-8", .xContentTypeOptions: "nosniff"]
        headers[.contentSecurityPolicy] =
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
            + "form-action 'none'; frame-ancestors 'none'"
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: content)))
    }

    static let html = """
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width">
        <title>Sign in</title>
        <link rel="stylesheet" href="page.css">
        <h1>Sign in without a password</h1>
        <form id="registration">
        <label>Name <input id="name" required maxlength="64" autocomplete="username"></label>
        <button>Register</button>
        </form>
        <p><button id="sign-in">Sign in</button> A security key without passkeys needs the name.</p>
        <output id="outcome" aria-live="polite"></output>
        <script src="page.js"></script>
        </html>

        """

    static let style = """
        body { font: 1.1em/1.5 system-ui, sans-serif; max-width: 30em; margin: 3em auto; padding: 0 1em; }
        input, button { font: inherit; padding: .4em .8em; }
        output { display: block; margin-top: 1.5em; min-height: 3em; }

        """

    static let script = """
        "use strict";
        const element = id => document.getElementById(id);
        const show = text => { element("outcome").textContent = text; };

        async function send(path, content) {
            const response = await fetch(path, { method: "POST", body: JSON.stringify(content) });
            const answer = await response.json().catch(() => ({}));
            if (!response.ok) throw new Error(answer.error?.message ?? response.statusText);
            return answer;
        }

        async function ceremony(path, content, ask) {
            show("Use your passkey or security key.");
            try {
                const credential = await ask(await send(path + "/options", content));
                const outcome = await send(path, credential.toJSON());
                show(`${outcome.name}: ${outcome.message}`);
            } catch (error) {
                show(`That did not work. ${error.message}`);
            }
        }

        element("registration").addEventListener("submit", event => {
            event.preventDefault();
            ceremony("registration", { name: element("name").value }, options => navigator.credentials.create({
                publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) }));
        });
        element("sign-in").addEventListener("click", () => {
            ceremony("sign-in", { name: element("name").value }, options => navigator.credentials.get({
                publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) }));
        });
        if (!window.PublicKeyCredential?.parseCreationOptionsFromJSON) show("This browser is too old for this page.");

        """
}
