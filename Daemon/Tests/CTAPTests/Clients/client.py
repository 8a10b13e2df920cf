"""Plays one scene with python-fido2 as the client: client.py PROGRAM SCENE."""

import secrets
import struct
import sys
import threading

from fido2 import cbor
from fido2.client import DefaultClientDataCollector, Fido2Client, UserInteraction
from fido2.cose import CoseKey
from fido2.ctap import CtapError
from fido2.ctap2 import ClientPin, CredentialManagement, Ctap2
from fido2.ctap2.extensions import HmacSecretExtension
from fido2.ctap2.pin import PinProtocolV1, PinProtocolV2
from fido2.server import Fido2Server
from fido2.webauthn import AuthenticatorData, PublicKeyCredentialRpEntity

from socket_device import Authenticator, continuation, report

PROGRAM, SCENE = sys.argv[1:3]
RP = {"id": "example.com", "name": "Example"}
HASH = secrets.token_bytes(32)
ES256 = [{"type": "public-key", "alg": -7}]
ERR = CtapError.ERR


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
    def __init__(self, pin=None):
        self.pin = pin

    def request_pin(self, permissions, rp_id):
        return self.pin

    def request_uv(self, permissions, rp_id):
        return True


def client(key, pin=None):
    return Fido2Client(
        key.device(),
        DefaultClientDataCollector("https://example.com"),
        user_interaction=Person(pin),
        extensions=[HmacSecretExtension(allow_hmac_secret=True)],
    )


def register(ctap, number=1, rk=True, pin=None, extensions=None, exclude=None, protocol=None):
    options = {"rk": True} if rk else {}
    parameter, version = None, None
    if pin:
        pins = ClientPin(ctap, protocol)
        token = pins.get_pin_token(pin, ClientPin.PERMISSION.MAKE_CREDENTIAL, RP["id"])
        parameter, version = pins.protocol.authenticate(token, HASH), pins.protocol.VERSION
    answer = ctap.make_credential(
        HASH, RP, user(number), ES256, exclude, extensions, options, parameter, version
    )
    assert answer.fmt == "packed"
    data = answer.auth_data
    key = CoseKey.parse(data.credential_data.public_key)
    key.verify(data + HASH, answer.att_stmt["sig"])
    assert set(answer.att_stmt) == {"alg", "sig"} and answer.att_stmt["alg"] == -7
    assert not data.flags & AuthenticatorData.FLAG.BE and not data.flags & AuthenticatorData.FLAG.BS
    return data.credential_data


def token(ctap, pin, permissions, rp_id=None, protocol=None):
    pins = ClientPin(ctap, protocol)
    return pins.protocol, pins.get_pin_token(pin, permissions, rp_id)


def descriptor(credential):
    return {"type": "public-key", "id": credential.credential_id}


# Scenes


def relying_party():
    """Registered and signed in through python-fido2's client, checked by its relying party."""
    key = Authenticator(PROGRAM, "--pin", "1234")
    server = Fido2Server(PublicKeyCredentialRpEntity.from_dict(RP), attestation="direct")
    person = client(key, "1234")
    options, state = server.register_begin(
        user(1), user_verification="required", resident_key_requirement="required"
    )
    registered = person.make_credential(options.public_key)
    data = server.register_complete(state, registered)
    assert data.is_user_verified() and data.counter == 1
    for counter in (2, 3):
        options, state = server.authenticate_begin(user_verification="required")
        chosen = person.get_assertion(options.public_key).get_response(0)
        server.authenticate_complete(state, [data.credential_data], chosen)
        assert chosen.response.authenticator_data.counter == counter
        assert chosen.response.user_handle == user(1)["id"]
    key.close()


