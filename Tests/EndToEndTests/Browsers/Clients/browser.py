"""Plays one scene with python-fido2 as the browser: browser.py PROGRAM PASSCODE SCENE [COMMAND DAEMON OPTION...]."""

import os
import secrets
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

from fido2.client import DefaultClientDataCollector, Fido2Client, UserInteraction
from fido2.cose import CoseKey
from fido2.ctap import CtapError
from fido2.ctap2 import ClientPin, CredentialManagement, Ctap2
from fido2.ctap2.extensions import HmacSecretExtension
from fido2.hid import CTAPHID
from fido2.server import Fido2Server
from fido2.webauthn import AuthenticatorData, PublicKeyCredentialRpEntity

from played_kernel import Device

PROGRAM, PASSCODE, SCENE, *REST = sys.argv[1:]
RP = {"id": "example.com", "name": "Example"}
HASH = secrets.token_bytes(32)
ES256 = [{"type": "public-key", "alg": -7}]
ERR = CtapError.ERR
FLAG = AuthenticatorData.FLAG


def user(number):
    return {"id": bytes([number]) * 16, "name": f"user{number}", "displayName": f"User {number}"}


def refused(code, function, *arguments, **names):
    try:
        function(*arguments, **names)
    except CtapError as error:
        assert error.code == code, f"{error} instead of {code!r}"
        return
    raise AssertionError(f"not refused with {code!r}")


class Person(UserInteraction):
    def request_uv(self, permissions, rp_id):
        return True


def browser(device):
    return Fido2Client(
        device.client(), DefaultClientDataCollector("https://example.com"), user_interaction=Person(),
        extensions=[HmacSecretExtension(allow_hmac_secret=True)],
    )


def register(ctap, number=1, exclude=None, relying_party=RP):
    answer = ctap.make_credential(HASH, relying_party, user(number), ES256, exclude, None, {"rk": True, "uv": True})
    data = answer.auth_data
    CoseKey.parse(data.credential_data.public_key).verify(data + HASH, answer.att_stmt["sig"])
    assert data.flags & FLAG.UP and data.flags & FLAG.UV, data.flags
    assert not data.flags & FLAG.BE and not data.flags & FLAG.BS, data.flags
    return data.credential_data


def descriptor(credential):
    return {"type": "public-key", "id": credential.credential_id}


def on_thread(function):
    """Runs a call beside this thread; gives the thread and what comes of it."""
    outcome = []

    def run():
        try:
            outcome.append(function())
        except (CtapError, OSError) as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, outcome


# Scenes


def relying_party():
    """Registered and signed in through python-fido2's client, checked by its relying party."""
    device = Device(PROGRAM, PASSCODE)
    assert (device.name, device.place, device.bus) == (b"Ostiary passkeys", b"ostiary/passkeys", 3)
    assert device.form[:7] == bytes.fromhex("06d0f1 0901 a101"), device.form.hex()
    server = Fido2Server(PublicKeyCredentialRpEntity.from_dict(RP), attestation="direct")
    person = browser(device)
    options, state = server.register_begin(
        user(1), user_verification="required", resident_key_requirement="required"
    )
    registered = person.make_credential(options.public_key)
    data = server.register_complete(state, registered)
    assert data.is_user_verified() and data.counter == 1
    for text in (PROGRAM, "example.com", "in a browser: make a passkey"):
        assert device.shows(text), (text, device.screen)
    for counter in (2, 3):
        device.forget()
        options, state = server.authenticate_begin(user_verification="required")
        chosen = person.get_assertion(options.public_key).get_response(0)
        server.authenticate_complete(state, [data.credential_data], chosen)
        assert chosen.response.authenticator_data.counter == counter
        assert chosen.response.user_handle == user(1)["id"]
        for text in ("example.com", "in a browser: sign in with a passkey"):
            assert device.shows(text), (text, device.screen)
    device.close()


