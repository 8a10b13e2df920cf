import AuthenticatorRequests
import Cancellations
import CanonicalCBOR
import ExactNames

/// What authenticatorGetAssertion asks (CTAP 2.1, 6.2).
struct GetAssertionRequest {
    let relyingParty: ExactName
    let clientDataHash: [UInt8]
    /// nil for every discoverable credential; an empty list counts as none.
    let allowed: [[UInt8]]?
    let salts: EncryptedSalts?
    let options: CommandOptions
    let authorization: AuthorizationParameters

    init(_ parameters: Parameters, of model: AuthenticatorModel) throws(CTAPStatus) {
        relyingParty = try RelyingPartyName.identifier(parameters.required(1, \.text), of: model)
        clientDataHash = try ClientDataHash.bytes(parameters.required(2, \.byteArray))
        let list = try parameters.optional(3, \.array)
        allowed = try list.flatMap { list throws(CTAPStatus) in
            list.isEmpty ? nil : try CredentialList.identifiers(.array(list))
        }
        let extensions = try parameters.optional(4, \.map)
        salts = try extensions.flatMap { map throws(CTAPStatus) in
            try Parameters(map).optional("hmac-secret", \.map)
        }.map { map throws(CTAPStatus) in try EncryptedSalts(map) }
        options = try CommandOptions(parameters.optional(5, \.map))
        authorization = try AuthorizationParameters(parameters, codeKey: 6, versionKey: 7)
    }
}

/// Credentials that wait for authenticatorGetNextAssertion.
struct PendingAssertions {
    var credentials: [StoredCredential]
    let request: GetAssertionRequest
    let authorization: CommandAuthorization
    let salts: DecryptedSalts?
    var time: Duration
    /// Names them in the list of what stands.
    let number = UInt64.random(in: 1 ... .max)
}

extension CTAPAuthenticator {
    mutating func getAssertion(
        _ parameters: Parameters, until cancellation: Cancellation
    ) throws(CTAPStatus) -> CBORValue {
        try selectLegacy(AuthorizationParameters(parameters, codeKey: 6, versionKey: 7), until: cancellation)
        let request = try GetAssertionRequest(parameters, of: model)
        guard request.options.discoverable == nil else { throw .unsupportedOption }
        let needsPresence = request.options.presence != false
        if request.salts != nil, !needsPresence { throw .unsupportedOption }
        // Read once, because reading decrypts each row.
        let stored = try storage.credentials().filter { $0.relyingParty.identifier == request.relyingParty }
        let question = InteractionRequest(
            purpose: .getAssertion, relyingParty: RelyingPartyName(identifier: request.relyingParty),
            credentials: Self.candidates(among: stored, for: request, isUserVerified: true).map(\.identifier))
        var authorization = try authorize(request, needsPresence, question, until: cancellation)
        let candidates = Self.candidates(
            among: stored, for: request, isUserVerified: authorization.isUserVerified)
        guard !candidates.isEmpty else { throw .noCredentials }
        let salts = try request.salts.map { salts throws(CTAPStatus) in try salts.decrypt(agreements) }
        if needsPresence { try confirm(&authorization, for: question, until: cancellation) }
        // Some may have been removed during a question. Only those that it named sign.
        let remaining = try storage.identifiers()
        let found = candidates.filter { remaining.contains($0.identifier) }
        guard !found.isEmpty else { throw .noCredentials }
        if needsPresence {
            token?.spend()
        } else {
            // A client looks so for a credential before it uses its token, maybe several times (CTAP 2.1, pre-flight). The
            // token stays, so the signature must not say that somebody was there or was verified.
            (authorization.isUserPresent, authorization.isUserVerified) = (false, false)
        }
        return try assert(found, request, authorization, salts)
    }

