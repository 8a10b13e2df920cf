import AuthenticatorRequests
import Cancellations
import CanonicalCBOR
import Crypto
import ExactNames
import Foundation
import SecretMemory

extension CTAPAuthenticator {
    /// authenticatorClientPIN (CTAP 2.1, 6.5).
    mutating func clientPIN(
        _ parameters: Parameters, until cancellation: Cancellation
    ) throws(CTAPStatus) -> CBORValue? {
        switch try parameters.required(2, \.integer) {
        case 1: return try pinRetries()
        case 2: return .map([1: try agreements.publicKey(version(parameters))])
        case 3: try setPIN(parameters)
        case 4: try changePIN(parameters)
        case 5: return try tokenForPIN(parameters)
        case 6: return try tokenForVerification(parameters, until: cancellation)
        case 7:
            guard interaction.isVerificationReady != nil else { throw .invalidParameter }
            return .map([5: .number(interaction.verificationTriesLeft)])
        case 9: return try tokenForPIN(parameters, TokenRequest(parameters, of: model))
        default: throw .invalidSubcommand
        }
        return nil
    }

    private func version(_ parameters: Parameters) throws(CTAPStatus) -> PINProtocol {
        guard let version = PINProtocol(rawValue: try parameters.required(1, \.integer)) else {
            throw .invalidParameter
        }
        return version
    }

    private func requirePINs() throws(CTAPStatus) -> any PINStorage {
        guard let pins else { throw .invalidParameter }
        return pins
    }

    private func pinRetries() throws(CTAPStatus) -> CBORValue {
        let pins = try requirePINs()
        return .map([3: .number(try pins.pinTriesLeft()), 4: .boolean(needsPowerCycle)])
    }

    private var needsPowerCycle: Bool { wrongPINsInARow >= CTAPLimits.pinTriesInARow }

    private func secret(_ parameters: Parameters) throws(CTAPStatus) -> SharedSecret {
        let version = try version(parameters)
        return try agreements.secret(version, with: parameters.required(3, \.map))
    }

    private mutating func setPIN(_ parameters: Parameters) throws(CTAPStatus) {
        let pins = try requirePINs()
        let code = try parameters.required(4, \.byteArray)
        let ciphertext = try parameters.required(5, \.byteArray)
        guard try pins.pinHash() == nil else { throw .pinAuthInvalid }
        let secret = try secret(parameters)
        guard secret.isValid(code, of: ciphertext) else { throw .pinAuthInvalid }
        try pins.setPINHash(NewPIN.hash(of: secret.decrypt(ciphertext)))
    }

    private mutating func changePIN(_ parameters: Parameters) throws(CTAPStatus) {
        let pins = try requirePINs()
        let code = try parameters.required(4, \.byteArray)
        let newCiphertext = try parameters.required(5, \.byteArray)
        let oldCiphertext = try parameters.required(6, \.byteArray)
        try checkTries(pins)
        let secret = try secret(parameters)
        guard secret.isValid(code, of: newCiphertext + oldCiphertext) else { throw .pinAuthInvalid }
        try checkPIN(oldCiphertext, secret, pins)
        try pins.setPINHash(NewPIN.hash(of: secret.decrypt(newCiphertext)))
        token = nil
    }

    /// Refuses before anything is compared, so that these answers tell nothing about a PIN.
    private func checkTries(_ pins: any PINStorage) throws(CTAPStatus) {
        guard try pins.pinHash() != nil else { throw .pinNotSet }
        guard try pins.pinTriesLeft() > 0 else { throw .pinBlocked }
        guard !needsPowerCycle else { throw .pinAuthBlocked }
    }

    /// Counts a try, then compares (CTAP 2.1, 6.5.5.7).
    private mutating func checkPIN(
        _ ciphertext: [UInt8], _ secret: SharedSecret, _ pins: any PINStorage
    ) throws(CTAPStatus) {
        let triesLeft = try pins.pinTriesLeft() - 1
        try pins.setPINTriesLeft(triesLeft)
        let hash = try pins.pinHash()
        var given: [UInt8]?
        do { given = try secret.decrypt(ciphertext) } catch { given = nil }
        guard let hash, let given, isSame(given, hash) else {
            agreements.renew(secret.version)
            wrongPINsInARow += 1
            if triesLeft == 0 { throw .pinBlocked }
            throw needsPowerCycle ? .pinAuthBlocked : .pinInvalid
        }
        wrongPINsInARow = 0
        try pins.setPINTriesLeft(CTAPLimits.pinTries)
    }

