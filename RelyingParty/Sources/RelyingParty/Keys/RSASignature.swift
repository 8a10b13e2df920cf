import Crypto
import CryptoExtras
import Foundation

/// A signature of RSA with the hash and the padding of its algorithm.
struct RSASignature {
    private let signature: _RSA.Signing.RSASignature
    private let algorithm: COSEAlgorithm
    private let byteCount: Int

    init(_ signature: Data, _ algorithm: COSEAlgorithm) {
        self.signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
        self.algorithm = algorithm
        byteCount = signature.count
    }

    func isValid(_ message: SignedMessage, _ key: _RSA.Signing.PublicKey) -> Bool { isValid(message.bytes, key) }

    /// False for an algorithm that is none of RSA's.
    func isValid(_ message: [UInt8], _ key: _RSA.Signing.PublicKey) -> Bool {
        guard byteCount <= Limits.rsaModulusByteCount.upperBound else { return false }
        switch algorithm {
        case .rs256:
            return key.isValidSignature(signature, for: SHA256.hash(data: message), padding: .insecurePKCS1v1_5)
        case .ps256: return key.isValidSignature(signature, for: SHA256.hash(data: message), padding: .PSS)
        case .ps384: return key.isValidSignature(signature, for: SHA384.hash(data: message), padding: .PSS)
        case .ps512: return key.isValidSignature(signature, for: SHA512.hash(data: message), padding: .PSS)
        default: return false
        }
    }
}

extension COSEAlgorithm {
    var hasPSS: Bool { [.ps256, .ps384, .ps512].contains(self) }
}