    private mutating func authorize(
        _ request: GetAssertionRequest, _ needsPresence: Bool, _ question: InteractionRequest,
        until cancellation: Cancellation
    ) throws(CTAPStatus) -> CommandAuthorization {
        // Without presence nothing is signed for anybody; a client only asks whether a credential is there.
        if !needsPresence, request.authorization.code == nil, request.options.verification != true {
            guard !model.alwaysVerifies else { throw .verificationRequired }
            return CommandAuthorization()
        }
        return try authorize(
            request.authorization,
            wantsVerification: request.options.verification == true && request.authorization.code == nil,
            needing: .getAssertion, over: request.clientDataHash, for: question, until: cancellation)
    }

    /// The credentials that may answer, the newest first.
    private static func candidates(
        among credentials: [StoredCredential], for request: GetAssertionRequest, isUserVerified: Bool
    ) -> [StoredCredential] {
        guard let allowed = request.allowed else {
            return credentials.filter {
                $0.isDiscoverable && (isUserVerified || $0.protection == .optional)
            }
        }
        let visible = credentials.filter { isUserVerified || $0.protection != .required }
        for identifier in allowed {
            if let credential = visible.first(where: { $0.identifier == identifier }) { return [credential] }
        }
        return []
    }

    private mutating func assert(
        _ credentials: [StoredCredential], _ request: GetAssertionRequest, _ authorization: CommandAuthorization,
        _ salts: DecryptedSalts?
    ) throws(CTAPStatus) -> CBORValue {
        guard let first = credentials.first else { throw .noCredentials }
        let answer = try assertion(
            by: first, request, authorization, salts, count: credentials.count > 1 ? credentials.count : nil)
        if credentials.count > 1 {
            pendingAssertions = PendingAssertions(
                credentials: Array(credentials.dropFirst()), request: request, authorization: authorization,
                salts: salts, time: now)
        }
        return answer
    }

    /// authenticatorGetNextAssertion (CTAP 2.1, 6.3).
    mutating func getNextAssertion() throws(CTAPStatus) -> CBORValue {
        guard var pending = pendingAssertions, let next = pending.credentials.first else { throw .notAllowed }
        pendingAssertions = nil
        guard now - pending.time < CTAPLimits.nextOfList else { throw .notAllowed }
        let answer = try assertion(by: next, pending.request, pending.authorization, pending.salts, count: nil)
        pending.credentials.removeFirst()
        pending.time = now
        if !pending.credentials.isEmpty { pendingAssertions = pending }
        return answer
    }

    private func assertion(
        by credential: StoredCredential, _ request: GetAssertionRequest, _ authorization: CommandAuthorization,
        _ salts: DecryptedSalts?, count: Int?
    ) throws(CTAPStatus) -> CBORValue {
        let extensions = try outputs(salts, credential, authorization)
        func data(_ counter: UInt32) -> AuthenticatorData {
            AuthenticatorData(
                flags: authorization.flags, relyingParty: request.relyingParty, counter: counter, newCredential: nil,
                extensions: extensions)
        }
        let signature = try storage.sign(with: credential, under: authorization.proof) {
            data($0).bytes + request.clientDataHash
        }
        let user = credential.user.cbor(isNamed: authorization.isUserVerified && request.allowed == nil)
        return .map([
            1: CredentialList.descriptor(credential.identifier), 2: .bytes(data(signature.counter).bytes),
            3: .bytes(signature.bytes), 4: credential.isDiscoverable ? user : nil, 5: count.map { .number($0) },
        ])
    }

    private func outputs(
        _ salts: DecryptedSalts?, _ credential: StoredCredential, _ authorization: CommandAuthorization
    ) throws(CTAPStatus) -> CBORValue? {
        guard let salts, credential.hasSecret else { return nil }
        let outputs = try storage.outputs(
            of: salts.values, with: credential, isVerified: authorization.isUserVerified, under: authorization.proof)
        return .map(["hmac-secret": .bytes(try salts.secret.encrypt(outputs.first + (outputs.second ?? [])))])
    }
}