def accounts():
    """Two accounts, one question; the next assertion counts and signs, too."""
    device = Device(PROGRAM, PASSCODE)
    ctap = Ctap2(device.client())
    made = [register(ctap, number) for number in (1, 2)]
    assert device.shows("make a passkey for the account") and device.shows("user2"), device.screen
    device.forget()
    first = ctap.get_assertion(RP["id"], HASH, options={"uv": True})
    assert first.number_of_credentials == 2
    asked = device.screen.count("asscode: ")
    second = ctap.get_next_assertion()
    assert asked == 1 == device.screen.count("asscode: "), device.screen
    assert {first.user["id"], second.user["id"]} == {user(1)["id"], user(2)["id"]}
    for answer in (first, second):
        credential = next(each for each in made if each.credential_id == answer.credential["id"])
        answer.verify(HASH, CoseKey.parse(credential.public_key))
        assert answer.auth_data.counter == 2 and answer.auth_data.flags & FLAG.UV
    refused(ERR.NOT_ALLOWED, ctap.get_next_assertion)
    # The second account again: one passkey is replaced, and not added. The question says so.
    device.forget()
    register(ctap, 2)
    for text in ("replace a passkey, which destroys the one of the account", "user2"):
        assert device.shows(text), (text, device.screen)
    assert ctap.get_assertion(RP["id"], HASH, options={"uv": True}).number_of_credentials == 2
    ctap.get_info()
    refused(ERR.NOT_ALLOWED, ctap.get_next_assertion)
    refused(ERR.CREDENTIAL_EXCLUDED, register, ctap, 3, [descriptor(made[0])])
    device.close()


def openssh():
    """A relying party that is no domain, with two keys that the client lists itself, as ssh-keygen makes them."""
    device = Device(PROGRAM, PASSCODE)
    ctap = Ctap2(device.client())
    made = []
    for _ in range(2):
        answer = ctap.make_credential(HASH, {"id": "ssh:"}, {"id": bytes(32), "name": "openssh"}, ES256)
        made.append(answer.auth_data.credential_data)
    assert made[0].credential_id != made[1].credential_id
    for credential in made:
        answer = ctap.get_assertion("ssh:", HASH, [descriptor(credential)])
        answer.verify(HASH, CoseKey.parse(credential.public_key))
        assert answer.auth_data.flags & FLAG.UP and answer.auth_data.flags & FLAG.UV
        assert answer.number_of_credentials is None
    assert device.shows("ssh:"), device.screen
    device.close()


def keys_of_relying_parties():
    """A passkey for ssh, and one of a website."""
    device = Device(PROGRAM, PASSCODE)
    ctap = Ctap2(device.client())
    register(ctap, relying_party={"id": "ssh:"})
    register(ctap)
    device.close()


def management():
    device = Device(PROGRAM, PASSCODE)
    ctap = Ctap2(device.client())
    info = ctap.info
    assert info.options == {
        "rk": True, "up": True, "plat": False, "alwaysUv": True, "credMgmt": True, "uv": True, "pinUvAuthToken": True,
    }, info.options
    assert info.transports == ["internal", "usb"] and info.pin_uv_protocols == [2, 1], info
    made = [register(ctap, number) for number in (1, 2)]
    pins = ClientPin(ctap)
    device.forget()
    token = pins.get_uv_token(ClientPin.PERMISSION.CREDENTIAL_MGMT)
    for text in ("in a browser: see, rename and remove passkeys", "all passkeys of this machine"):
        assert device.shows(text), (text, device.screen)
    manager = CredentialManagement(ctap, pins.protocol, token)
    assert manager.get_metadata()[1] == 2
    (party,) = manager.enumerate_rps()
    assert party[3]["id"] == RP["id"], party
    found = manager.enumerate_creds(party[4])
    assert {each[7]["id"] for each in found} == {each.credential_id for each in made}
    manager.update_user_info(found[0][7], user(found[0][6]["id"][0]) | {"displayName": "Ada"})
    assert "Ada" in [each[6]["displayName"] for each in manager.enumerate_creds(party[4])]
    manager.delete_cred(descriptor(made[0]))
    refused(ERR.NO_CREDENTIALS, manager.delete_cred, descriptor(made[0]))
    assert manager.get_metadata()[1] == 1
    assert device.screen.count("asscode: ") == 1, device.screen
    # A token for one thing is none for another.
    other = CredentialManagement(ctap, pins.protocol, pins.get_uv_token(ClientPin.PERMISSION.GET_ASSERTION, RP["id"]))
    refused(ERR.PIN_AUTH_INVALID, other.get_metadata)
    device.close()


def channels():
    """Each program that opened the device has lists and tokens of its own."""
    device = Device(PROGRAM, PASSCODE)
    first, second = Ctap2(device.client()), Ctap2(device.client())
    for number in (1, 2):
        register(first, number)
    register(first, 1, relying_party={"id": "example.org", "name": "Other"})
    mine = first.get_assertion(RP["id"], HASH, options={"uv": True})
    assert mine.number_of_credentials == 2
    refused(ERR.NOT_ALLOWED, second.get_next_assertion)
    second.get_info()
    # The other program has neither gone on with the list nor ended it.
    assert first.get_next_assertion().user["id"] != mine.user["id"]
    pins = ClientPin(first)
    token = pins.get_uv_token(ClientPin.PERMISSION.CREDENTIAL_MGMT)
    manager, other = (CredentialManagement(ctap, pins.protocol, token) for ctap in (first, second))
    assert manager.enumerate_rps_begin()[5] == 2
    refused(ERR.NOT_ALLOWED, other.enumerate_rps_next)
    refused(ERR.PIN_AUTH_INVALID, other.get_metadata)
    manager.enumerate_rps_next()
    # A program that opens the device again and again takes a place from the one that used it last of all.
    for _ in range(8):
        assert manager.get_metadata()[1] == 3
        Ctap2(device.client())
    assert manager.get_metadata()[1] == 3
    for _ in range(8):
        Ctap2(device.client())
    refused(ERR.PIN_AUTH_INVALID, manager.get_metadata)
    register(first, 3)
    device.close()


