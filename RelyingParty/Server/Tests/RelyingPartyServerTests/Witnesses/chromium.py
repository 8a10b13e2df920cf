"""Headless Chromium on the example server's page, with the virtual authenticator of its developer tools.

Reads the path of the server's program as JSON. Prints a list of steps: the text that the page shows, or the server's answer.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

import websocket
from server import Browser, running

DEADLINE = 120
steps = []


def step(name, text, status=200):
    steps.append({"name": name, "status": status, "text": text})


class Chromium:
    def __init__(self, folder):
        program = shutil.which("chromium") or sys.exit("chromium is missing. Run script/setup test.")
        # The sandbox refuses root, and a container may lack its needs. Chromium loads pages of localhost only.
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--remote-debugging-port=0", f"--user-data-dir={folder}"]
        self.process = subprocess.Popen([program, *arguments, "about:blank"], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env={**os.environ, "HOME": folder})
        port = self.wait(lambda: self.port(os.path.join(folder, "DevToolsActivePort")))
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=DEADLINE) as answer:
            page = next(target for target in json.load(answer) if target["type"] == "page")
        self.socket = websocket.create_connection(page["webSocketDebuggerUrl"], timeout=DEADLINE, suppress_origin=True)
        self.number = 0

    @staticmethod
    def port(path):
        try:
            with open(path) as file:
                return int(file.readline())
        except (FileNotFoundError, ValueError):
            return None

    @staticmethod
    def wait(condition):
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            if value := condition():
                return value
            time.sleep(0.05)
        raise SystemExit("chromium did not get there")

    def call(self, method, **parameters):
        """One command of the DevTools protocol. Events are left out."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]

    def run(self, script):
        """The value of a script, which may be a promise. It runs as if the person had just clicked."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in result:
            return result["exceptionDetails"]["exception"].get("description", "")
        return result["result"].get("value")

    def load(self, address):
        self.call("Page.navigate", url=address)
        self.wait(lambda: self.run(f"location.href.startsWith({json.dumps(address)}) && document.readyState") == "complete")

    def outcome(self, click):
        """The last outcome on the page, after this script began a ceremony."""
        self.run("document.getElementById('outcome').textContent = ''; " + click)
        return self.wait(lambda: self.run("(text => text.startsWith('Use ') ? '' : text)(document.getElementById('outcome').textContent)"))

    def sign_out(self):
        return self.outcome("document.getElementById('sign-out').click()")

    def without_autofill(self):
        """Pages that are loaded from now on offer no list: the virtual authenticator would sign in at once."""
        self.call("Page.addScriptToEvaluateOnNewDocument",
                  source="PublicKeyCredential.isConditionalMediationAvailable = async () => false")

    def keys(self):
        return self.run("[...document.querySelectorAll('#keys li')].map(item => item.firstChild.textContent).join(' | ')")

    def register(self, name):
        return self.outcome(
            f"document.getElementById('name').value = {json.dumps(name)};"
            "document.querySelector('#registration button').click()")

    def sign_in(self):
        return self.outcome("document.getElementById('sign-in').click()")

    def error(self, address):
        self.load(address)
        return self.run("document.body.innerText.replace(/\\s+/g, ' ')")

    def colours(self, address, scheme):
        """Whether the page's text is lighter than its ground."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.load(address)
        return self.run(
            "(style => { const sum = colour => colour.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0);"
            "return sum(style.color) > sum(style.backgroundColor) ? 'light on dark' : 'dark on light'; })"
            "(getComputedStyle(document.body))")

    def end(self):
        self.process.kill()
        self.process.wait()


def authenticator(chromium, **options):
    return chromium.call("WebAuthn.addVirtualAuthenticator", options={
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
        "isUserVerified": True, "automaticPresenceSimulation": True, **options})["authenticatorId"]


