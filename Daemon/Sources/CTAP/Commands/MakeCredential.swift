import AuthenticatorRequests
import Cancellations
import CanonicalCBOR
import ExactNames

/// What authenticatorMakeCredential asks (CTAP 2.1, 6.1).
struct MakeCredentialRequest {
    let clientDataHash: [UInt8]
    let relyingParty: RelyingPartyName
    let user: CredentialUser
    let excluded: [[UInt8]]
    let options: CommandOptions
    let authorization: AuthorizationParameters
    let protection: CredentialProtection?
    let wantsSecret: Bool

    init(_ parameters: Parameters, of model: AuthenticatorModel) throws(CTAPStatus) {
        clientDataHash = try ClientDataHash.bytes(parameters.required(1, \.byteArray))
        relyingParty = try RelyingPartyName(parameters.required(2, \.map), of: model)
        user = try CredentialUser(parameters.required(3, \.map))
        let algorithms = try parameters.required(4, \.array)
        excluded = try CredentialList.identifiers(parameters.optional(5, { $0 }) ?? .array([]))
        let extensions = try parameters.optional(6, \.map)
        options = try CommandOptions(parameters.optional(7, \.map))
        authorization = try AuthorizationParameters(parameters, codeKey: 8, versionKey: 9)
        if try parameters.optional(10, \.integer) != nil { throw .invalidParameter }
        protection = try Self.protection(extensions)
        wantsSecret = try extensions.map { Parameters($0) }?.optional("hmac-secret", \.boolean) ?? false
        try Self.checkAlgorithms(algorithms)
    }

    private static func protection(_ extensions: CBORMap?) throws(CTAPStatus) -> CredentialProtection? {
        guard let extensions, let level = try Parameters(extensions).optional("credProtect", \.integer) else {
            return nil
        }
        guard let level = UInt8(exactly: level), let protection = CredentialProtection(rawValue: level) else {
            throw .invalidOption
        }
        return protection
    }

    /// ES256 must be among them; it is all that this authenticator has.
    private static func checkAlgorithms(_ values: [CBORValue]) throws(CTAPStatus) {
        var isFound = false
        for value in values {
            guard let map = value.map else { throw .unexpectedType }
            let parameters = Parameters(map)
            let algorithm = try parameters.required("alg", \.integer)
            let type = try parameters.required("type", \.text)
            if type == CredentialList.publicKey, algorithm == COSEKey.es256 { isFound = true }
        }
        guard isFound else { throw .unsupportedAlgorithm }
    }
}

enum ClientDataHash {
    static func bytes(_ bytes: [UInt8]) throws(CTAPStatus) -> [UInt8] {
        guard bytes.count == 32 else { throw .invalidLength }
        return bytes
    }
}

extension CTAPAuthenticator {
    mutating func makeCredential(
        _ parameters: Parameters, until cancellation: Cancellation
    ) throws(CTAPStatus) -> CBORValue {
        try selectLegacy(AuthorizationParameters(parameters, codeKey: 8, versionKey: 9), until: cancellation)
        let request = try MakeCredentialRequest(parameters, of: model)
        guard request.options.presence != false else { throw .invalidOption }
        // Those that the question names, and no others: one that comes while the user is asked stays.
        let replaced = try existing(for: request).filter {
            request.options.discoverable == true && $0.isDiscoverable && $0.user.identifier == request.user.identifier
        }
        let question = InteractionRequest(
            purpose: .makeCredential, relyingParty: request.relyingParty, user: request.user,
            replaced: replaced.map(\.user))
        var authorization = try authorize(request, question, until: cancellation)
        let isExcluded = try existing(for: request).contains {
            request.excluded.contains($0.identifier) && isVisible($0, authorization)
        }
        // The question for a token named no account, so nobody has agreed yet to lose this one.
        if !isExcluded, !replaced.isEmpty, request.authorization.code != nil {
            authorization.isUserPresent = false
            // It must not outlive its token while the question waits, and the answer brings another one.
            authorization.proof = nil
        }
        try confirm(&authorization, for: question, until: cancellation)
        guard !isExcluded else { throw .credentialExcluded }
        token?.spend()
        return try attest(request, authorization, replacing: replaced)
    }

    /// The credentials of the relying party.
    private func existing(for request: MakeCredentialRequest) throws(CTAPStatus) -> [StoredCredential] {
        try storage.credentials().filter { $0.relyingParty.identifier == request.relyingParty.identifier }
    }

    private func isVisible(_ credential: StoredCredential, _ authorization: CommandAuthorization) -> Bool {
        credential.protection != .required || authorization.isUserVerified
    }

    private mutating func authorize(
        _ request: MakeCredentialRequest, _ question: InteractionRequest,
        until cancellation: Cancellation
    ) throws(CTAPStatus) -> CommandAuthorization {
        let wantsVerification = request.options.verification == true && request.authorization.code == nil
        if request.options.discoverable == true, request.authorization.code == nil, !wantsVerification,
            !model.alwaysVerifies, try isProtected()
        {
            throw .verificationRequired
        }
        return try authorize(
            request.authorization, wantsVerification: wantsVerification, needing: .makeCredential,
            over: request.clientDataHash, for: question, until: cancellation)
    }

    /// Makes the credential, and signs that it did with the new key (self attestation, WebAuthn 8.2).
    private func attest(
        _ request: MakeCredentialRequest, _ authorization: CommandAuthorization, replacing replaced: [StoredCredential]
    ) throws(CTAPStatus) -> CBORValue {
        let new = NewCredential(
            relyingParty: request.relyingParty, user: request.user,
            isDiscoverable: request.options.discoverable == true,
            protection: request.protection ?? .optional, hasSecret: request.wantsSecret)
        func data(_ credential: StoredCredential, _ counter: UInt32) -> AuthenticatorData {
            AuthenticatorData(
                flags: authorization.flags, relyingParty: request.relyingParty.identifier, counter: counter,
                newCredential: (
                    model.identifier, credential.identifier, COSEKey.value(signing: credential.publicKey).encoded
                ),
                extensions: extensions(request))
        }
        let (credential, signature) = try storage.create(
            new, replacing: replaced.map(\.identifier), under: authorization.proof
        ) { data($0, $1).bytes + request.clientDataHash }
        return .map([
            1: .text("packed"), 2: .bytes(data(credential, signature.counter).bytes),
            3: .map(["alg": .number(COSEKey.es256), "sig": .bytes(signature.bytes)]),
        ])
    }

    private func extensions(_ request: MakeCredentialRequest) -> CBORValue? {
        guard request.protection != nil || request.wantsSecret else { return nil }
        return .map([
            "credProtect": request.protection.map { .unsigned(UInt64($0.rawValue)) },
            "hmac-secret": request.wantsSecret ? .boolean(true) : nil,
        ])
    }
}
