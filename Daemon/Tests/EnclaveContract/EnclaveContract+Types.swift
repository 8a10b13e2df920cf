import Crypto
import Enclave
import Foundation
import SecretMemory
import Testing

extension EnclaveContract {
    /// A new key of `type`; nil when the enclave makes none, which it must say by ``EnclaveError/unsupportedKey``.
    private func makeKey(_ type: EnclaveKeyType) throws -> WrappedKey? {
        do {
            return try open().makeKey(type, authorization: Self.secret(1), binding: Self.binding)
        } catch EnclaveError.unsupportedKey {
            #expect(type != .p256, "every enclave makes P-256")
            return nil
        }
    }

    /// Runs `body` with an open key of each of `types` that the enclave makes.
    private func withKeys(
        _ types: [EnclaveKeyType] = EnclaveKeyType.allCases, _ body: (WrappedKey, any OpenEnclaveKey) throws -> Void
    ) throws {
        for type in types {
            guard let key = try makeKey(type) else { continue }
            try body(key, open().openKey(key, authorization: Self.secret(1), binding: Self.binding, session: session()))
        }
    }

    private static let message = Data("a message".utf8)

    private static func isValid(_ signature: Data, for message: Data, _ key: WrappedKey) throws -> Bool {
        switch key.type {
        case .mlDSA65: try MLDSA65.PublicKey(rawRepresentation: key.publicKey).isValidSignature(signature, for: message)
        case .mlDSA87: try MLDSA87.PublicKey(rawRepresentation: key.publicKey).isValidSignature(signature, for: message)
        default: false
        }
    }

    private static func isValid(
        _ signature: Data, for message: Data, in context: Data, _ key: WrappedKey
    ) throws -> Bool {
        switch key.type {
        case .mlDSA65:
            try MLDSA65.PublicKey(rawRepresentation: key.publicKey)
                .isValidSignature(signature, for: message, context: context)
        case .mlDSA87:
            try MLDSA87.PublicKey(rawRepresentation: key.publicKey)
                .isValidSignature(signature, for: message, context: context)
        default: false
        }
    }

    private static func encapsulate(to key: WrappedKey) throws -> (encapsulated: Data, secret: Data) {
        let result =
            key.type == .mlKEM768
            ? try MLKEM768.PublicKey(rawRepresentation: key.publicKey).encapsulate()
            : try MLKEM1024.PublicKey(rawRepresentation: key.publicKey).encapsulate()
        return (result.encapsulated, result.sharedSecret.withUnsafeBytes { Data($0) })
    }

