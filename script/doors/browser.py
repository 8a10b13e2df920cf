"""Runs Chromium once, with the Secret Service for its key: browser.py PROFILE save|read.

`save` keeps a password and a cookie with an expiry date, as a person's clicks and a website's answer would. `read` prints both, or `none` for
each that the browser cannot decrypt. The browser ends as by its menu.
"""

import itertools
import json
import os
import selectors
import shutil
import subprocess
import sys
import time

DEADLINE = 240
# For what may not be there.
PATIENCE = 30
SITE, USER, PASSWORD, COOKIE = "https://example.com/", "me", "a password of mine", "a cookie of mine"


class Chromium:
    """The browser, and a page of it, through the pipes of the DevTools protocol: descriptor 3 of the browser for commands, 4 for answers."""

    def __init__(self, profile):
        program = shutil.which("chromium") or sys.exit("chromium is missing")
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()

        def prepare():
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        # The sandbox refuses root, and a container may lack its needs. No page of the net is loaded.
        self.process = subprocess.Popen(
            [program, f"--user-data-dir={profile}", "--password-store=gnome-libsecret", "--remote-debugging-pipe", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=prepare, pass_fds=(3, 4),
        )
        os.close(commands)
        os.close(answers)
        self.buffer = b""
        self.numbers = itertools.count(1)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.answers, selectors.EVENT_READ)

    def call(self, method, session=None, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while (answer := self.receive()).get("id") != number:
            pass
        if "error" in answer:
            sys.exit(f"{method}: {answer['error']}")
        return answer["result"]

    def receive(self):
        deadline = time.monotonic() + DEADLINE
        while b"\0" not in self.buffer:
            if not self.selector.select(deadline - time.monotonic()):
                sys.exit("chromium does not answer")
            part = os.read(self.answers, 65536)
            if not part:
                sys.exit("chromium has ended")
            self.buffer += part
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def page(self, address):
        target = self.call("Target.createTarget", url=address)["targetId"]
        return self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def run(self, session, script):
        """What a promise of a script gives."""
        answer = self.call("Runtime.evaluate", session, expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            sys.exit(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def passwords(self):
        """A page with the calls of the browser's own page of passwords."""
        session = self.page("chrome://password-manager/passwords")
        deadline = time.monotonic() + DEADLINE
        while not self.run(session, "Promise.resolve(typeof chrome.passwordsPrivate === 'object')"):
            if time.monotonic() > deadline:
                sys.exit("the page of passwords does not come")
            time.sleep(0.1)
        return session

    def end(self):
        self.call("Browser.close")
        self.process.wait(DEADLINE)


def save(chromium):
    options = json.dumps({"url": SITE, "username": USER, "password": PASSWORD, "note": "", "useAccountStore": False})
    chromium.run(chromium.passwords(), f"chrome.passwordsPrivate.addPassword({options})")
    chromium.call("Storage.setCookies", cookies=[
        {"name": "session", "value": COOKIE, "url": SITE, "secure": True, "expires": time.time() + 86400}
    ])


def read(chromium):
    session = chromium.passwords()
    # The browser reads its list after it shows the page.
    found, deadline = [], time.monotonic() + PATIENCE
    while not found and time.monotonic() < deadline:
        found = chromium.run(session, """(async () => {
            const groups = await chrome.passwordsPrivate.getCredentialGroups();
            const ids = groups.flatMap(group => group.entries.map(entry => entry.id));
            const details = ids.length ? await chrome.passwordsPrivate.requestCredentialsDetails(ids) : [];
            return details.map(entry => `${entry.username}: ${entry.password}`);
        })()""")
        time.sleep(0.1)
    cookies = [each["value"] for each in chromium.call("Storage.getCookies")["cookies"] if each["name"] == "session"]
    print(f"password {', '.join(found) or 'none'}")
    print(f"cookie {', '.join(cookies) or 'none'}")


if __name__ == "__main__":
    browser = Chromium(sys.argv[1])
    try:
        {"save": save, "read": read}[sys.argv[2]](browser)
        browser.end()
    finally:
        browser.process.kill()
