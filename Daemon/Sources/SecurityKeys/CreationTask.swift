import AuthenticatorRequests
import ExactNames
import SecretMemory
import SecurityKeyProtocol

/// Makes a credential for a relying party.
struct CreationTask: KeyTask {
    /// The algorithms of keys that list none (CTAP 2.0 has no such list).
    private static let standardAlgorithms: [Int32] = [-7]

    let creation: CredentialCreation

    func plan(for description: KeyDescription) -> KeyPlan {
        let known = description.algorithms.isEmpty ? Self.standardAlgorithms : description.algorithms
        let wanted = creation.algorithms.compactMap(Int32.init(exactly:))
        guard let algorithm = wanted.first(where: known.contains) else { return .refuse(.unsupportedAlgorithm) }
        guard description.isFIDO2 else { return planForU2F(algorithm) }
        let features = description.features
        let isDiscoverable =
            creation.discoverable == .required
            || creation.discoverable == .preferred && features.contains(.discoverable)
        guard !isDiscoverable || features.contains(.discoverable) else {
            return .refuse(.unsupported(what: "residentKey"))
        }
        guard creation.extensions.largeBlob != .required || isDiscoverable && features.contains(.largeBlobs) else {
            return .refuse(.unsupported(what: "largeBlob"))
        }
        let canVerify = !features.isDisjoint(with: [.hasPIN, .verifiesUser])
        let isNeeded = canVerify && (isDiscoverable || !features.contains(.createsUnverified))
        return KeyPlan(description, creation.userVerification, isNeeded: isNeeded) { verifiesUser in
            var request = self.request(algorithm)
            request.isDiscoverable = isDiscoverable
            request.verifiesUser = verifiesUser
            request.wantsHMACSecret = creation.extensions.wantsPRF && features.contains(.hmacSecret)
            request.wantsLargeBlobKey =
                creation.extensions.largeBlob.map { $0 != .discouraged } ?? false && isDiscoverable
                && features.contains(.largeBlobs)
            return .create(request)
        }
    }

    private func planForU2F(_ algorithm: Int32) -> KeyPlan {
        guard creation.userVerification != .required else { return .refuse(.unsupported(what: "userVerification")) }
        guard creation.discoverable != .required else { return .refuse(.unsupported(what: "residentKey")) }
        guard creation.extensions.largeBlob != .required else { return .refuse(.unsupported(what: "largeBlob")) }
        return .ask(.create(request(algorithm)))
    }

    private func request(_ algorithm: Int32) -> KeyCreation {
        var request = KeyCreation(
            clientDataHash: creation.clientDataHash, relyingParty: creation.relyingParty.identifier.text,
            relyingPartyName: KeyText.fitting(creation.relyingParty.name ?? creation.relyingParty.identifier.text),
            userHandle: creation.user.identifier, userName: KeyText.fitting(creation.user.name ?? ""),
            userDisplayName: KeyText.fitting(creation.user.displayName ?? ""), algorithm: algorithm)
        request.excluded = creation.excluded.map(\.identifier)
        return request
    }

    func outcome(
        of report: KeyReport, secret: consuming SecretBytes, from description: KeyDescription,
        _ question: any CredentialQuestion
    ) throws -> CreatedCredential {
        guard case .created(let made) = report else { throw CredentialRefusal.malformedAnswer }
        let isVerified = AuthenticatorData(made.authenticatorData).isUserVerified
        guard creation.userVerification != .required || isVerified else { throw CredentialRefusal.malformedAnswer }
        // The plan asks only keys that announce large blobs.
        guard creation.extensions.largeBlob != .required || made.hasLargeBlobKey else {
            throw CredentialRefusal.malformedAnswer
        }
        let isAnonymous = creation.attestation == .none
        let object = try AttestationObject(made, isAnonymous: isAnonymous)
        var created = CreatedCredential(
            credentialIdentifier: made.identifier, attestationObject: object.bytes,
            transports: description.transports, attachment: .crossPlatform)
        if creation.extensions.wantsPRF {
            created.supportsPRF = AuthenticatorData(made.authenticatorData).hasHMACSecret
        }
        if creation.extensions.largeBlob != nil { created.supportsLargeBlob = made.hasLargeBlobKey }
        return created
    }
}

/// Names on their way to a key.
enum KeyText {
    /// Cut so that a helper takes it; a zero byte would end it early.
    static func fitting(_ text: String) -> String {
        var kept = text.replacing("\0", with: "")
        while kept.utf8.count > SecurityKeyLimits.textByteCount { kept.removeLast() }
        return kept
    }
}