    /// Takes the same time wherever they differ.
    private func isSame(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        unsafe one.withUnsafeBytes { one in
            unsafe other.withUnsafeBytes { other in
                unsafe SecretBytes(copying: one).isEqual(to: SecretBytes(copying: other))
            }
        }
    }

    private mutating func tokenForPIN(
        _ parameters: Parameters, _ request: TokenRequest? = nil
    ) throws(CTAPStatus) -> CBORValue {
        let pins = try requirePINs()
        let ciphertext = try parameters.required(6, \.byteArray)
        if request == nil {
            // The command of CTAP 2.0 knows no permissions.
            guard try parameters.optional(9, { $0 }) == nil, try parameters.optional(10, { $0 }) == nil else {
                throw .invalidParameter
            }
        }
        try checkTries(pins)
        let secret = try secret(parameters)
        try checkPIN(ciphertext, secret, pins)
        let token = PINUserToken(
            request?.permissions ?? [.makeCredential, .getAssertion], for: request?.relyingParty, isUserPresent: false,
            proof: nil, at: now)
        return try give(token, secret)
    }

    private mutating func tokenForVerification(
        _ parameters: Parameters, until cancellation: Cancellation
    ) throws(CTAPStatus) -> CBORValue {
        let request = try TokenRequest(parameters, of: model)
        // The user's answer to the one question is all that the token needs later, so it is for one purpose. A PIN is
        // different: the authenticator still asks for a touch before it signs.
        guard !request.permissions.mixManagement else { throw .unauthorizedPermission }
        guard interaction.isVerificationReady == true else { throw .notAllowed }
        let secret = try secret(parameters)
        let proof = try interaction.verify(
            for: InteractionRequest(
                purpose: request.permissions.purpose,
                relyingParty: request.relyingParty.map { RelyingPartyName(identifier: $0) }),
            until: cancellation)
        let token = PINUserToken(
            request.permissions, for: request.relyingParty, isUserPresent: true, proof: proof, at: now)
        return try give(token, secret)
    }

    private mutating func give(_ token: PINUserToken, _ secret: SharedSecret) throws(CTAPStatus) -> CBORValue {
        let bytes = unsafe token.value.withUnsafeBytes { unsafe [UInt8]($0) }
        let answer = CBORValue.map([2: .bytes(try secret.encrypt(bytes))])
        self.token = token
        return answer
    }
}

/// What a client wants a token for.
private struct TokenRequest {
    let permissions: PINUserToken.Permissions
    let relyingParty: ExactName?

    init(_ parameters: Parameters, of model: AuthenticatorModel) throws(CTAPStatus) {
        let number = try parameters.required(9, \.integer)
        relyingParty = try parameters.optional(10, \.text).map { text throws(CTAPStatus) in
            try RelyingPartyName.identifier(text, of: model)
        }
        guard number > 0 else { throw .invalidParameter }
        permissions = PINUserToken.Permissions(rawValue: UInt8(truncatingIfNeeded: number))
        guard permissions.isDisjoint(with: .unavailable) else { throw .unauthorizedPermission }
        let isBound = !permissions.isDisjoint(with: [.makeCredential, .getAssertion])
        if isBound, relyingParty == nil { throw .missingParameter }
    }
}

extension PINUserToken.Permissions {
    /// Whether management of credentials comes together with something that signs.
    fileprivate var mixManagement: Bool {
        contains(.credentialManagement) && !isDisjoint(with: [.makeCredential, .getAssertion])
    }

    /// What the user agrees to.
    fileprivate var purpose: InteractionRequest.Purpose {
        if contains(.credentialManagement) { return .management }
        return self == .makeCredential ? .makeCredential : self == .getAssertion ? .getAssertion : .permissions
    }
}

private enum NewPIN {
    /// The first 16 bytes of the hash of a PIN that came padded with zeros to 64 bytes.
    ///
    /// - Throws: ``CTAPStatus/pinPolicyViolation`` for fewer than four characters, or bytes that are no text.
    static func hash(of padded: [UInt8]) throws(CTAPStatus) -> [UInt8] {
        guard padded.count == 64 else { throw .invalidParameter }
        let end = padded.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
        guard end < 64, isLongEnough(padded[..<end]) else { throw .pinPolicyViolation }
        return Array(SHA256.hash(data: padded[..<end]).prefix(16))
    }

    private static func isLongEnough(_ text: ArraySlice<UInt8>) -> Bool {
        guard String(validating: text, as: UTF8.self) != nil else { return false }
        return text.count { $0 & 0xC0 != 0x80 } >= CTAPLimits.pinCharacterCount
    }
}
