import Crypto
import Enclave
import Foundation
import SecretMemory
import Testing
import Threading

@testable import TPMEnclave

/// Values of the tests.
enum Material {
    static let binding = KeyBinding(
        owner: Data(repeating: 7, count: 16), outsideInfo: Data("rule".utf8), requiresPasscode: false)
    /// That of a key below the passcode of the same owner.
    static let passcodeBinding = KeyBinding(
        owner: binding.owner, outsideInfo: binding.outsideInfo, requiresPasscode: true)
    static let context = Data("a purpose".utf8)
    static let digest = Data(SHA256.hash(data: Data("message".utf8)))

    static func secret(_ byte: UInt8) -> SecretBytes { SecretBytes(Data(repeating: byte, count: 32)) }
}

extension TPMEnclave {
    /// Waits until the chip has forgotten the keys that were released.
    func settle() { chip.thread.finish() }

    func makeKey() throws -> WrappedKey {
        try makeKey(authorization: Material.secret(1), binding: Material.binding)
    }

    func open(_ key: WrappedKey, _ authorization: UInt8 = 1) throws -> any OpenEnclaveKey {
        try openKey(key, authorization: Material.secret(authorization), binding: Material.binding, session: nil)
    }

    func seal(_ byte: UInt8) throws -> Data {
        try seal(Material.secret(byte), authorization: Material.secret(1), context: Material.context)
    }

    func unseal(_ blob: Data, _ authorization: UInt8 = 1) throws -> Data {
        Data(
            exposing: try unseal(blob, authorization: Material.secret(authorization), context: Material.context))
    }
}

extension OpenEnclaveKey {
    /// Signs, and lets another library check the signature.
    func expectSignature(_ location: SourceLocation = #_sourceLocation) throws {
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: signature(forDigest: Material.digest))
        let key = try P256.Signing.PublicKey(x963Representation: publicKey)
        #expect(key.isValidSignature(signature, for: SHA256.hash(data: Data("message".utf8))), sourceLocation: location)
    }
}

func expect(
    _ error: EnclaveError, _ comment: Comment? = nil, _ location: SourceLocation = #_sourceLocation,
    from body: () throws -> Void
) {
    #expect(throws: error, comment, sourceLocation: location, performing: body)
}