def information():
    key = Authenticator(PROGRAM)
    info = Ctap2(key.device()).info
    assert info.versions == ["FIDO_2_0", "FIDO_2_1"], info.versions
    assert info.options == {
        "rk": True, "up": True, "plat": False, "credMgmt": True, "clientPin": False, "pinUvAuthToken": True,
        "makeCredUvNotRqd": True,
    }, info.options
    assert info.pin_uv_protocols == [2, 1] and info.aaguid == b"software-authent"
    key.close()


def pins():
    """Both protocols: set, change, count down, block."""
    for protocol in (PinProtocolV1(), PinProtocolV2()):
        key = Authenticator(PROGRAM)
        ctap = Ctap2(key.device())
        pin = ClientPin(ctap, protocol)
        refused(ERR.PIN_NOT_SET, pin.get_pin_token, "1234")
        refused(ERR.PIN_POLICY_VIOLATION, pin.set_pin, "ä" * 2 + "\0\0")
        pin.set_pin("1234")
        refused(ERR.PIN_AUTH_INVALID, pin.set_pin, "4321")
        pin.change_pin("1234", "öäüß")
        refused(ERR.PIN_INVALID, pin.change_pin, "1234", "5678")
        assert pin.get_pin_retries() == (7, False)
        pin.get_pin_token("öäüß")
        assert pin.get_pin_retries() == (8, False)
        for code in (ERR.PIN_INVALID, ERR.PIN_INVALID, ERR.PIN_AUTH_BLOCKED):
            refused(code, pin.get_pin_token, "wrong")
        refused(ERR.PIN_AUTH_BLOCKED, pin.get_pin_token, "öäüß")
        assert pin.get_pin_retries() == (5, True)
        for code in (ERR.PIN_AUTH_BLOCKED, ERR.PIN_BLOCKED):
            key.tell("unplug")
            key.tell("plug")
            ctap = Ctap2(key.device())
            pin = ClientPin(ctap, protocol)
            for last in (ERR.PIN_INVALID, ERR.PIN_INVALID, code)[0 if code == ERR.PIN_AUTH_BLOCKED else 1 :]:
                refused(last, pin.get_pin_token, "wrong")
        refused(ERR.PIN_BLOCKED, pin.get_pin_token, "öäüß")
        assert pin.get_pin_retries()[0] == 0
        key.close()


def permissions():
    """A token does what it was given for, once, for its relying party."""
    key = Authenticator(PROGRAM, "--pin", "1234")
    ctap = Ctap2(key.device())
    permission = ClientPin.PERMISSION
    refused(ERR.PUAT_REQUIRED, register, ctap)
    credential = register(ctap, pin="1234")
    for mask in (permission.BIO_ENROLL, permission.LARGE_BLOB_WRITE, permission.AUTHENTICATOR_CFG):
        refused(ERR.UNAUTHORIZED_PERMISSION, token, ctap, "1234", mask)
    refused(ERR.MISSING_PARAMETER, token, ctap, "1234", permission.GET_ASSERTION)
    protocol, secret = token(ctap, "1234", permission.MAKE_CREDENTIAL, RP["id"])
    parameter = protocol.authenticate(secret, HASH)
    refused(ERR.PIN_AUTH_INVALID, ctap.get_assertion, RP["id"], HASH, [descriptor(credential)], None, None, parameter, 2)
    protocol, secret = token(ctap, "1234", permission.GET_ASSERTION, "example.org")
    parameter = protocol.authenticate(secret, HASH)
    refused(ERR.PIN_AUTH_INVALID, ctap.get_assertion, RP["id"], HASH, [descriptor(credential)], None, None, parameter, 2)
    protocol, secret = token(ctap, "1234", permission.GET_ASSERTION, RP["id"])
    parameter = protocol.authenticate(secret, HASH)
    wrong = bytes([parameter[0] ^ 1]) + parameter[1:]
    refused(ERR.PIN_AUTH_INVALID, ctap.get_assertion, RP["id"], HASH, [descriptor(credential)], None, None, wrong, 2)
    refused(ERR.INVALID_PARAMETER, ctap.get_assertion, RP["id"], HASH, [descriptor(credential)], None, None, parameter, 3)
    ctap.get_assertion(RP["id"], HASH, [descriptor(credential)], None, None, parameter, 2)
    refused(ERR.PIN_AUTH_INVALID, ctap.get_assertion, RP["id"], HASH, [descriptor(credential)], None, None, parameter, 2)
    key.close()


