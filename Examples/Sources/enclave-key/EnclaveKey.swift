// A key of the enclave that asks before it signs, with the question put where the program wants it.
//
//   enclave-key create            makes the key
//   enclave-key sign MESSAGE      asks, signs the text, and checks the signature
//   enclave-key remove            deletes the key
import Foundation
import LocalAuthentication
import Security

@main
struct EnclaveKey {
    static let tag = "org.ostiary.examples.enclave-key"
    static let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256

    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        do {
            switch (arguments.first, arguments.count) {
            case ("create", 1): try create()
            case ("sign", 2): try await sign(Data(arguments.last!.utf8))
            case ("remove", 1): try remove()
            default:
                print("usage: enclave-key create | sign MESSAGE | remove")
                exit(2)
            }
        } catch {
            print("Refused: \((error as NSError).domain) \((error as NSError).code)")
            exit(1)
        }
    }

    // MARK: the steps of signing

    static func sign(_ message: Data) async throws {
        let accessControl = try accessControlOfKey()
        let context = LAContext()
        try await context.evaluateAccessControl(
            accessControl, operation: .useKeySign, localizedReason: "sign the message")
        print("Authorized.")

        let key = try privateKey(under: context)
        try sign(message, with: key)

        // The context is bound to the key: nobody is asked again until it ends.
        try sign(message, with: key)
        context.invalidate()
        do {
            try sign(message, with: key)
        } catch {
            print("After the context: \((error as NSError).domain) \((error as NSError).code)")
        }
    }

    /// What the key asks for is one of its attributes. Attributes are read without a question.
    static func accessControlOfKey() throws -> SecAccessControl {
        let attributes = try find([kSecReturnAttributes as String: true]) as? [String: Any]
        guard let accessControl = attributes?[kSecAttrAccessControl as String] as? SecAccessControl else {
            throw status(errSecItemNotFound)
        }
        return accessControl
    }

    /// A reference to the key that works as long as `context` is authorized.
    static func privateKey(under context: LAContext) throws -> SecKey {
        let query: [String: Any] = [kSecReturnRef as String: true, kSecUseAuthenticationContext as String: context]
        return try find(query) as! SecKey
    }

    static func sign(_ message: Data, with key: SecKey) throws {
        var error: Unmanaged<CFError>?
        guard let signature = SecKeyCreateSignature(key, algorithm, message as CFData, &error) else {
            throw error!.takeRetainedValue()
        }
        guard let publicKey = SecKeyCopyPublicKey(key),
            SecKeyVerifySignature(publicKey, algorithm, message as CFData, signature, &error)
        else { throw error?.takeRetainedValue() ?? status(errSecVerifyFailed) }
        print("Signed and verified.")
    }

    // MARK: the key

    static func create() throws {
        var error: Unmanaged<CFError>?
        guard
            let accessControl = SecAccessControlCreateWithFlags(
                kCFAllocatorDefault, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, [.privateKeyUsage, .userPresence],
                &error)
        else { throw error!.takeRetainedValue() }
        let parameters: [String: Any] = [
            kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom,
            kSecAttrKeySizeInBits as String: 256,
            kSecAttrTokenID as String: kSecAttrTokenIDSecureEnclave,
            kSecPrivateKeyAttrs as String: [
                kSecAttrIsPermanent as String: true,
                kSecAttrApplicationTag as String: Data(tag.utf8),
                kSecAttrAccessControl as String: accessControl,
            ] as [String: Any],
        ]
        guard SecKeyCreateRandomKey(parameters as CFDictionary, &error) != nil else { throw error!.takeRetainedValue() }
        print("Created.")
    }

    static func remove() throws {
        let result = SecItemDelete(query as CFDictionary)
        guard result == errSecSuccess else { throw status(result) }
        print("Removed.")
    }

    static var query: [String: Any] {
        [
            kSecClass as String: kSecClassKey,
            kSecAttrTokenID as String: kSecAttrTokenIDSecureEnclave,
            kSecAttrApplicationTag as String: Data(tag.utf8),
        ]
    }

    static func find(_ more: [String: Any]) throws -> CFTypeRef? {
        var item: CFTypeRef?
        let result = SecItemCopyMatching(query.merging(more) { $1 } as CFDictionary, &item)
        guard result == errSecSuccess else { throw status(result) }
        return item
    }

    static func status(_ code: OSStatus) -> NSError { NSError(domain: NSOSStatusErrorDomain, code: Int(code)) }
}
