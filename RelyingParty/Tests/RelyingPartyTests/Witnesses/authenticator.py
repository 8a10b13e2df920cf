"""Registrations and sign-ins that python-fido2 put together, of every algorithm and several attestation formats."""

import base64
import datetime
import hashlib
import json
import os
import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, mldsa, padding, rsa
from cryptography.x509.oid import NameOID
from fido2.cose import ES256, ES384, ES512, MLDSA44, MLDSA65, MLDSA87, PS256, RS256, EdDSA
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData, CollectedClientData

IDENTIFIER_HASH = hashlib.sha256(b"example.org").digest()
ORIGIN = "https://example.org"
FLAG = AuthenticatorData.FLAG


def encode(data):
    return base64.urlsafe_b64encode(bytes(data)).rstrip(b"=").decode()


def key_pair(algorithm):
    """A private key, its COSE class, and a function that signs."""
    if algorithm is EdDSA:
        key = ed25519.Ed25519PrivateKey.generate()
        return key, key.sign
    lattices = {MLDSA44: mldsa.MLDSA44PrivateKey, MLDSA65: mldsa.MLDSA65PrivateKey, MLDSA87: mldsa.MLDSA87PrivateKey}
    if algorithm in lattices:
        key = lattices[algorithm].generate()
        return key, key.sign
    if algorithm is PS256:
        key = rsa.generate_private_key(65537, 2048)
        scheme = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.DIGEST_LENGTH)
        return key, lambda message: key.sign(message, scheme, hashes.SHA256())
    if algorithm is RS256:
        key = rsa.generate_private_key(65537, 2048)
        return key, lambda message: key.sign(message, padding.PKCS1v15(), hashes.SHA256())
    curve, digest = {
        ES256: (ec.SECP256R1(), hashes.SHA256()),
        ES384: (ec.SECP384R1(), hashes.SHA384()),
        ES512: (ec.SECP521R1(), hashes.SHA512()),
    }[algorithm]
    key = ec.generate_private_key(curve)
    return key, lambda message: key.sign(message, ec.ECDSA(digest))


def certificate(key):
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.COUNTRY_NAME, "AA"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Tests"),
            x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "Authenticator Attestation"),
            x509.NameAttribute(NameOID.COMMON_NAME, "Key"),
        ]
    )
    start = datetime.datetime(2026, 1, 1)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=36500))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.DER)


def statement(form, algorithm, sign, message, point, data, digest):
    if form == "none":
        return "none", {}
    if form == "self":
        return "packed", {"alg": algorithm.ALGORITHM, "sig": sign(message)}
    key, attest = key_pair(ES256)
    if form == "packed":
        return "packed", {"alg": ES256.ALGORITHM, "sig": attest(message), "x5c": [certificate(key)]}
    signed = b"\0" + IDENTIFIER_HASH + digest + data.credential_data.credential_id + point
    return "fido-u2f", {"sig": attest(signed), "x5c": [certificate(key)]}


def case(form, algorithm):
    key, sign = key_pair(algorithm)
    cose = algorithm.from_cryptography_key(key.public_key())
    point = b"\4" + cose[-2] + cose[-3] if algorithm is ES256 else b""
    identifier = os.urandom(64)
    credential = AttestedCredentialData.create(bytes(16), identifier, cose)
    data = AuthenticatorData.create(IDENTIFIER_HASH, FLAG.UP | FLAG.UV | FLAG.AT, 7, credential)
    challenge = os.urandom(32)
    client = CollectedClientData.create(CollectedClientData.TYPE.CREATE, challenge, ORIGIN)
    name, members = statement(form, algorithm, sign, data + client.hash, point, data, client.hash)
    signed_challenge = os.urandom(32)
    signed_data = AuthenticatorData.create(IDENTIFIER_HASH, FLAG.UP | FLAG.UV | FLAG.ED, 8, b"", {"hmac-secret": b"x"})
    signed_client = CollectedClientData.create(CollectedClientData.TYPE.GET, signed_challenge, ORIGIN)
    return {
        "form": form,
        "algorithm": algorithm.ALGORITHM,
        "credentialID": encode(identifier),
        "challenge": encode(challenge),
        "clientDataJSON": encode(client),
        "attestationObject": encode(AttestationObject.create(name, data, members)),
        "assertion": {
            "challenge": encode(signed_challenge),
            "clientDataJSON": encode(signed_client),
            "authenticatorData": encode(signed_data),
            "signature": encode(sign(signed_data + signed_client.hash)),
        },
    }


ALGORITHMS = (ES256, ES384, ES512, EdDSA, RS256, PS256, MLDSA44, MLDSA65, MLDSA87)
everything = [case(form, algorithm) for form in ("none", "self", "packed") for algorithm in ALGORITHMS]
json.dump(everything + [case("u2f", ES256)], sys.stdout)