def play(chromium, port, other_port):
    chromium.call("Page.enable")
    chromium.call("WebAuthn.enable")
    chromium.without_autofill()
    passkey = authenticator(chromium)
    chromium.load(f"http://localhost:{port}/")
    step("page", chromium.run("document.title + document.getElementById('outcome').textContent"))
    step("registration", chromium.register("ann"))
    step("keys", chromium.keys())
    step("sign-out", chromium.sign_out())
    step("sign-in", chromium.sign_in())
    step("used key", chromium.keys())
    step("last key", chromium.outcome("document.querySelector('#keys li button:last-child').click()"))
    step("same key again", chromium.outcome("document.getElementById('add').click()"))
    spare = authenticator(chromium, transport="usb")
    # The key that is registered would answer, too.
    chromium.call("WebAuthn.setAutomaticPresenceSimulation", authenticatorId=passkey, enabled=False)
    step("key is added", chromium.outcome("document.getElementById('add').click()"))
    chromium.call("WebAuthn.setAutomaticPresenceSimulation", authenticatorId=passkey, enabled=True)
    step("name", chromium.outcome(
        "window.prompt = () => '<b>blue</b>'; document.querySelector('#keys li:last-child button').click()"))
    step("both keys", chromium.keys())
    step("key is removed", chromium.outcome("document.querySelector('#keys li:last-child button:last-child').click()"))
    step("key that stays", chromium.keys())

    # A page at another port of the same site, whose requests have the cookie. It may ask other sites, unlike this one's.
    chromium.call("Page.setBypassCSP", enabled=True)
    chromium.load(f"http://localhost:{other_port}/")
    step("answer for another port", chromium.run(
        f"fetch('http://localhost:{port}/sign-out', {{method: 'POST', mode: 'no-cors', credentials: 'include', body: '{{}}'}})"
        ".then(r => r.type, e => e.message)"))
    chromium.call("Page.setBypassCSP", enabled=False)
    chromium.load(f"http://localhost:{port}/")
    step("account after another port's page", chromium.run("fetch('account').then(r => r.text())"))

    chromium.call("WebAuthn.removeVirtualAuthenticator", authenticatorId=spare)
    chromium.sign_out()
    step("name is taken", chromium.register("ann"))
    step("long name", chromium.run(
        "fetch('registration/options', {method: 'POST', body: JSON.stringify({name: 'a'.repeat(65)})}).then(r => r.text())"))

    # The page of another site has the options of this one. Chromium lets it ask, because the domain is the same.
    browser = Browser(port)
    options = browser.options("/sign-in")
    chromium.load(f"http://localhost:{other_port}/")
    stolen = chromium.run(
        "navigator.credentials.get({publicKey: PublicKeyCredential.parseRequestOptionsFromJSON("
        f"{json.dumps(options)})}}).then(c => JSON.stringify(c.toJSON()))")
    status, text = browser.send("/sign-in", stolen.encode())
    step("other origin", text, status)

    # A copy of the passkey with an older counter.
    chromium.load(f"http://localhost:{port}/")
    credential = chromium.call("WebAuthn.getCredentials", authenticatorId=passkey)["credentials"][0]
    chromium.call("WebAuthn.removeCredential", authenticatorId=passkey, credentialId=credential["credentialId"])
    step("counter on the authenticator", str(credential["signCount"] > 1))
    chromium.call("WebAuthn.addCredential", authenticatorId=passkey, credential={**credential, "signCount": 0})
    step("counter back", chromium.sign_in())
    step("error page", chromium.error(f"http://localhost:{port}/nothing"))
    step("dark page", chromium.colours(f"http://localhost:{port}/", "dark"))
    step("light page", chromium.colours(f"http://localhost:{port}/", "light"))

    # A security key that keeps no account: it signs in by the name in the form.
    chromium.call("WebAuthn.removeVirtualAuthenticator", authenticatorId=passkey)
    authenticator(chromium, transport="usb", hasResidentKey=False, hasUserVerification=False, isUserVerified=False)
    step("security key", chromium.register("bob"))
    chromium.sign_out()
    chromium.run("document.getElementById('name').value = 'bob'")
    step("sign-in with a security key", chromium.sign_in())
    step("content of other sites", chromium.run("fetch('http://127.0.0.1:9/').then(() => 'loaded', e => e.message)"))


program = json.load(sys.stdin)
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, running(program) as port, running(program) as other:
    chromium = Chromium(folder)
    try:
        play(chromium, port, other)
    finally:
        chromium.end()
json.dump(steps, sys.stdout)
