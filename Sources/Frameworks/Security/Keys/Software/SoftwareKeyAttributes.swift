import Foundation
import KeyAlgorithms

/// The attributes that `SecKeyCopyAttributes` returns for a key in this process. As on Apple's systems, both halves
/// have the same entries, and so have stored and other keys.
enum SoftwareKeyAttributes {
    /// - Parameters:
    ///   - publicKey: external representation of the public half.
    ///   - bytes: external representation of this half.
    static func all(of key: any KeyBacking, publicKey: Data, bytes: Data) -> [String: Any] {
        let isPrivate = key.keyClass == .privateKey
        var attributes: [CFString: Any] = [
            kSecClass: kSecClassKey as String,
            kSecAttrKeyClass: key.keyClass.rawValue,
            kSecAttrKeyType: key.keyType.rawValue,
            kSecAttrKeySizeInBits: key.sizeInBits,
            kSecAttrEffectiveKeySize: key.sizeInBits,
            kSecAttrApplicationLabel: applicationLabel(ofPublicKey: publicKey),
            kSecValueData: bytes,
        ]
        let truths: [CFString: Bool] = [
            kSecAttrIsPermanent: true, kSecAttrIsPrivate: true, kSecAttrIsModifiable: true,
            kSecAttrIsSensitive: false, kSecAttrWasAlwaysSensitive: false,
            kSecAttrIsExtractable: true, kSecAttrWasNeverExtractable: false,
            kSecAttrCanEncrypt: !isPrivate, kSecAttrCanVerify: !isPrivate, kSecAttrCanWrap: !isPrivate,
            kSecAttrCanDecrypt: isPrivate, kSecAttrCanSign: isPrivate, kSecAttrCanUnwrap: isPrivate,
            kSecAttrCanDerive: isPrivate || key.keyType == .rsa,
            kSecAttrCanSignRecover: false, kSecAttrCanVerifyRecover: false,
        ]
        for (name, value) in truths { attributes[name] = value }
        return Dictionary(uniqueKeysWithValues: attributes.map { ($0.key as String, $0.value) })
    }

    /// The value of `klbl`, the same for both halves: SHA-1 of the external representation of the public one.
    static func applicationLabel(ofPublicKey bytes: Data) -> Data { HashAlgorithm.sha1.digest(of: bytes) }
}
