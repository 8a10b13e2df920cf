import Auditing
import AuthenticatorRequests
import Authenticators
import Callers
import ExactNames
import Foundation
import OstiaryMessages
import Owners
import Passkeys
import PromptProtocol
import Prompting
import ProtectedObjects
import Refusals
import SSHFormats
import SecretMemory
import Sessions
import Vault

/// Signatures for SSH by passkeys of this machine and by security keys: assertions for the relying party `ssh:`. The bytes are read, and each
/// binding is verified, as for keys in the enclave.
extension Broker {
    func assertSSH(_ body: WireSSHAssertRequest, _ exchange: Exchange) throws -> Reply {
        // Others than doors get credentials for domains that confirm them, and no domain does here.
        guard exchange.session.caller.identity.isDoor else { throw Self.noDoorForSSH }
        let credential = try SSHCredential(blob: body.publicKey)
        let attachment = try AuthenticatorAttachment(body.attachment)
        if attachment == .platform { try requirePasskey(body.credentialID, of: credential, exchange) }
        let request = WireSSHSignRequest.with { ($0.bindings, $0.hostName) = (body.bindings, body.hostName) }
        let signing = try SSHSigning(
            UnconfirmedSSHSigning(
                request, input: exchange.request.tail, clientMayForward: exchange.caller.program.mayForwardAgent),
            by: SSHKey(credential))
        let digest = try signing.digest(for: exchange.request.tail)
        let asking = try exchange.asking(body.question)
        var assertion = CredentialAssertion(
            clientDataHash: digest, relyingParty: RelyingPartyName(identifier: credential.relyingParty))
        // Without one each of the relying party's credentials would do.
        assertion.allowed = [CredentialDescriptor(identifier: Array(body.credentialID))]
        let requiresVerification = attachment == .platform || body.requiresVerification
        assertion.userVerification = requiresVerification ? .required : .discouraged
        let made = try carryOut(assertion, by: attachment, for: signing, exchange, asking)
        guard
            let signature = credential.assertion(
                made.authenticatorData, made.signature, ofDigest: digest, requiresVerification: requiresVerification)
        else { throw Refusal.malformedAnswer }
        // A signature of a passkey was recorded when it was made.
        if attachment == .crossPlatform {
            try exchange.verifyCaller()
            try record(signing, by: credential, signature, exchange, asking)
        }
        var bytes = signature.bytes
        return .payload(SecretBytes(taking: &bytes))
    }

    static let noDoorForSSH = Refusal(
        .missingEntitlement,
        "Passkeys and security keys sign for SSH through a door alone, and this program is none. Use ostiary-ssh-agent.",
        cause: "ssh.not-a-door")

    /// Throws unless there is a passkey of this id with the key and the relying party that the request names.
    private func requirePasskey(_ id: Data, of credential: SSHCredential, _ exchange: Exchange) throws {
        let passkey = try exchange.account.passkeys.find(Array(id))
        guard passkey.attributes.relyingParty.identifier == credential.relyingParty else {
            throw SSHCredential.otherRelyingParty
        }
        guard passkey.record.publicKey == credential.publicKey.x963 else { throw PasskeyStore.notFound }
    }

    /// Has the authenticator sign, which asks the person.
    private func carryOut(
        _ assertion: CredentialAssertion, by attachment: AuthenticatorAttachment, for signing: SSHSigning,
        _ exchange: Exchange, _ asking: Asking
    ) throws -> AssertedCredential {
        let prompt = CredentialPrompt(
            Questioning(prompter: prompter, asking: asking),
            about: PromptObjects(DisplayText(fact: assertion.relyingParty.identifier.text)),
            operation: DisplayText("sign once for SSH with a security key"), signedData: signing.shown)
        defer { prompt.dismiss() }
        do {
            switch attachment {
            case .platform:
                let use = PasskeySSHUse(
                    shown: signing.shown, operation: signing.operation, details: signing.details,
                    verifyCaller: exchange.callerVerification)
                return try PlatformAuthenticator(
                    OwnerPasskeys(of: exchange.account, asking: asking, through: .ssh(use))
                ).assert(assertion, with: prompt, until: prompt.stop)
            case .crossPlatform:
                guard let keys = authenticators.securityKeys?.presented(to: exchange.account.user.idToOthers) else {
                    throw Refusal.noAuthenticator
                }
                try prompt.begin()
                let made = try keys.assert(assertion, with: prompt, until: prompt.stop)
                prompt.dismiss(because: .proved)
                return made
            }
        } catch let refusal as CredentialRefusal {
            throw prompt.refusal ?? Refusal.credential(refusal)
        }
    }

    private func record(
        _ signing: SSHSigning, by credential: SSHCredential, _ assertion: SSHAssertion, _ exchange: Exchange,
        _ asking: Asking
    ) throws {
        var event = exchange.event(object: credential.relyingParty.text, operation: signing.operation)
        let proof = assertion.isUserVerified ? "which verified the person" : "which was touched"
        event.details = "on a security key, \(proof), \(signing.details)"
        try exchange.trail.decide {
            try asking.cancellation.check()
            try exchange.trail.grant(event, factors: [], strength: "", isProved: false)
        }
    }
}
