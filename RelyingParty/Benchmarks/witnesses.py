"""python-fido2, py_webauthn and the signature alone, which both take from `cryptography`, on one assertion again and again.

The first line of input is the assertion as JSON. Every further line names a row, a number of calls and a number of threads; the
answer is a line with the durations of single calls in nanoseconds, or of the whole block if there are several threads.
"""

import base64
import json
import sys
import threading
import time

import webauthn
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from fido2.cose import CoseKey
from fido2.server import Fido2Server
from fido2.webauthn import AttestedCredentialData, PublicKeyCredentialRpEntity


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


case = json.loads(sys.stdin.readline())
credential = {
    "id": case["credentialID"],
    "rawId": case["credentialID"],
    "type": "public-key",
    "clientExtensionResults": {},
    "response": {name: case[name] for name in ("clientDataJSON", "authenticatorData", "signature")},
}
cose = CoseKey.parse(cbor.decode(decode(case["publicKey"])))
known = [AttestedCredentialData.create(bytes(16), decode(case["credentialID"]), cose)]
server = Fido2Server(PublicKeyCredentialRpEntity(id="example.org", name="Benchmark"))
state = {"challenge": case["challenge"], "user_verification": "preferred"}
key = ec.EllipticCurvePublicNumbers(
    int.from_bytes(cose[-2], "big"), int.from_bytes(cose[-3], "big"), ec.SECP256R1()).public_key()
digest = hashes.Hash(hashes.SHA256())
digest.update(decode(case["clientDataJSON"]))
message, signature = decode(case["authenticatorData"]) + digest.finalize(), decode(case["signature"])

calls = {
    "bare": lambda: key.verify(signature, message, ec.ECDSA(hashes.SHA256())),
    "fido2": lambda: server.authenticate_complete(state, known, credential),
    "webauthn": lambda: webauthn.verify_authentication_response(
        credential=credential,
        expected_challenge=decode(case["challenge"]),
        expected_rp_id="example.org",
        expected_origin="https://example.org",
        credential_public_key=decode(case["publicKey"]),
        credential_current_sign_count=0,
    ),
}


def single(call, count):
    durations = []
    for _ in range(count):
        start = time.perf_counter_ns()
        call()
        durations.append(time.perf_counter_ns() - start)
    return durations


def together(call, count, thread_count):
    threads = [threading.Thread(target=single, args=(call, count)) for _ in range(thread_count)]
    start = time.perf_counter_ns()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [time.perf_counter_ns() - start]


for line in sys.stdin:
    name, count, thread_count = line.split()
    call = calls[name]
    print(json.dumps(single(call, int(count)) if thread_count == "1" else together(call, int(count), int(thread_count))), flush=True)
