"""A browser of python-fido2 on the example server: it registers, signs in, and makes requests that must be refused.

Reads the path of the server's program as JSON. Prints a list of steps with the status and the text of the server's answers.
"""

import json
import os
import sys
import tempfile

from fido2.utils import websafe_encode
from fido2.webauthn import PublicKeyCredentialCreationOptions, PublicKeyCredentialRequestOptions
from server import Browser, running
from software_key import SoftwareKey, client

steps = []


def step(name, answer):
    steps.append({"name": name, "status": answer[0], "text": answer[1]})


def created(browser, key, name):
    """The answer of a page with a new credential."""
    options = PublicKeyCredentialCreationOptions.from_dict(browser.options("/registration", {"name": name}))
    return dict(client(key, browser.origin).make_credential(options))


def signed(browser, key, origin=None, name=""):
    """The answer of a page to a sign-in. A page of another origin has a client that does not refuse it."""
    options = PublicKeyCredentialRequestOptions.from_dict(browser.options("/sign-in", {"name": name}))
    selection = client(key, origin or browser.origin, trusting=origin is not None).get_assertion(options)
    return dict(selection.get_response(0))


def changed(answer, member, index):
    """The answer with another character in one of its members: each stands within a signature."""
    text = answer["response"][member]
    other = text[:index] + ("B" if text[index] == "A" else "A") + text[index + 1 :]
    return {**answer, "response": {**answer["response"], member: other}}


def added(browser, key):
    """The answer of a page that adds a key to the account."""
    options = PublicKeyCredentialCreationOptions.from_dict(browser.options("/keys"))
    return dict(client(key, browser.origin).make_credential(options))


def pages(browser, key):
    """Pages that are not the site's make the browser of somebody who is signed in ask for changes."""
    sister = {"Origin": "http://localhost:9999", "Sec-Fetch-Site": "same-site", "Content-Type": "text/plain"}
    for path in ("/keys/remove", "/keys/rename", "/sign-out", "/keys/options", "/sign-in/options"):
        step(f"sister's {path}", browser.send(path, {"id": key, "name": "mine"}, page=sister))
    step("page that hides its origin", browser.send("/keys/remove", {"id": key}, page={"Origin": "null"}))
    step("page of an old browser", browser.send("/keys/remove", {"id": key}, page={}))
    step("after other pages", browser.send("/account"))


def keys(browser, key, other):
    """Somebody who is signed in adds, names and removes keys."""
    account = browser.send("/account")
    step("account", account)
    first = json.loads(account[1])["keys"][0]["id"]
    step("last key", browser.send("/keys/remove", {"id": first}))
    spare = SoftwareKey()
    step("key is added", browser.send("/keys", added(browser, spare)))
    ids = [each["id"] for each in json.loads(browser.send("/account")[1])["keys"]]
    step("keys", (200, str(len(ids))))
    added_id = next(each for each in ids if each != first)
    pages(browser, added_id)
    step("key is named", browser.send("/keys/rename", {"id": added_id, "name": "blue key"}))
    step("name is shown", browser.send("/account"))
    step("long name of a key", browser.send("/keys/rename", {"id": added_id, "name": "a" * 257}))
    step("name of a foreign key", browser.send("/keys/rename", {"id": websafe_encode(b"x"), "name": "b"}))
    step("foreign key", browser.send("/keys/remove", {"id": websafe_encode(b"x")}))
    # A registration that began for a new account adds no key to this one.
    step("key of another account", browser.send("/keys", created(browser, SoftwareKey(), "zoe")))
    # Somebody signed in with the key that goes.
    step("sign-in with the key that goes", other.send("/sign-in", signed(other, spare)))
    step("key is removed", browser.send("/keys/remove", {"id": added_id}))
    step("session of the removed key", other.send("/account"))
    step("session of who removed it", browser.send("/account"))
    step("removed key", browser.send("/sign-in", signed(browser, spare)))
    old = dict(browser.cookies)
    step("sign-out", browser.send("/sign-out", {}))
    browser.cookies = old
    step("account after the sign-out", browser.send("/account"))


