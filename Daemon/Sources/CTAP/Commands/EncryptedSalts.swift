import AuthenticatorRequests
import CanonicalCBOR

/// The input of hmac-secret (CTAP 2.1, 12.5).
struct EncryptedSalts {
    private let peer: CBORMap
    private let ciphertext: [UInt8]
    private let code: [UInt8]
    private let version: PINProtocol

    init(_ map: CBORMap) throws(CTAPStatus) {
        let parameters = Parameters(map)
        peer = try parameters.required(1, \.map)
        ciphertext = try parameters.required(2, \.byteArray)
        code = try parameters.required(3, \.byteArray)
        guard let version = PINProtocol(rawValue: try parameters.optional(4, \.integer) ?? 1) else {
            throw .invalidParameter
        }
        self.version = version
    }

    /// - Throws: ``CTAPStatus/pinAuthInvalid`` for a wrong code, ``CTAPStatus/invalidLength`` for anything but one or two
    ///   salts of 32 bytes.
    func decrypt(_ agreements: KeyAgreements) throws(CTAPStatus) -> DecryptedSalts {
        let secret = try agreements.secret(version, with: peer)
        guard secret.isValid(code, of: ciphertext) else { throw .pinAuthInvalid }
        let salts = try secret.decrypt(ciphertext)
        switch salts.count {
        case 32: return DecryptedSalts(values: PRFSalts(first: salts), secret: secret)
        case 64:
            let values = PRFSalts(first: Array(salts.prefix(32)), second: Array(salts.suffix(32)))
            return DecryptedSalts(values: values, secret: secret)
        default: throw .invalidLength
        }
    }
}

struct DecryptedSalts {
    let values: PRFSalts
    /// Encrypts the outputs.
    let secret: SharedSecret
}
