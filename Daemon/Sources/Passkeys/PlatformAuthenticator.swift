package import AuthenticatorRequests
import CTAP
package import Cancellations
import CanonicalCBOR
import ExactNames
import Foundation

/// This machine as an authenticator, for one request of a program.
package struct PlatformAuthenticator: CredentialAuthenticator {
    private let passkeys: OwnerPasskeys

    package init(_ passkeys: OwnerPasskeys) { self.passkeys = passkeys }

    /// The kind of authenticator, the same on every machine.
    static let model = AuthenticatorModel(
        identifier: [
            0x5D, 0x06, 0xA5, 0xC5, 0x8D, 0x3C, 0x48, 0x04, 0x9F, 0xEF, 0x03, 0x6D, 0x93, 0x8D, 0x32, 0xDF,
        ], transports: ["internal"], isPlatform: true, alwaysVerifies: true, allowsReset: false,
        takesDomainsOnly: true)

    /// The AAGUID of that kind.
    package static var modelIdentifier: [UInt8] { model.identifier }

    /// - Throws: ``CredentialRefusal``, or the refusal of the question.
    package func create(
        _ creation: CredentialCreation, with question: any CredentialQuestion,
        until cancellation: Cancellation
    ) throws -> CreatedCredential {
        guard creation.extensions.largeBlob != .required else {
            throw CredentialRefusal.unsupported(what: "largeBlob")
        }
        try passkeys.requirePasscode()
        let named = Set(creation.excluded.map(\.identifier))
        let excluded = try passkeys.store.all().map(\.identifier).filter(named.contains)
        do {
            return try create(creation, excluded: excluded, until: cancellation)
        } catch {
            // The cause counts, and not that the unfinished passkey could not be removed.
            do { try passkeys.finishCreation(isReleased: false) } catch {}
            throw error
        }
    }

    package func finishCreation(isReleased: Bool) throws { try passkeys.finishCreation(isReleased: isReleased) }

    private func create(
        _ creation: CredentialCreation, excluded: [[UInt8]], until cancellation: Cancellation
    ) throws -> CreatedCredential {
        let answer = try run(.makeCredential, PlatformRequest.making(creation, excluded: excluded), cancellation)
        guard let data = answer[2]?.bytes, let statement = answer[3],
            let identifier = PlatformRequest.identifier(in: [UInt8](data))
        else { throw CredentialRefusal.malformedAnswer }
        let isAttested = creation.attestation != .none
        let object = CBORValue.map([
            "fmt": .text(isAttested ? "packed" : "none"), "attStmt": isAttested ? statement : .map(CBORMap([])),
            "authData": .bytes(data),
        ])
        var created = CreatedCredential(
            credentialIdentifier: identifier, attestationObject: object.encoded, transports: Self.model.transports,
            attachment: .platform)
        if creation.extensions.wantsPRF || creation.extensions.salts != nil { created.supportsPRF = true }
        if let salts = creation.extensions.salts { created.prf = try outputs(of: salts, identifier) }
        if creation.extensions.largeBlob != nil { created.supportsLargeBlob = false }
        return created
    }

    /// - Throws: ``CredentialRefusal``, or the refusal of the question. Asks nobody if no passkey fits.
    package func assert(
        _ assertion: CredentialAssertion, with question: any CredentialQuestion,
        until cancellation: Cancellation
    ) throws -> AssertedCredential {
        let found = try candidates(for: assertion)
        let index = found.count == 1 ? 0 : try question.choose(among: found.map(\.attributes.user))
        guard found.indices.contains(index) else { throw CredentialRefusal.cancelled }
        let chosen = found[index]
        let answer = try run(
            .getAssertion, PlatformRequest.asserting(assertion, with: chosen.identifier), cancellation)
        guard let data = answer[2]?.bytes, let signature = answer[3]?.bytes else {
            throw CredentialRefusal.malformedAnswer
        }
        var asserted = AssertedCredential(
            credentialIdentifier: chosen.identifier, authenticatorData: [UInt8](data),
            signature: [UInt8](signature), userHandle: chosen.attributes.user.identifier, attachment: .platform)
        if let salts = assertion.saltsByCredential[chosen.identifier] ?? assertion.salts {
            asserted.prf = try outputs(of: salts, chosen.identifier)
        }
        switch assertion.largeBlob {
        case .read?: asserted.largeBlob = .read(nil)
        case .write?: asserted.largeBlob = .written(false)
        case nil: break
        }
        return asserted
    }

    private func candidates(for assertion: CredentialAssertion) throws -> [Passkey] {
        let allowed = Set(assertion.allowed.map(\.identifier))
        let found = try passkeys.store.all().filter {
            $0.attributes.relyingParty.identifier == assertion.relyingParty.identifier
                && (allowed.isEmpty ? $0.attributes.isDiscoverable : allowed.contains($0.identifier))
        }
        guard !found.isEmpty else { throw CredentialRefusal.noCredential }
        return found
    }

    /// Has the commands of CTAP do the work, so that programs and browsers get the same.
    private func run(
        _ command: CTAPCommand, _ parameters: CBORValue, _ cancellation: Cancellation
    ) throws -> CBORMap {
        var authenticator = CTAPAuthenticator(
            Self.model, storage: passkeys, pins: nil, interaction: passkeys, clock: passkeys.clock)
        let answer = authenticator.respond(to: [command.rawValue] + parameters.encoded, until: cancellation)
        guard answer.first == CTAPStatus.success.rawValue else {
            throw passkeys.error ?? CredentialRefusal(answer.first.flatMap { CTAPStatus(rawValue: $0) } ?? .other)
        }
        guard let map = try CBORDecoder.decode(answer.dropFirst(), .canonical).map else {
            throw CredentialRefusal.malformedAnswer
        }
        return map
    }

    /// Programs get the outputs themselves. Over CTAP they are encrypted for a client far away.
    ///
    /// - Returns: nil for a passkey without secrets, which a browser may have made. The sign-in succeeds all the same.
    private func outputs(of salts: PRFSalts, _ identifier: [UInt8]) throws -> PRFOutputs? {
        let credential = try passkeys.store.find(identifier).credential
        guard credential.hasSecret else { return nil }
        do {
            return try passkeys.outputs(of: salts, with: credential, isVerified: true, under: passkeys.proof)
        } catch {
            throw passkeys.error ?? CredentialRefusal(error)
        }
    }
}

extension CredentialRefusal {
    fileprivate init(_ status: CTAPStatus) {
        self =
            switch status {
            case .keepaliveCancel, .operationDenied: .cancelled
            case .userActionTimeout: .timedOut
            case .credentialExcluded: .excluded
            case .noCredentials: .noCredential
            case .unsupportedAlgorithm: .unsupportedAlgorithm
            case .keyStoreFull: .storageFull
            default: .refused(status: status.rawValue)
            }
    }
}