def play(port):
    browser, key = Browser(port), SoftwareKey()
    for path in ("/", "/page.js", "/page.css"):
        step(path, browser.send(path))
    step("other page", browser.send("/../Package.swift"))
    step("other page for a person", browser.send("/nothing", accept="text/html"))
    step("nobody's account", browser.send("/account"))
    for path in ("/keys/options", "/keys", "/keys/rename", "/keys/remove"):
        step(f"nobody's {path}", browser.send(path, {}))

    registration = created(browser, key, "ann")
    step("registration", browser.send("/registration", registration))
    step("registration again", browser.send("/registration", registration))
    step("name is taken", browser.send("/registration/options", {"name": "ann"}))
    step("no name", browser.send("/registration/options", {"name": ""}))
    step("long name", browser.send("/registration/options", {"name": "a" * 65}))
    step("name is no text", browser.send("/registration/options", {"name": 1}))
    step("changed attestation", browser.send(
        "/registration", changed(created(browser, SoftwareKey(), "eve"), "attestationObject", 80)))

    # Two begin with the same name; the first to end gets it, and the other gets no way into the account.
    first, second, thief = Browser(port), Browser(port), SoftwareKey()
    slow = created(second, thief, "bob")
    step("name in a race", first.send("/registration", created(first, SoftwareKey(), "bob")))
    step("lost race", second.send("/registration", slow))
    step("sign-in after a lost race", second.send("/sign-in", signed(second, thief)))

    keys(browser, key, second)

    answer = signed(browser, key)
    step("sign-in", browser.send("/sign-in", answer))
    first = dict(browser.cookies)
    step("second sign-in", browser.send("/sign-in", signed(browser, key)))
    second, browser.cookies = dict(browser.cookies), first
    step("session before the second sign-in", browser.send("/account"))
    # Another host of the domain sets such a cookie: a blank of three bytes before the name.
    browser.cookies = {"\xe2\x80\x80signed-in": second["signed-in"]}
    step("cookie of another name", browser.send("/account"))
    browser.cookies = second
    step("cookie of this name", browser.send("/account"))
    step("replay", browser.send("/sign-in", answer))
    browser.options("/sign-in")
    step("replay with an open challenge", browser.send("/sign-in", answer))
    step("other origin", browser.send("/sign-in", signed(browser, key, "http://localhost:1")))
    step("changed signature", browser.send("/sign-in", changed(signed(browser, key), "signature", 60)))
    step("registration's answer", browser.send("/sign-in", created(browser, SoftwareKey(), "dan")))
    step("sign-in by name", browser.send("/sign-in", signed(browser, key, name="ann")))
    step("sign-in by an unknown name", browser.send("/sign-in", signed(browser, key, name="nobody")))
    step("sign-in by another's name", browser.send("/sign-in", signed(browser, key, name="bob")))
    last, key.counter, key.step = key.counter, 1, 0
    step("counter back", browser.send("/sign-in", signed(browser, key)))
    key.counter = 0
    step("counter at zero", browser.send("/sign-in", signed(browser, key)))
    key.counter, key.step = last, 1
    stranger = SoftwareKey()
    created(browser, stranger, "tom")
    step("unknown credential", browser.send("/sign-in", signed(browser, stranger)))
    other = Browser(port)
    other.options("/sign-in")
    step("other browser", other.send("/sign-in", signed(browser, key)))
    step("no cookie", Browser(port).send("/sign-in", signed(browser, key)))
    answer = signed(browser, key)
    step("other credential's name", browser.send("/sign-in", {**answer, "rawId": websafe_encode(b"x" * 32)}))
    step("no answer", browser.send("/sign-in", {}))
    step("no JSON", browser.send("/sign-in", b"\xff"))
    step("long answer", browser.send("/sign-in", b"x" * 140_000))
    step("longer answer", browser.send("/sign-in", b"x" * 300_000))
    step("sign-in after all", browser.send("/sign-in", signed(browser, key)))
    return key, answer


program = json.load(sys.stdin)
with tempfile.TemporaryDirectory() as folder:
    store = os.path.join(folder, "store.sqlite")
    with running(program, "--store", store) as port:
        key, last = play(port)
    with running(program, "--store", store) as port:
        browser = Browser(port)
        step("replay after a restart", browser.send("/sign-in", last))
        # The port is another one, and with it the origin.
        step("sign-in after a restart", browser.send("/sign-in", signed(browser, key)))
        step("name is taken after a restart", browser.send("/registration/options", {"name": "ann"}))
json.dump(steps, sys.stdout)
