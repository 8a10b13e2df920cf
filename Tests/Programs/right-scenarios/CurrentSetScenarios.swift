import Foundation
import LocalAuthentication
import Security

/// A right and an item of the keychain that only the current set of fingers opens. The test moves the fingers.
enum CurrentSetScenarios {
    private static let name = "current-set"
    private static let secret = "what only a finger opens"

    static func make() async throws {
        let right = LARight(requirement: .biometryCurrentSet)
        await RightScenarios.report("save") {
            _ = try await RightScenarios.store.saveRight(right, identifier: name)
        }
        let accessControl = SecAccessControlCreateWithFlags(
            nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, .biometryCurrentSet, nil)
        guard let accessControl else { return RightScenarios.report("add", "no access control") }
        var added = item
        added[kSecAttrAccessControl] = accessControl
        added[kSecValueData] = Data(secret.utf8)
        let status = SecItemAdd(added as CFDictionary, nil)
        RightScenarios.report("add", "\(status)")
    }

    /// Authorizes the right, and signs and verifies with its key. A test verifies the signature once more.
    static func sign() async throws {
        let right = try await RightScenarios.store.right(forIdentifier: name)
        do {
            try await right.authorize(localizedReason: RightScenarios.reason)
            RightScenarios.report("authorize", "ok")
        } catch let error as LAError {
            RightScenarios.report("authorize", "LAError \(error.code.rawValue) \(error.cause ?? "")")
        }
        var signature = Data()
        await RightScenarios.report("sign") {
            signature = try await right.key.sign(RightScenarios.challenge, algorithm: RightScenarios.algorithm)
        }
        guard !signature.isEmpty else { return }
        let made = signature
        await RightScenarios.report("verify") {
            try await right.key.publicKey.verify(
                RightScenarios.challenge, signature: made, algorithm: RightScenarios.algorithm)
        }
        RightScenarios.report("key", try await right.key.publicKey.bytes.base64EncodedString())
        RightScenarios.report("signature", made.base64EncodedString())
    }

    static func read() {
        var query = item
        query[kSecReturnData] = true
        var found: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &found)
        RightScenarios.report("read", "\(status)")
        if let data = found as? Data { RightScenarios.report("data", String(decoding: data, as: UTF8.self)) }
    }

    private static var item: [CFString: Any] { [kSecClass: kSecClassGenericPassword, kSecAttrAccount: name] }
}