def accounts():
    """Several accounts of a relying party, one after the other; the same account replaces its credential."""
    key = Authenticator(PROGRAM, "--pin", "1234", "--capacity", "3")
    ctap = Ctap2(key.device())
    register(ctap, 1, pin="1234")
    credentials = {bytes([n]) * 16: register(ctap, n, pin="1234") for n in (1, 2, 3)}
    refused(ERR.KEY_STORE_FULL, register, ctap, 4, pin="1234")
    register(ctap, 4, rk=False)
    protocol, secret = token(ctap, "1234", ClientPin.PERMISSION.GET_ASSERTION, RP["id"])
    answers = ctap.get_assertions(RP["id"], HASH, None, None, None, protocol.authenticate(secret, HASH), 2)
    assert [a.user["name"] for a in answers] == ["user3", "user2", "user1"], answers
    for answer in answers:
        answer.verify(HASH, credentials[answer.user["id"]].public_key)
    refused(ERR.NOT_ALLOWED, ctap.get_next_assertion)
    answers = ctap.get_assertions(RP["id"], HASH)
    assert all("name" not in a.user for a in answers), "names without verification"
    ctap.get_info()
    refused(ERR.NOT_ALLOWED, ctap.get_next_assertion)
    refused(ERR.NO_CREDENTIALS, ctap.get_assertion, "example.org", HASH)
    refused(ERR.NO_CREDENTIALS, ctap.get_assertion, RP["id"], HASH, [{"type": "public-key", "id": b"x" * 32}])
    refused(ERR.CREDENTIAL_EXCLUDED, register, ctap, 9, rk=False, exclude=[descriptor(credentials[b"\1" * 16])])
    refused(ERR.UNSUPPORTED_ALGORITHM, ctap.make_credential, HASH, RP, user(1), [{"type": "public-key", "alg": -257}])
    key.close()


def management():
    key = Authenticator(PROGRAM, "--pin", "1234")
    ctap = Ctap2(key.device())
    first, second = register(ctap, 1, pin="1234"), register(ctap, 2, pin="1234")
    permission = ClientPin.PERMISSION
    managed = CredentialManagement(ctap, *token(ctap, "1234", permission.CREDENTIAL_MGMT))
    assert managed.get_metadata() == {1: 2, 2: 23}
    [party] = managed.enumerate_rps()
    assert party[3] == RP
    found = managed.enumerate_creds(party[4])
    assert [c[6]["name"] for c in found] == ["user2", "user1"]
    assert found[0][7] == descriptor(second) and found[0][8] == second.public_key
    managed.update_user_info(descriptor(first), {"id": user(1)["id"], "name": "renamed"})
    assert managed.enumerate_creds(party[4])[1][6]["name"] == "renamed"
    refused(ERR.INVALID_PARAMETER, managed.update_user_info, descriptor(first), user(3))
    managed.delete_cred(descriptor(first))
    refused(ERR.NO_CREDENTIALS, managed.delete_cred, descriptor(first))
    refused(ERR.NOT_ALLOWED, managed.enumerate_creds_next)
    other = CredentialManagement(ctap, *token(ctap, "1234", permission.GET_ASSERTION, RP["id"]))
    refused(ERR.PIN_AUTH_INVALID, other.get_metadata)
    bound = CredentialManagement(ctap, *token(ctap, "1234", permission.CREDENTIAL_MGMT, "example.org"))
    refused(ERR.PIN_AUTH_INVALID, bound.delete_cred, descriptor(second))
    refused(ERR.PUAT_REQUIRED, ctap.credential_mgmt, 1)
    key.close()


