"""A relying party of Yubico's: checks a registration and a sign-in that stand in a JSON file as base64.

usage: relying-party.py FILE
"""

import base64
import json
import sys

from fido2.server import Fido2Server
from fido2.webauthn import (
    AttestationObject, AuthenticationResponse, AuthenticatorAssertionResponse, AuthenticatorAttestationResponse,
    AuthenticatorData, CollectedClientData, PublicKeyCredentialRpEntity, RegistrationResponse)

answers = {name: base64.b64decode(value) for name, value in json.load(open(sys.argv[1])).items()}
server = Fido2Server(PublicKeyCredentialRpEntity(id="example.com", name="Example"), attestation="direct")


def state(challenge):
    encoded = base64.urlsafe_b64encode(challenge).decode().rstrip("=")
    return {"challenge": encoded, "user_verification": None}


registered = server.register_complete(
    state(answers["registrationChallenge"]),
    RegistrationResponse(
        raw_id=answers["id"],
        response=AuthenticatorAttestationResponse(
            client_data=CollectedClientData(answers["registrationClientData"]),
            attestation_object=AttestationObject(answers["attestationObject"]))))
server.authenticate_complete(
    state(answers["signInChallenge"]), [registered.credential_data],
    AuthenticationResponse(
        raw_id=answers["signInID"],
        response=AuthenticatorAssertionResponse(
            client_data=CollectedClientData(answers["signInClientData"]),
            authenticator_data=AuthenticatorData(answers["authenticatorData"]),
            signature=answers["signature"], user_handle=answers["userHandle"])))
print("verified")