    static let typeChecks = [
        Check("each type has a public key of its size, and opens after a restart as what it is") { contract in
            try contract.withKeys { key, opened in
                #expect(key.publicKey.count == key.type.publicKeyByteCount)
                #expect(opened.publicKey == key.publicKey)
            }
        },
        Check("a key of any type is refused to a wrong authorization and unreadable under another binding") {
            contract in
            try contract.withKeys { key, _ in
                let enclave = try contract.open()
                expect(.refused) {
                    _ = try enclave.openKey(
                        key, authorization: secret(2), binding: binding, session: contract.session())
                }
                let other = KeyBinding(
                    owner: owner, outsideInfo: binding.outsideInfo, requiresPasscode: !binding.requiresPasscode)
                expect(.unreadable) {
                    _ = try enclave.openKey(key, authorization: secret(1), binding: other, session: contract.session())
                }
            }
        },
        Check("a key does not open as one of another type") { contract in
            try contract.withKeys { key, _ in
                for type in EnclaveKeyType.allCases where type != key.type {
                    let count = type.publicKeyByteCount
                    for publicKey in [key.publicKey, (key.publicKey + Data(count: count)).prefix(count)] {
                        expect(.unreadable, "\(key.type) as \(type)") {
                            _ = try contract.open().openKey(
                                altered(key, type: type, publicKey: publicKey), authorization: secret(1),
                                binding: binding, session: contract.session())
                        }
                    }
                }
            }
        },
        Check("a key of any type does not open with another public key of its type") { contract in
            try contract.withKeys { key, _ in
                guard let other = try contract.makeKey(key.type) else { throw EnclaveError.unsupportedKey }
                expect(.unreadable) {
                    _ = try contract.open().openKey(
                        altered(key, publicKey: other.publicKey), authorization: secret(1), binding: binding,
                        session: contract.session())
                }
            }
        },
        Check("ML-DSA signs messages of any length, for its own public key and that message alone") { contract in
            try contract.withKeys([.mlDSA65, .mlDSA87]) { key, opened in
                for message in [Data(), message, Data(count: 100_000)] {
                    let signature = try opened.signature(forMessage: message)
                    #expect(try isValid(signature, for: message, key))
                    #expect(try !isValid(signature, for: message + [0], key))
                    guard let other = try contract.makeKey(key.type) else { throw EnclaveError.unsupportedKey }
                    #expect(try !isValid(signature, for: message, other))
                }
            }
        },
        Check("ML-DSA signs for a context, and the signature is one for that context alone") { contract in
            try contract.withKeys([.mlDSA65, .mlDSA87]) { key, opened in
                for context in [Data([0]), Data("a context".utf8), Data(repeating: 0xff, count: 255)] {
                    let signature = try opened.signature(forMessage: message, context: context)
                    #expect(try isValid(signature, for: message, in: context, key))
                    #expect(try !isValid(signature, for: message, key))
                    #expect(try !isValid(signature, for: message, in: context + [0], key))
                }
                #expect(try isValid(opened.signature(forMessage: message, context: Data()), for: message, key))
                #expect(try !isValid(opened.signature(forMessage: message), for: message, in: Data([0]), key))
                for count in [256, 1000] {
                    expect(.invalidContext) {
                        _ = try opened.signature(forMessage: message, context: Data(count: count))
                    }
                }
            }
        },
        Check("a key that knows no contexts signs for none") { contract in
            try contract.withKeys([.p256, .mlKEM768, .mlKEM1024]) { _, opened in
                for context in [Data(), Data([1]), Data(count: 256)] {
                    expect(.unsupportedKey) { _ = try opened.signature(forMessage: message, context: context) }
                }
            }
        },
        Check("ML-KEM decapsulates what was encapsulated to it, and gives a useless secret for anything else") {
            contract in
            try contract.withKeys([.mlKEM768, .mlKEM1024]) { key, opened in
                let (encapsulated, expected) = try encapsulate(to: key)
                #expect(bytes(try opened.sharedSecret(decapsulating: encapsulated)) == expected)
                var altered = encapsulated
                altered[100] ^= 1
                let useless = bytes(try opened.sharedSecret(decapsulating: altered))
                #expect(useless.count == 32 && useless != expected)
                #expect(bytes(try opened.sharedSecret(decapsulating: altered)) == useless)
            }
        },
        Check("an encapsulated key of another size is refused") { contract in
            try contract.withKeys([.mlKEM768, .mlKEM1024]) { key, opened in
                let encapsulated = try encapsulate(to: key).encapsulated
                for wrong in [Data(), encapsulated.dropLast(), encapsulated + [0], Data(count: 32)] {
                    expect(.invalidEncapsulation) { _ = try opened.sharedSecret(decapsulating: wrong) }
                }
            }
        },
        Check("what a type does not do is refused, whatever the input") { contract in
            try contract.withKeys { key, opened in
                let digest = Data(count: 32)
                let peer = P256.KeyAgreement.PrivateKey().publicKey.x963Representation
                if key.type != .p256 {
                    expect(.unsupportedKey) { _ = try opened.signature(forDigest: digest) }
                    expect(.unsupportedKey) { _ = try opened.sharedSecret(withPublicKey: peer) }
                }
                if [.mlKEM768, .mlKEM1024].contains(key.type) {
                    expect(.unsupportedKey) { _ = try opened.signature(forMessage: message) }
                } else {
                    expect(.unsupportedKey) { _ = try opened.sharedSecret(decapsulating: Data(count: 1088)) }
                }
            }
        },
    ]
}