def secrets_of_credentials():
    """hmac-secret gives the same output for the same salt, and asks."""
    device = Device(PROGRAM, PASSCODE)
    person = browser(device)
    server = Fido2Server(PublicKeyCredentialRpEntity.from_dict(RP))
    options, state = server.register_begin(user(1), user_verification="required", resident_key_requirement="required")
    created = person.make_credential({**options.public_key, "extensions": {"prf": {}}})
    assert created.client_extension_results["prf"]["enabled"] is True
    credential = server.register_complete(state, created).credential_data
    outputs = []
    for salt in (b"a" * 32, b"a" * 32, b"b" * 32):
        options, state = server.authenticate_begin([credential], user_verification="required")
        answer = person.get_assertion({**options.public_key, "extensions": {"hmacGetSecret": {"salt1": salt}}})
        outputs.append(answer.get_response(0).client_extension_results["hmacGetSecret"]["output1"])
    assert outputs[0] == outputs[1] != outputs[2] and len(set(outputs)) == 2
    device.close()


def tokens():
    """What one proof gives: one signature, and none without being asked again."""
    device = Device(PROGRAM, PASSCODE)
    ctap = Ctap2(device.client())
    pins = ClientPin(ctap)
    register(ctap)
    token = pins.get_uv_token(ClientPin.PERMISSION.GET_ASSERTION, RP["id"])
    code = pins.protocol.authenticate(token, HASH)
    arguments = dict(pin_uv_param=code, pin_uv_protocol=pins.protocol.VERSION)
    refused(ERR.PIN_AUTH_INVALID, ctap.get_assertion, "example.org", HASH, **arguments)
    wrong = {**arguments, "pin_uv_param": bytes(len(code))}
    refused(ERR.PIN_AUTH_INVALID, ctap.get_assertion, RP["id"], HASH, **wrong)
    device.forget()
    ctap.get_assertion(RP["id"], HASH, **arguments)
    assert device.screen.count("asscode: ") == 0, device.screen
    refused(ERR.PIN_AUTH_INVALID, ctap.get_assertion, RP["id"], HASH, **arguments)
    # Locking ends what was proved before.
    token = pins.get_uv_token(ClientPin.PERMISSION.GET_ASSERTION, RP["id"])
    arguments["pin_uv_param"] = pins.protocol.authenticate(token, HASH)
    subprocess.run([REST[0], "lock"], check=True)
    refused(ERR.PIN_AUTH_INVALID, ctap.get_assertion, RP["id"], HASH, **arguments)
    device.close()


def refusals():
    device = Device(PROGRAM, PASSCODE)
    ctap = Ctap2(device.client())
    assert "clientPin" not in ctap.info.options, "it has no PIN"
    for command in (ClientPin.CMD.GET_PIN_RETRIES, ClientPin.CMD.SET_PIN, ClientPin.CMD.GET_TOKEN_USING_PIN_LEGACY):
        codes = dict(new_pin_enc=bytes(80), pin_uv_param=bytes(32), pin_hash_enc=bytes(32))
        refused(ERR.INVALID_PARAMETER, ctap.client_pin, 2, command, **codes)
    refused(ERR.NOT_ALLOWED, ctap.reset)
    refused(ERR.NO_CREDENTIALS, ctap.get_assertion, "example.org", HASH, options={"uv": True})
    unsupported = [{"type": "public-key", "alg": -257}]
    refused(ERR.UNSUPPORTED_ALGORITHM, ctap.make_credential, HASH, RP, user(1), unsupported)
    credential = register(ctap)
    # Without being asked nobody learns anything, whether there is a passkey or not.
    for name in ("example.com", "example.org"):
        refused(ERR.PUAT_REQUIRED, ctap.get_assertion, name, HASH, [descriptor(credential)], options={"up": False})
    device.habit = "wrong"
    refused(ERR.UV_INVALID, ctap.get_assertion, RP["id"], HASH, options={"uv": True})
    device.close()


