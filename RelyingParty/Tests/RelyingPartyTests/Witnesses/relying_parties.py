"""Two relying parties that did not come from here, python-fido2 and py_webauthn, judge the same answers.

Reads a list of answers as JSON and prints a list of verdicts: what each of them says, null for "accepted".
"""

import base64
import hashlib
import json
import sys

import webauthn
from fido2 import cbor
from fido2.attestation import Attestation
from fido2.cose import CoseKey
from fido2.server import Fido2Server
from fido2.webauthn import AttestationObject, AttestedCredentialData, PublicKeyCredentialRpEntity
from webauthn.helpers.structs import COSEAlgorithmIdentifier

IDENTIFIER = "example.org"
ORIGIN = "https://example.org"
ALGORITHMS = [COSEAlgorithmIdentifier(number) for number in (-7, -8, -36, -37, -38, -39, -48, -49, -50, -257)]


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def credential(case):
    """The answer as a browser's toJSON() gives it."""
    members = ("clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle")
    return {
        "id": case["credentialID"],
        "rawId": case["credentialID"],
        "type": "public-key",
        "clientExtensionResults": {},
        "response": {member: case[member] for member in members if case.get(member) is not None},
    }


def fido2(case):
    server = Fido2Server(PublicKeyCredentialRpEntity(id=IDENTIFIER, name="Tests"), verify_origin=lambda o: o == ORIGIN)
    state = {
        "challenge": case["challenge"],
        "user_verification": "required" if case["requiresVerification"] else None,
    }
    if "attestationObject" in case:
        server.register_complete(state, credential(case))
        attestation = AttestationObject(decode(case["attestationObject"]))
        digest = hashlib.sha256(decode(case["clientDataJSON"])).digest()
        Attestation.for_type(attestation.fmt)().verify(attestation.att_stmt, attestation.auth_data, digest)
    else:
        key = CoseKey.parse(cbor.decode(decode(case["publicKey"])))
        known = AttestedCredentialData.create(bytes(16), decode(case["credentialID"]), key)
        server.authenticate_complete(state, [known], credential(case))


def py_webauthn(case):
    expected = {
        "credential": credential(case),
        "expected_challenge": decode(case["challenge"]),
        "expected_rp_id": IDENTIFIER,
        "expected_origin": ORIGIN,
        "require_user_verification": case["requiresVerification"],
    }
    if "attestationObject" in case:
        webauthn.verify_registration_response(**expected, supported_pub_key_algs=ALGORITHMS)
    else:
        webauthn.verify_authentication_response(
            **expected,
            credential_public_key=decode(case["publicKey"]),
            credential_current_sign_count=case["counter"],
        )


def verdict(judge, case):
    try:
        judge(case)
    except Exception as refusal:
        return f"{type(refusal).__name__}: {refusal}"
    return None


json.dump(
    [{"fido2": verdict(fido2, case), "webauthn": verdict(py_webauthn, case)} for case in json.load(sys.stdin)],
    sys.stdout,
)