def secrets_of_credentials():
    """hmac-secret: the same output for the same salt, another with verification."""
    key = Authenticator(PROGRAM, "--pin", "1234")
    server = Fido2Server(PublicKeyCredentialRpEntity.from_dict(RP))
    person = client(key, "1234")
    options, state = server.register_begin(user(1), user_verification="required", resident_key_requirement="required")
    public_key = dict(options.public_key)
    public_key["extensions"] = {"prf": {}}
    registered = person.make_credential(public_key)
    assert registered.client_extension_results["prf"]["enabled"] is True
    data = server.register_complete(state, registered)

    def outputs(first, second, verification):
        options, state = server.authenticate_begin([data.credential_data], user_verification=verification)
        public_key = dict(options.public_key)
        public_key["extensions"] = {"hmacGetSecret": {"salt1": first, "salt2": second}}
        answer = person.get_assertion(public_key).get_response(0)
        server.authenticate_complete(state, [data.credential_data], answer)
        results = answer.client_extension_results["hmacGetSecret"]
        return results["output1"], results["output2"]

    one, two = secrets.token_bytes(32), secrets.token_bytes(32)
    verified = outputs(one, two, "required")
    assert verified == outputs(one, two, "required") and verified[::-1] == outputs(two, one, "required")
    assert verified[0] != verified[1]
    assert len({*verified, *outputs(one, two, "discouraged")}) == 4
    key.close()


def protection():
    """credProtect: who sees a credential without verification."""
    key = Authenticator(PROGRAM, "--pin", "1234")
    ctap = Ctap2(key.device())
    open_, listed, closed = (
        register(ctap, n, pin="1234", extensions={"credProtect": n}) for n in (1, 2, 3)
    )
    assert [a.credential["id"] for a in ctap.get_assertions(RP["id"], HASH)] == [open_.credential_id]
    ctap.get_assertion(RP["id"], HASH, [descriptor(listed)])
    refused(ERR.NO_CREDENTIALS, ctap.get_assertion, RP["id"], HASH, [descriptor(closed)])
    register(ctap, 9, rk=False, exclude=[descriptor(closed)])
    refused(ERR.CREDENTIAL_EXCLUDED, register, ctap, 9, rk=False, exclude=[descriptor(listed)])
    refused(ERR.INVALID_OPTION, register, ctap, 9, rk=False, extensions={"credProtect": 4})
    refused(ERR.CBOR_UNEXPECTED_TYPE, register, ctap, 9, rk=False, extensions={"credProtect": "2"})
    key.close()


def touches():
    """Touch, no touch, refusal, cancel, unplug."""
    key = Authenticator(PROGRAM, "--timeout", "1")
    device = key.device()
    ctap = Ctap2(device)
    ctap.selection()
    key.tell("deny")
    refused(ERR.OPERATION_DENIED, ctap.selection)
    key.tell("hold")
    refused(ERR.USER_ACTION_TIMEOUT, ctap.selection)
    key.close()

    key = Authenticator(PROGRAM)
    key.tell("hold")
    ctap = Ctap2(key.device())
    event, seen = threading.Event(), []

    def on_keepalive(status):
        seen.append(status)
        if status == 2:
            event.set()

    refused(ERR.KEEPALIVE_CANCEL, ctap.selection, event=event, on_keepalive=on_keepalive)
    assert 2 in seen, seen
    key.waiting.acquire()
    threading.Thread(target=lambda: (key.waiting.acquire(), key.tell("touch"))).start()
    ctap.selection()
    key.tell("hold")
    # A wait of before must not pass for the next one.
    while key.waiting.acquire(blocking=False):
        pass
    failures = []

    def select():
        try:
            ctap.selection()
        except Exception as error:  # pylint: disable=broad-except # Which one is up to the library.
            failures.append(error)

    thread = threading.Thread(target=select)
    thread.start()
    assert key.waiting.acquire(timeout=60)
    key.tell("unplug")
    thread.join(60)
    assert failures, "the unplugged key answered"
    key.tell("touch")
    key.tell("plug")
    Ctap2(key.device()).selection()
    key.close()


