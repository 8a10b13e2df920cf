import AuthenticatorRequests
import Cancellations
import CanonicalCBOR
import ExactNames

/// How a command says who the user is: a token, or verification on the authenticator, or neither.
struct CommandAuthorization {
    var isUserVerified = false
    var isUserPresent = false
    var proof: (any UserProof)?

    var flags: AuthenticatorData.Flags {
        var flags: AuthenticatorData.Flags = []
        if isUserVerified { flags.insert(.userVerified) }
        if isUserPresent { flags.insert(.userPresent) }
        return flags
    }
}

/// The parameters by which a command is authorized.
struct AuthorizationParameters {
    let code: [UInt8]?
    let version: PINProtocol?

    /// - Parameters:
    ///   - codeKey: where `pinUvAuthParam` stands.
    ///   - versionKey: where `pinUvAuthProtocol` stands.
    init(_ parameters: Parameters, codeKey: Int, versionKey: Int) throws(CTAPStatus) {
        code = try parameters.optional(codeKey, \.byteArray)
        let number = try parameters.optional(versionKey, \.integer)
        version = number.flatMap { PINProtocol(rawValue: $0) }
        guard let code, !code.isEmpty else { return }
        guard number != nil else { throw .missingParameter }
        guard version != nil else { throw .invalidParameter }
    }
}

/// The options of authenticatorMakeCredential and authenticatorGetAssertion.
struct CommandOptions {
    let discoverable: Bool?
    let presence: Bool?
    let verification: Bool?

    init(_ map: CBORMap?) throws(CTAPStatus) {
        let parameters = map.map { Parameters($0) }
        discoverable = try parameters?.optional("rk", \.boolean)
        presence = try parameters?.optional("up", \.boolean)
        verification = try parameters?.optional("uv", \.boolean)
    }
}

extension CTAPAuthenticator {
    /// Checks a token, or verifies the user.
    ///
    /// - Parameter request: what the user is asked, if the authenticator verifies.
    mutating func authorize(
        _ parameters: AuthorizationParameters, wantsVerification: Bool, needing permission: PINUserToken.Permissions,
        over hash: [UInt8], for request: InteractionRequest, until cancellation: Cancellation
    ) throws(CTAPStatus) -> CommandAuthorization {
        if let code = parameters.code, let version = parameters.version {
            return try authorize(code, version, needing: permission, over: hash, for: request.relyingParty?.identifier)
        }
        guard wantsVerification || (model.alwaysVerifies && interaction.isVerificationReady == true) else {
            guard !model.alwaysVerifies else { throw .verificationRequired }
            return CommandAuthorization()
        }
        guard interaction.isVerificationReady == true else { throw .invalidOption }
        let proof = try interaction.verify(for: request, until: cancellation)
        return CommandAuthorization(isUserVerified: true, isUserPresent: true, proof: proof)
    }

    private mutating func authorize(
        _ code: [UInt8], _ version: PINProtocol, needing permission: PINUserToken.Permissions, over hash: [UInt8],
        for relyingParty: ExactName?
    ) throws(CTAPStatus) -> CommandAuthorization {
        var used = try verifiedToken(code, version, over: hash, needing: permission)
        guard used.isUserVerified else { throw .pinAuthInvalid }
        if let bound = used.relyingParty, bound != relyingParty { throw .pinAuthInvalid }
        if used.relyingParty == nil, let relyingParty { used.bind(to: relyingParty) }
        used.noteUse(at: now)
        token = used
        return CommandAuthorization(isUserVerified: true, isUserPresent: used.isUserPresent, proof: used.proof)
    }

    /// The token, if `code` was made with it and it permits the command. That is no use of it yet: a code that does
    /// not fit must not lengthen its life.
    ///
    /// - Throws: ``CTAPStatus/pinAuthInvalid``.
    func verifiedToken(
        _ code: [UInt8], _ version: PINProtocol, over message: [UInt8], needing permission: PINUserToken.Permissions
    ) throws(CTAPStatus) -> PINUserToken {
        guard let token, version.isValid(code, of: message, key: token.value), token.permissions.contains(permission)
        else { throw .pinAuthInvalid }
        return token
    }

    /// A client of CTAP 2.0 blinks an authenticator so: no code at all, but a touch.
    func selectLegacy(
        _ parameters: AuthorizationParameters, until cancellation: Cancellation
    ) throws(CTAPStatus) {
        guard let code = parameters.code, code.isEmpty else { return }
        _ = try interaction.confirmPresence(for: InteractionRequest(purpose: .selection), until: cancellation)
        guard let pins, try pins.pinHash() != nil else { throw .pinNotSet }
        throw .pinInvalid
    }

    /// Asks for a touch, unless the user was present for this command already.
    func confirm(
        _ authorization: inout CommandAuthorization, for request: InteractionRequest,
        until cancellation: Cancellation
    ) throws(CTAPStatus) {
        guard !authorization.isUserPresent else { return }
        let proof = try interaction.confirmPresence(for: request, until: cancellation)
        authorization.isUserPresent = true
        if let proof { authorization.proof = proof }
    }
}
