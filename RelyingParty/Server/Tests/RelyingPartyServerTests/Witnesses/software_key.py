"""A CTAP 2 security key in software, for the client of python-fido2. Its counter is the test's to move."""

import hashlib
import os

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from fido2.client import DefaultClientDataCollector, Fido2Client, UserInteraction
from fido2.cose import ES256
from fido2.ctap import CtapDevice, CtapError
from fido2.hid import CAPABILITY
from fido2.webauthn import AttestedCredentialData, AuthenticatorData

FLAG = AuthenticatorData.FLAG
MAKE_CREDENTIAL, GET_ASSERTION, GET_INFO = 1, 2, 4


class SoftwareKey(CtapDevice):
    """Makes one discoverable credential for each relying party, and verifies whom it asks."""

    capabilities = CAPABILITY.CBOR

    def __init__(self):
        self.credentials = {}
        self.counter = 0
        self.step = 1

    @classmethod
    def list_devices(cls):
        return iter(())

    def call(self, cmd, data=b"", event=None, on_keepalive=None):
        answer = {MAKE_CREDENTIAL: self.make_credential, GET_ASSERTION: self.get_assertion, GET_INFO: self.get_info}
        parameters = cbor.decode(data[1:]) if len(data) > 1 else {}
        try:
            return b"\0" + cbor.encode(answer[data[0]](parameters))
        except CtapError as refusal:
            return bytes([refusal.code])

    def get_info(self, _):
        return {1: ["FIDO_2_0"], 3: bytes(16), 4: {"rk": True, "up": True, "uv": True}, 6: [1]}

    def make_credential(self, parameters):
        key, identifier = ec.generate_private_key(ec.SECP256R1()), os.urandom(32)
        self.credentials[parameters[2]["id"]] = (key, identifier, parameters[3]["id"])
        credential = AttestedCredentialData.create(bytes(16), identifier, ES256.from_cryptography_key(key.public_key()))
        data = self.data(parameters[2]["id"], FLAG.UP | FLAG.UV | FLAG.AT, credential)
        signature = key.sign(data + parameters[1], ec.ECDSA(hashes.SHA256()))
        return {1: "packed", 2: data, 3: {"alg": ES256.ALGORITHM, "sig": signature}}

    def get_assertion(self, parameters):
        if parameters[1] not in self.credentials:
            raise CtapError(CtapError.ERR.NO_CREDENTIALS)
        key, identifier, user = self.credentials[parameters[1]]
        self.counter += self.step
        data = self.data(parameters[1], FLAG.UP | FLAG.UV)
        signature = key.sign(data + parameters[2], ec.ECDSA(hashes.SHA256()))
        return {1: {"type": "public-key", "id": identifier}, 2: data, 3: signature, 4: {"id": user}}

    def data(self, relying_party, flags, credential=b""):
        return AuthenticatorData.create(hashlib.sha256(relying_party.encode()).digest(), flags, self.counter, credential)


class Person(UserInteraction):
    def request_uv(self, permissions, rp_id):
        return True


def client(key, origin, trusting=False):
    """A client on a page of this origin. One that is `trusting` lets the page use another site's relying party."""
    collector = DefaultClientDataCollector(origin, *([lambda _, __: True] if trusting else []))
    return Fido2Client(key, client_data_collector=collector, user_interaction=Person())