def fingers():
    """Verification on the authenticator: a token for a finger, and no more after three wrong ones."""
    key = Authenticator(PROGRAM, "--uv")
    ctap = Ctap2(key.device())
    assert ctap.info.options["uv"] is True
    credential = register(ctap, rk=False)
    pins = ClientPin(ctap)
    mask = ClientPin.PERMISSION.GET_ASSERTION
    secret = pins.get_uv_token(mask, RP["id"])
    parameter = pins.protocol.authenticate(secret, HASH)
    answer = ctap.get_assertion(RP["id"], HASH, [descriptor(credential)], None, None, parameter, 2)
    assert answer.auth_data.is_user_verified()
    key.tell("wrong-fingers 3")
    refused(ERR.UV_INVALID, pins.get_uv_token, mask, RP["id"])
    assert pins.get_uv_retries() == 2
    refused(ERR.UV_INVALID, pins.get_uv_token, mask, RP["id"])
    refused(ERR.UV_BLOCKED, pins.get_uv_token, mask, RP["id"])
    refused(ERR.UV_BLOCKED, pins.get_uv_token, mask, RP["id"])
    key.close()


def mixed_permissions():
    """One question gives a token to manage credentials or to sign, but not for both."""
    key = Authenticator(PROGRAM, "--uv", "--pin", "1234")
    ctap = Ctap2(key.device())
    credential = register(ctap, pin="1234")
    pins, permission = ClientPin(ctap), ClientPin.PERMISSION
    signing = (permission.MAKE_CREDENTIAL, permission.GET_ASSERTION)

    def question_count():
        key.tell("touch")  # Its answer comes behind all earlier lines.
        return sum(line.startswith("waiting") for line in key.lines)

    before = question_count()
    for mask in (*signing, signing[0] | signing[1]):
        refused(ERR.UNAUTHORIZED_PERMISSION, pins.get_uv_token, mask | permission.CREDENTIAL_MGMT, RP["id"])
    assert question_count() == before, "the user was asked"
    secret = pins.get_uv_token(permission.CREDENTIAL_MGMT)
    assert CredentialManagement(ctap, pins.protocol, secret).get_metadata()[1] == 1
    parameter = pins.protocol.authenticate(secret, HASH)
    refused(ERR.PIN_AUTH_INVALID, ctap.get_assertion, RP["id"], HASH, [descriptor(credential)], None, None, parameter, 2)
    # Clients ask for both of these to register beside a list of excluded credentials.
    secret = pins.get_uv_token(signing[0] | signing[1], RP["id"])
    parameter = pins.protocol.authenticate(secret, HASH)
    ctap.get_assertion(RP["id"], HASH, [descriptor(credential)], None, None, parameter, 2)
    # With a PIN the authenticator asks for a touch before it signs.
    token(ctap, "1234", permission.CREDENTIAL_MGMT | permission.GET_ASSERTION, RP["id"])
    key.close()


def silent_look():
    """A look for a credential leaves the token, and says nothing of the user."""
    key = Authenticator(PROGRAM, "--uv")
    ctap = Ctap2(key.device())
    credential = register(ctap, rk=False)
    pins = ClientPin(ctap)
    secret = pins.get_uv_token(ClientPin.PERMISSION.GET_ASSERTION, RP["id"])
    parameter = pins.protocol.authenticate(secret, HASH)

    def sign(options):
        answer = ctap.get_assertion(RP["id"], HASH, [descriptor(credential)], None, options, parameter, 2)
        answer.verify(HASH, credential.public_key)
        return answer.auth_data

    for _ in range(3):
        data = sign({"up": False})
        assert not data.is_user_present() and not data.is_user_verified(), data.flags
    data = sign(None)
    assert data.is_user_present() and data.is_user_verified(), data.flags
    refused(ERR.PIN_AUTH_INVALID, sign, None)
    refused(ERR.PIN_AUTH_INVALID, sign, {"up": False})
    key.close()


