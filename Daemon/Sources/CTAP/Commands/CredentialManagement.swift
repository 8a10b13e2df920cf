import AuthenticatorRequests
import CanonicalCBOR
import ExactNames

/// The rest of a list that a client reads one by one.
struct CredentialEnumeration {
    enum Rest {
        case relyingParties([RelyingPartyName])
        case credentials([StoredCredential])
    }

    let rest: Rest
    /// When the latest part was told.
    let time: Duration
}

extension CTAPAuthenticator {
    /// authenticatorCredentialManagement (CTAP 2.1, 6.8).
    mutating func manageCredentials(_ parameters: Parameters) throws(CTAPStatus) -> CBORValue? {
        let subcommand = try parameters.required(1, \.integer)
        let pending = enumeration?.rest
        enumeration = nil
        switch subcommand {
        case 3:
            guard case .relyingParties(let names)? = pending else { throw .notAllowed }
            return try next(names, total: nil)
        case 5:
            guard case .credentials(let credentials)? = pending else { throw .notAllowed }
            return try next(credentials, total: nil)
        case 1, 2, 4, 6, 7: return try manage(UInt8(subcommand), parameters)
        default: throw .invalidSubcommand
        }
    }

    private mutating func manage(_ subcommand: UInt8, _ parameters: Parameters) throws(CTAPStatus) -> CBORValue? {
        let arguments = try parameters.optional(2, \.map)
        let authorization = try AuthorizationParameters(parameters, codeKey: 4, versionKey: 3)
        guard let code = authorization.code, let version = authorization.version else { throw .verificationRequired }
        let message = [subcommand] + (arguments.map { CBORValue.map($0).encoded } ?? [])
        var token = try verifiedToken(code, version, over: message, needing: .credentialManagement)
        token.noteUse(at: now)
        self.token = token
        let details = Parameters(arguments ?? CBORMap([]))
        switch subcommand {
        case 1: return try metadata(token)
        case 2: return try enumerateRelyingParties(token)
        case 4: return try enumerateCredentials(details, token)
        case 6: try storage.remove(named(details, token).identifier)
        default: try updateUser(details, token)
        }
        return nil
    }

    private func discoverable() throws(CTAPStatus) -> [StoredCredential] {
        try storage.credentials().filter(\.isDiscoverable)
    }

    private func metadata(_ token: PINUserToken) throws(CTAPStatus) -> CBORValue {
        guard token.relyingParty == nil else { throw .pinAuthInvalid }
        return .map([1: .number(try discoverable().count), 2: .number(try storage.remainingCount())])
    }

    private mutating func enumerateRelyingParties(_ token: PINUserToken) throws(CTAPStatus) -> CBORValue {
        guard token.relyingParty == nil else { throw .pinAuthInvalid }
        var names: [RelyingPartyName] = []
        for credential in try discoverable()
        where !names.contains(where: { $0.identifier == credential.relyingParty.identifier }) {
            names.append(credential.relyingParty)
        }
        return try next(names, total: names.count)
    }

    private mutating func next(_ names: [RelyingPartyName], total: Int?) throws(CTAPStatus) -> CBORValue {
        guard let name = names.first else { throw total == nil ? .notAllowed : .noCredentials }
        enumeration = CredentialEnumeration(rest: .relyingParties(Array(names.dropFirst())), time: now)
        return .map([
            3: name.cbor, 4: .bytes(AuthenticatorData.hash(of: name.identifier)), 5: total.map { .number($0) },
        ])
    }

    private mutating func enumerateCredentials(
        _ details: Parameters, _ token: PINUserToken
    ) throws(CTAPStatus) -> CBORValue {
        let hash = try details.required(1, \.byteArray)
        if let bound = token.relyingParty, AuthenticatorData.hash(of: bound) != hash { throw .pinAuthInvalid }
        let found = try discoverable().filter { AuthenticatorData.hash(of: $0.relyingParty.identifier) == hash }
        return try next(found, total: found.count)
    }

    private mutating func next(_ credentials: [StoredCredential], total: Int?) throws(CTAPStatus) -> CBORValue {
        guard let credential = credentials.first else { throw total == nil ? .notAllowed : .noCredentials }
        enumeration = CredentialEnumeration(rest: .credentials(Array(credentials.dropFirst())), time: now)
        return .map([
            6: credential.user.cbor(isNamed: true), 7: CredentialList.descriptor(credential.identifier),
            8: COSEKey.value(signing: credential.publicKey), 9: total.map { .number($0) },
            10: .unsigned(UInt64(credential.protection.rawValue)),
        ])
    }

    /// The credential that a subcommand names.
    private func named(_ details: Parameters, _ token: PINUserToken) throws(CTAPStatus) -> StoredCredential {
        let identifier = try CredentialList.identifier(details.required(2, { $0 }))
        guard let credential = try discoverable().first(where: { $0.identifier == identifier }) else {
            throw .noCredentials
        }
        if let bound = token.relyingParty, bound != credential.relyingParty.identifier { throw .pinAuthInvalid }
        return credential
    }

    private func updateUser(_ details: Parameters, _ token: PINUserToken) throws(CTAPStatus) {
        let credential = try named(details, token)
        let user = try CredentialUser(details.required(3, \.map))
        guard user.identifier == credential.user.identifier else { throw .invalidParameter }
        try storage.update(user, of: credential.identifier)
    }
}
