import Foundation
import OstiaryClient
import OstiaryMessages
import Security
import Testing

@testable import CryptoKit

/// CryptoKit's keys on an enclave that cannot make them. The service is a fake that refuses as the daemon does, which
/// tests itself that it does.
@Suite struct UnsupportedKeyTests {
    @Test(arguments: [EnclaveKeyKind.mlKEM768, .mlKEM1024, .mlDSA65, .mlDSA87])
    func `a key that the enclave cannot make is an error, and no key elsewhere`(kind: EnclaveKeyKind) throws {
        let store = ItemStoreDouble()
        store.refuse(.unsupportedAlgorithm, only: .createKey)
        let accessControl = try #require(
            SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, [], nil))
        do {
            _ = try EnclaveKeyMaker.make(kind, accessControl, nil, by: store)
            Issue.record("a key was made")
        } catch let error as NSError {
            #expect(error.domain == NSOSStatusErrorDomain && error.code == Int(errSecParam))
            #expect(error.userInfo[ErrorSurface.causeKey] as? String == "key.unsupported-algorithm")
        }
        #expect(store.calls == [.createKey], "it was asked for once, and nothing instead")
        #expect(store.keys.isEmpty && store.rows.isEmpty)
    }

    @Test func `a context that is no LAContext is refused, and no key is made or opened without one`() throws {
        final class Foreign: AuthenticationContextProtocol {}
        let store = ItemStoreDouble()
        let accessControl = try #require(
            SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, [], nil))
        let attempts: [() throws -> Void] = [
            { _ = try EnclaveKeyMaker.make(.p256, accessControl, Foreign(), by: store) },
            { _ = try SecureEnclave.P256.Signing.PrivateKey(authenticationContext: Foreign()) },
            {
                _ = try SecureEnclave.P256.Signing.PrivateKey(
                    dataRepresentation: Data(), authenticationContext: Foreign())
            },
        ]
        for attempt in attempts {
            do {
                try attempt()
                Issue.record("a key was made")
            } catch let error as NSError {
                #expect(error.domain == NSOSStatusErrorDomain && error.code == Int(errSecParam))
            }
        }
        #expect(store.calls.isEmpty)
    }
}