def reset():
    key = Authenticator(PROGRAM, "--pin", "1234")
    ctap = Ctap2(key.device())
    register(ctap, pin="1234")
    key.tell("unplug")
    key.tell("plug")
    ctap = Ctap2(key.device())
    ctap.reset()
    ctap = Ctap2(key.device())
    assert ctap.info.options["clientPin"] is False
    refused(ERR.NO_CREDENTIALS, ctap.get_assertion, RP["id"], HASH)
    key.close()


def framing():
    """Reports that break CTAPHID, and several channels."""
    key = Authenticator(PROGRAM)
    device = key.device()
    for size in (0, 1, 57, 58, 116, 117, 7609):
        message = secrets.token_bytes(size)
        assert device.ping(message) == message
    raw, channel = device._connection, device._channel_id

    def exchange(*reports):
        for one in reports:
            raw.write_packet(one)
        answer = raw.read_packet()
        channel, command, count = struct.unpack_from(">IBH", answer)
        return channel, command & 0x7F, answer[7 : 7 + count]

    def error(code, *reports, on=channel):
        answer = exchange(*reports)
        assert answer == (on, 0x3F, bytes([code])), (answer, code)

    error(0x0B, report(0, 0x01, b""), on=0)
    error(0x0B, report(channel + 1, 0x01, b""), on=channel + 1)
    error(0x0B, report(0xFFFFFFFF, 0x01, b""), on=0xFFFFFFFF)
    error(0x01, report(channel, 0x03, b"\0\3\0\0"))
    error(0x01, report(channel, 0x7F, b""))
    error(0x03, report(channel, 0x10, b""))
    error(0x03, report(channel, 0x01, b"", count=7610))
    error(0x03, report(0xFFFFFFFF, 0x06, b"1234567"), on=0xFFFFFFFF)
    error(0x04, report(channel, 0x01, b"a" * 57, count=100), continuation(channel, 1, b"b"))
    error(0x04, report(channel, 0x01, b"a" * 57, count=100), report(channel, 0x01, b""))
    error(0x05, report(channel, 0x01, b"a" * 57, count=100))
    second = struct.unpack(">I", exchange(report(0xFFFFFFFF, 0x06, b"12345678"))[2][8:12])[0]
    error(0x06, report(channel, 0x01, b"a" * 57, count=100), report(second, 0x01, b""), on=second)
    assert exchange(continuation(channel, 0, b"b" * 43)) == (channel, 0x01, b"a" * 57)
    raw.read_packet()
    key.tell("hold")
    raw.write_packet(report(channel, 0x10, b"\x0b"))
    assert key.waiting.acquire(timeout=60)

    def skipping_keepalives(one):
        raw.write_packet(one)
        while True:
            answer = raw.read_packet()
            if answer[4] != 0xBB:
                return struct.unpack_from(">I", answer)[0], answer[4] & 0x7F, answer[7]

    assert skipping_keepalives(report(second, 0x01, b"")) == (second, 0x3F, 0x06)
    assert skipping_keepalives(report(channel, 0x01, b"")) == (channel, 0x3F, 0x06)
    raw.write_packet(report(second, 0x11, b""))
    assert skipping_keepalives(report(channel, 0x11, b"")) == (channel, 0x10, 0x2D)
    raw.write_packet(report(channel, 0x10, b"\x0b"))
    assert key.waiting.acquire(timeout=60)
    assert skipping_keepalives(report(channel, 0x06, b"12345678"))[1] == 0x06
    assert device.ping(b"still there") == b"still there"
    key.close()


globals()[SCENE]()