def declined():
    device = Device(PROGRAM, PASSCODE)
    ctap = Ctap2(device.client())
    device.habit = "decline"
    refused(ERR.OPERATION_DENIED, register, ctap)
    device.close()


def cancelled():
    """A client that gives up, one that comes in between, and one that begins again."""
    device = Device(PROGRAM, PASSCODE)
    first, second = device.client(), device.client()
    ctap = Ctap2(first)
    device.habit = "hold"
    stop, states = threading.Event(), []
    thread, outcome = on_thread(
        lambda: ctap.make_credential(
            HASH, RP, user(1), ES256, options={"rk": True}, event=stop, on_keepalive=states.append
        )
    )
    assert device.asked.acquire(timeout=60)
    impatience = threading.Event()
    impatience.set()
    refused(ERR.CHANNEL_BUSY, second.call, CTAPHID.CBOR, b"\x04", impatience)
    stop.set()
    thread.join(60)
    assert outcome[0].code == ERR.KEEPALIVE_CANCEL, outcome
    assert states and set(states) == {2}, states
    assert second.call(CTAPHID.CBOR, b"\x04")[0] == 0
    # The question is gone, and the next one is answered.
    device.habit = "passcode"
    register(ctap)
    device.close()


def framing():
    device = Device(PROGRAM, PASSCODE)
    client = device.client()
    for count in (1, 57, 58, 7609):
        message = secrets.token_bytes(count)
        assert client.ping(message) == message
    assert device.get_report() == 5
    line = device.connect()

    def answer(report):
        line.write_packet(report.ljust(64, b"\0"))
        while True:
            got = line.read_packet()
            if got[4] != 0xBB:
                return got[:4], got[4], got[7]

    def start(channel, command, count, payload=b""):
        return struct.pack(">IBH", channel, command | 0x80, count) + payload

    line.write_packet(start(0xFFFFFFFF, 0x06, 8, b"12345678").ljust(64, b"\0"))
    channel = struct.unpack(">I", line.read_packet()[15:19])[0]
    number = struct.pack(">I", channel)
    error = 0xBF
    assert answer(start(channel, 0x3E, 1)) == (number, error, 0x01), "an unknown command"
    assert answer(start(channel, 0x10, 7610)) == (number, error, 0x03), "too long"
    assert answer(start(channel, 0x10, 0)) == (number, error, 0x03), "nothing"
    assert answer(start(0, 0x10, 1)) == (bytes(4), error, 0x0B), "no channel"
    line.write_packet(start(channel, 0x10, 100, b"x" * 57).ljust(64, b"\0"))
    assert answer(struct.pack(">IB", channel, 3)) == (number, error, 0x04), "out of turn"
    line.write_packet(start(channel, 0x10, 100, b"x" * 57).ljust(64, b"\0"))
    assert line.read_packet()[4:8] == bytes([error, 0, 1, 0x05]), "left unfinished"
    # Reports of another size are none, and garbage is a status of CTAP.
    device.write(b"\0" * 10)
    device.write(b"\1" + start(channel, 0x10, 1, b"\x04").ljust(64, b"\0"))
    for garbage, status in ((b"\x99", 0x01), (b"\x01", 0x12), (b"\x01\xff", 0x12), (b"\x02\xa1\x01", 0x12)):
        assert answer(start(channel, 0x10, len(garbage), garbage))[2] == status, garbage
    assert client.call(CTAPHID.CBOR, b"\x04")[0] == 0
    line.close()
    device.close()


def daemon_gone():
    """The daemon is killed while the person is asked: the client gets an error, and another daemon serves the device."""
    device = Device(PROGRAM, PASSCODE)
    ctap = Ctap2(device.client())
    device.habit = "hold"
    thread, outcome = on_thread(lambda: register(ctap))
    assert device.asked.acquire(timeout=60)
    path = os.environ["XDG_RUNTIME_DIR"] + "/ostiary/ostiaryd.socket"
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        (number, _, _) = struct.unpack("III", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    os.kill(number, signal.SIGKILL)
    thread.join(60)
    assert outcome[0].code == ERR.OTHER, outcome
    deadline = time.monotonic() + 60
    os.unlink(path)
    daemon = subprocess.Popen(REST[1:], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not os.path.exists(path):
            assert time.monotonic() < deadline, "no other daemon"
            time.sleep(0.05)
        time.sleep(0.5)
        device.habit = "passcode"
        device.forget()
        refused(ERR.NO_CREDENTIALS, ctap.get_assertion, RP["id"], HASH, options={"uv": True})
        register(ctap)
    finally:
        daemon.kill()
        daemon.wait()
    device.close()


globals()[SCENE]()
