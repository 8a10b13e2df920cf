import Foundation
import KeyAlgorithms
@testable import Security
import Testing

/// Apple's calls with their errors as Swift errors, for tests.
enum Keys {
    static let curves = [256, 384, 521]

    static func random(_ type: CFString, _ size: Any, _ extra: [CFString: Any] = [:]) throws -> SecKey {
        var parameters: [CFString: Any] = [kSecAttrKeyType: type, kSecAttrKeySizeInBits: size]
        parameters.merge(extra) { $1 }
        return try attempt { SecKeyCreateRandomKey(parameters as CFDictionary, $0) }
    }

    static func curve(_ size: Int) throws -> SecKey { try random(kSecAttrKeyTypeECSECPrimeRandom, size) }

    /// One RSA key per size for the whole run: making one takes its time.
    static func rsa(_ size: Int = 2048) throws -> SecKey { try #require(try rsaKeys.get()[size]) }

    private static let rsaKeys = Result<[Int: SecKey], any Error> {
        try Dictionary(uniqueKeysWithValues: [1024, 2048, 4096].map { ($0, try random(kSecAttrKeyTypeRSA, $0)) })
    }

    static func publicKey(_ key: SecKey) throws -> SecKey { try #require(SecKeyCopyPublicKey(key)) }

    static func bytes(_ key: SecKey) throws -> Data {
        try attempt { SecKeyCopyExternalRepresentation(key, $0) } as Data
    }

    static func read(_ bytes: Data, _ type: Any, _ keyClass: Any, _ extra: [CFString: Any] = [:]) throws -> SecKey {
        var attributes: [CFString: Any] = [kSecAttrKeyType: type, kSecAttrKeyClass: keyClass]
        attributes.merge(extra) { $1 }
        return try attempt { SecKeyCreateWithData(bytes as CFData, attributes as CFDictionary, $0) }
    }

    static func sign(_ key: SecKey, _ algorithm: SecKeyAlgorithm, _ input: Data) throws -> Data {
        try attempt { SecKeyCreateSignature(key, algorithm, input as CFData, $0) } as Data
    }

    static func verify(_ key: SecKey, _ algorithm: SecKeyAlgorithm, _ input: Data, _ signature: Data) throws {
        _ = try attempt {
            SecKeyVerifySignature(key, algorithm, input as CFData, signature as CFData, $0) ? true : nil
        }
    }

    static func encrypt(_ key: SecKey, _ algorithm: SecKeyAlgorithm, _ plaintext: Data) throws -> Data {
        try attempt { SecKeyCreateEncryptedData(key, algorithm, plaintext as CFData, $0) } as Data
    }

    static func decrypt(_ key: SecKey, _ algorithm: SecKeyAlgorithm, _ ciphertext: Data) throws -> Data {
        try attempt { SecKeyCreateDecryptedData(key, algorithm, ciphertext as CFData, $0) } as Data
    }

    static func exchange(
        _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ peer: SecKey, _ parameters: CFDictionary = [:] as CFDictionary
    ) throws -> Data {
        try attempt { SecKeyCopyKeyExchangeResult(key, algorithm, peer, parameters, $0) } as Data
    }

    static func attempt<Result>(
        _ call: (UnsafeMutablePointer<Unmanaged<CFError>?>) -> Result?
    ) throws -> Result {
        var error: Unmanaged<CFError>?
        if let result = call(&error) {
            #expect(error == nil)
            return result
        }
        throw try #require(error?.takeRetainedValue(), "a call that fails gives an error")
    }
}

/// Expects that a call fails with this status in Apple's domain.
func expectStatus(
    _ status: OSStatus, _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation,
    _ call: () throws -> Any
) {
    #expect(comment, sourceLocation: sourceLocation) {
        _ = try call()
    } throws: { error in
        let error = error as NSError
        return error.domain == NSOSStatusErrorDomain && error.code == Int(status)
    }
}

extension SecKeyAlgorithm {
    init(_ name: String) { self.init(rawValue: name as CFString) }

    static func all(_ isIncluded: (KeyAlgorithm.Kind) -> Bool) -> [SecKeyAlgorithm] {
        KeyAlgorithm.all.filter { isIncluded($0.kind) }.map { SecKeyAlgorithm($0.rawValue) }
    }

    static let ecdsa = all { if case .signature = $0 { true } else { false } }
    static let ecies = all { if case .encryption = $0 { true } else { false } }
    static let ecdh = all { if case .keyExchange = $0 { true } else { false } }
    static let rsaSignatures = all { if case .rsaSignature = $0 { true } else { false } }
    static let rsaEncryptions = all { if case .rsaEncryption = $0 { true } else { false } }
    static let everything = all { _ in true }

    /// The hash of the input, nil for a message.
    var digestHash: HashAlgorithm?? {
        switch keyAlgorithm?.kind {
        case .signature(_, .digest(let hash)), .rsaSignature(_, .digest(let hash)): .some(hash)
        default: nil
        }
    }

    /// An input that the algorithm takes with a key of so many bytes.
    func input(blockSize: Int) -> Data {
        switch keyAlgorithm?.kind {
        case .rsaSignature(.none, _): Data([0]) + Data(repeating: 0x5a, count: blockSize - 1)
        default: digestHash.map { Data((0..<UInt8($0?.byteCount ?? 32)).map { $0 &* 7 &+ 1 }) } ?? Data("message".utf8)
        }
    }
}
