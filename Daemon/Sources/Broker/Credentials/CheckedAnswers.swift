import AssociationFiles
import AuthenticatorRequests
import Crypto
import ExactNames
import Foundation
import OstiaryMessages
import Refusals

/// The checks of an authenticator's answer, as far as the daemon can make them: an answer of another relying party, or one
/// that nobody could use, is not released.
extension CreatedCredential {
    func check(for relyingParty: RelyingPartyIdentifier) throws(Refusal) {
        let outputs = [prf?.first, prf?.second].compactMap(\.self)
        guard CredentialLimits.identifierByteCount.contains(credentialIdentifier.count),
            (1...CredentialLimits.attestationObjectByteCount).contains(attestationObject.count),
            transports.count <= CredentialLimits.transportCount,
            transports.allSatisfy({ $0.utf8.count <= CredentialLimits.transportByteCount }),
            outputs.allSatisfy({ $0.count == SHA256.byteCount }),
            Data(attestationObject).range(of: relyingParty.hash) != nil
        else { throw .malformedAnswer }
    }
}

extension AssertedCredential {
    func check(against assertion: CredentialAssertion, for relyingParty: RelyingPartyIdentifier) throws(Refusal) {
        let outputs = [prf?.first, prf?.second].compactMap(\.self)
        let subject = usedAppID ? assertion.appID.map { Data(SHA256.hash(data: Data($0.utf8))) } : relyingParty.hash
        guard let subject, CredentialLimits.identifierByteCount.contains(credentialIdentifier.count),
            CredentialLimits.authenticatorDataByteCount.contains(authenticatorData.count),
            CredentialLimits.signatureByteCount.contains(signature.count),
            CredentialLimits.userHandleByteCount.contains(userHandle?.count ?? 1),
            outputs.allSatisfy({ $0.count == SHA256.byteCount }), authenticatorData.starts(with: subject),
            assertion.allowed.isEmpty || assertion.allowed.contains(where: { $0.identifier == credentialIdentifier })
        else { throw .malformedAnswer }
    }
}

extension RelyingPartyIdentifier {
    /// The beginning of the authenticator data of its credentials (WebAuthn 6.1).
    fileprivate var hash: Data { Data(SHA256.hash(data: Data(domain.utf8))) }
}
