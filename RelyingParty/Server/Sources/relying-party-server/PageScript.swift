extension Page {
    static let script = """
        "use strict";
        const element = id => document.getElementById(id);
        const show = (text, isError = false) => {
            element("outcome").textContent = text;
            element("outcome").className = isError ? "error" : "";
        };

        async function send(path, content) {
            const request = content === undefined ? {} : { method: "POST", body: JSON.stringify(content) };
            const response = await fetch(path, request);
            const answer = await response.json().catch(() => ({}));
            if (!response.ok) throw new Error(answer.error?.message ?? "The site did not answer as it should. Try again.");
            return answer;
        }

        // What browsers say of WebAuthn is for programmers.
        const words = {
            NotAllowedError: "It was cancelled, it took too long, or there is no key for this site.",
            InvalidStateError: "This key is registered already.",
            SecurityError: "The browser does not allow keys on this address.",
            NotSupportedError: "The browser or the key cannot do this.",
            TypeError: "The site cannot be reached. Try again.",
        };
        const fail = error => show(`That did not work. ${words[error.name] ?? error.message}`, true);

        // The list of passkeys in the field for the name. Another ceremony ends it.
        let waiting = null;
        function stopAutofill() {
            waiting?.abort();
            waiting = null;
        }

        async function startAutofill() {
            stopAutofill();
            if (!await window.PublicKeyCredential?.isConditionalMediationAvailable?.()) return;
            const controller = waiting = new AbortController();
            try {
                const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(await send("sign-in/options", {}));
                if (controller.signal.aborted) return;
                const credential = await navigator.credentials.get(
                    { mediation: "conditional", signal: controller.signal, publicKey });
                await finish("sign-in", credential);
            } catch (error) {
                if (!controller.signal.aborted) fail(error);
            }
        }

        async function finish(path, credential) {
            const outcome = await send(path, credential.toJSON());
            await refresh();
            show(`${outcome.name}: ${outcome.message}`);
        }

        async function ceremony(path, content, ask) {
            stopAutofill();
            show("Use your passkey or security key.");
            try {
                await finish(path, await ask(await send(path + "/options", content)));
            } catch (error) {
                fail(error);
                if (!element("signed-out").hidden) startAutofill();
            }
        }

        const create = options => navigator.credentials.create(
            { publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) });
        const get = options => navigator.credentials.get(
            { publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });

        // Runs an action of somebody who is signed in.
        async function change(path, content, message) {
            try {
                const answer = await send(path, content);
                await refresh();
                show(message);
                return answer;
            } catch (error) {
                fail(error);
            }
        }

        const day = seconds => new Date(seconds * 1000).toLocaleDateString();

        function row(key) {
            const [item, text, detail] = ["li", "div", "div"].map(name => document.createElement(name));
            const [rename, remove] = ["Rename", "Remove"].map(name => {
                const button = document.createElement("button");
                button.textContent = name;
                button.setAttribute("aria-label", `${name} ${key.name}`);
                return button;
            });
            text.textContent = key.name;
            detail.className = "detail";
            detail.textContent = [
                key.creation === undefined ? "" : `added ${day(key.creation)}`,
                key.lastUse === undefined ? "never used" : `last used ${day(key.lastUse)}`,
                key.isBackedUp ? "on several devices" : "on one device",
            ].filter(Boolean).join(", ");
            text.append(detail);
            rename.addEventListener("click", () => {
                const name = prompt("Name of this key", key.name)?.trim();
                if (name) change("keys/rename", { id: key.id, name }, "The key has a new name.");
            });
            remove.addEventListener("click", async () => {
                const accepted = await change("keys/remove", { id: key.id }, "The key was removed.");
                // Passkey managers then forget it.
                if (accepted) await PublicKeyCredential.signalAllAcceptedCredentials?.(accepted).catch(() => {});
            });
            item.append(text, rename, remove);
            return item;
        }

        async function refresh() {
            const account = await send("account");
            const isSignedIn = account.name !== undefined;
            element("signed-in").hidden = !isSignedIn;
            element("signed-out").hidden = isSignedIn;
            element("account").textContent = account.name ?? "";
            element("keys").replaceChildren(...(account.keys ?? []).map(row));
        }

        element("registration").addEventListener("submit", event => {
            event.preventDefault();
            ceremony("registration", { name: element("name").value }, create);
        });
        element("sign-in").addEventListener("click", () => ceremony("sign-in", { name: element("name").value }, get));
        element("add").addEventListener("click", () => ceremony("keys", {}, create));
        element("sign-out").addEventListener("click", async () => {
            if (await change("sign-out", {}, "Signed out.")) startAutofill();
        });

        if (window.PublicKeyCredential?.parseCreationOptionsFromJSON) {
            refresh().then(() => { if (!element("signed-out").hidden) startAutofill(); }, fail);
        } else {
            show("This browser is too old for this page.", true);
        }

        """
}
