import Crypto
import Foundation
import SwiftASN1

// Compiled together with the sources of the module RelyingParty by script/fuzz.

/// The decoders of everything that clients and authenticators send.
let readers: [String: @Sendable ([UInt8]) -> Void] = [
    "client-data": { bytes in _ = try? ClientData(Data(bytes)) },
    "authenticator-data": { bytes in
        _ = try? AuthenticatorData(bytes[...], hasCredential: false)
        guard let data = try? AuthenticatorData(bytes[...], hasCredential: true), let credential = data.credential
        else {
            return
        }
        _ = try? CredentialPublicKey(credential.publicKeyValue)
    },
    "public-key": { bytes in
        guard let key = try? CredentialPublicKey(cose: Data(bytes)) else { return }
        precondition(!key.isValid(Data([1]), for: emptyMessage), "one byte is no signature")
    },
    "attestation-object": { bytes in
        guard let object = try? AttestationObject(Data(bytes)), let format = AttestationFormat(rawValue: object.format),
            let data = try? AuthenticatorData(object.authenticatorData, hasCredential: true),
            let credential = data.credential, let key = try? CredentialPublicKey(credential.publicKeyValue)
        else { return }
        let subject = AttestationSubject(
            authenticatorData: data, credential: credential, publicKey: key,
            message: SignedMessage(authenticatorData: data.bytes, clientDataHash: SHA256.hash(data: [])))
        _ = try? format.verify(object.statement, subject)
    },
    "tpm": { bytes in
        _ = try? TPMPublicArea(bytes[...])
        _ = try? TPMAttest(bytes[...])
    },
    "android-key": { bytes in _ = try? AndroidKeyDescription(derEncoded: bytes) },
    "response-json": { bytes in
        _ = try? RegistrationResponse(json: Data(bytes))
        _ = try? AssertionResponse(json: Data(bytes))
    },
    "credential-id-list": { bytes in
        guard let list = CredentialIDList.decoded(Data(bytes)) else { return }
        precondition(CredentialIDList.encoded(list) == Data(bytes), "the list has another encoding")
    },
]

private let emptyMessage = SignedMessage(authenticatorData: [], clientDataHash: SHA256.hash(data: []))
