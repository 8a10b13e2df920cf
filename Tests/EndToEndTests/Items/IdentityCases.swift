import DaemonTestSupport
import Foundation
import Security
import Testing

extension ItemEndToEndTests {
    /// Identities: certificates of OpenSSL's joined with private keys, found by what joins them.
    @Suite struct IdentityCases {
        private let keychain: KeychainUnderTest
        private let maker: CertificateMaker

        init() throws {
            keychain = try KeychainUnderTest()
            maker = try CertificateMaker(in: keychain.daemon.folder)
        }

        private let any: [CFString: Any] = [kSecClass: kSecClassIdentity]
        private let keys: [CFString: Any] = [kSecClass: kSecClassKey]
        private let certificates: [CFString: Any] = [kSecClass: kSecClassCertificate]

        private func key() throws -> SecKey {
            let parameters: [CFString: Any] = [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256]
            return try #require(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
        }

        private func enclaveKey(_ flags: SecAccessControlCreateFlags = .privateKeyUsage) throws -> SecKey {
            let accessControl = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, flags, nil))
            let parameters: [CFString: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256,
                kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
                kSecPrivateKeyAttrs: [
                    kSecAttrAccessControl: accessControl, kSecAttrLabel: "of the key",
                ] as [CFString: Any],
            ]
            return try #require(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
        }

        private func identity(_ name: String = "me", _ key: SecKey? = nil, serial: Int = 1) throws -> SecIdentity {
            let key = try key ?? self.key()
            return try #require(SecIdentityCreate(nil, maker.certificate(name, for: key, serial: serial), key))
        }

        private func parts(_ identity: SecIdentity) throws -> (certificate: SecCertificate, key: SecKey) {
            var (certificate, key): (SecCertificate?, SecKey?) = (nil, nil)
            try #require(SecIdentityCopyCertificate(identity, &certificate) == errSecSuccess)
            try #require(SecIdentityCopyPrivateKey(identity, &key) == errSecSuccess)
            return (try #require(certificate), try #require(key))
        }

        private func count(_ query: [CFString: Any]) -> Int {
            (keychain.finding(query.all.returningReference).result as? [Data])?.count ?? 0
        }

        // MARK: finding

        @Test func `certificate and key that were stored by themselves are an identity that signs`() throws {
            let (certificate, key) = try parts(identity())
            #expect(keychain.add([kSecValueRef: key, kSecAttrLabel: "of the key"]) == errSecSuccess)
            #expect(keychain.find(any) == errSecItemNotFound)
            #expect(keychain.add([kSecValueRef: certificate]) == errSecSuccess)
            #expect(keychain.find(any) == errSecSuccess)
            let found = keychain.finding(any.with([kSecReturnRef: true]))
            let (foundCertificate, foundKey) = try parts(#require(found.result as? SecIdentity))
            #expect(foundCertificate == certificate)
            #expect(foundKey == key)
            let message = Data("message".utf8) as CFData
            let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256
            let signature = try #require(SecKeyCreateSignature(foundKey, algorithm, message, nil))
            let publicKey = try #require(SecCertificateCopyKey(foundCertificate))
            #expect(SecKeyVerifySignature(publicKey, algorithm, message, signature, nil))
        }

        @Test func `an identity with an RSA key is found as well`() throws {
            let identity = try maker.identityWithRSAKey("of OpenSSL")
            #expect(keychain.add([kSecValueRef: identity]) == errSecSuccess)
            #expect(keychain.finding(any.with([kSecReturnRef: true])).result as? SecIdentity == identity)
        }

        @Test func `an identity of an enclave key is found and signs`() throws {
            let key = try enclaveKey()
            #expect(keychain.add([kSecValueRef: try maker.certificate("me", for: key)]) == errSecSuccess)
            let found = keychain.finding(any.with([kSecReturnRef: true])).result as? SecIdentity
            let privateKey = try parts(#require(found)).key
            #expect(privateKey == key)
            let message = Data("message".utf8) as CFData
            #expect(SecKeyCreateSignature(privateKey, .ecdsaSignatureMessageX962SHA256, message, nil) != nil)
        }

        @Test func `the attributes of both are merged and find the identity again`() throws {
            let (certificate, key) = try parts(identity())
            #expect(keychain.add([kSecValueRef: key, kSecAttrLabel: "of the key", kSecAttrApplicationTag: "tag"]) == 0)
            #expect(keychain.add([kSecValueRef: certificate]) == 0)
            let result = keychain.finding(any.returningAttributes).result
            var attributes = try #require(result as? [String: Any])
            #expect(attributes["labl"] as? String == "me")
            #expect(attributes["atag"] as? String == "tag")
            #expect(attributes["kcls"] as? Int == 1)
            #expect(attributes["type"] as? Int == 73)
            #expect(attributes["pdmn"] as? String == "ak")
            #expect(attributes["issr"] is Data)
            #expect(attributes["klbl"] as? Data == attributes["pkhh"] as? Data)
            #expect(attributes["klbl"] as? Data == (SecKeyCopyAttributes(key) as? [String: Any])?["klbl"] as? Data)
            for absent in ["v_Data", "v_Ref", "v_PersistentRef"] { #expect(attributes[absent] == nil) }
            attributes["class"] = "idnt"
            #expect(SecItemCopyMatching(attributes as CFDictionary, nil) == errSecSuccess)
            attributes["atag"] = "other"
            #expect(SecItemCopyMatching(attributes as CFDictionary, nil) == errSecItemNotFound)
        }

        @Test func `the data of an identity is that of its certificate`() throws {
            let identity = try identity()
            #expect(keychain.add([kSecValueRef: identity]) == errSecSuccess)
            let certificate = try parts(identity).certificate
            #expect(keychain.finding(any.returningData).result as? Data == SecCertificateCopyData(certificate) as Data)
            let dictionary = keychain.finding(any.returningData.with([kSecReturnRef: true])).result as? [String: Any]
            #expect(dictionary?["class"] as? String == "idnt")
            #expect(dictionary?["v_Ref"] as? SecIdentity == identity)
        }

        @Test func `a search for several stops at its limit, and goes in the order of the certificates`() throws {
            let all = try (1...3).map { try identity("number \($0)", serial: $0) }
            for identity in all { #expect(keychain.add([kSecValueRef: identity]) == errSecSuccess) }
            let query = any.with([kSecReturnRef: true])
            #expect(keychain.finding(query.all).result as? [SecIdentity] == all)
            #expect(keychain.finding(query.with([kSecMatchLimit: 2])).result as? [SecIdentity] == Array(all.prefix(2)))
            #expect(keychain.finding(query.with([kSecAttrLabel: "number 2"])).result as? SecIdentity == all[1])
            #expect(keychain.finding(query.with([kSecValueRef: all[2]])).result as? SecIdentity == all[2])
        }

        @Test func `what does not belong together is no identity`() throws {
            let (certificate, key) = try parts(identity())
            let publicKey = try #require(SecKeyCopyPublicKey(key))
            #expect(keychain.add([kSecValueRef: certificate]) == errSecSuccess)
            #expect(keychain.find(any) == errSecItemNotFound)
            #expect(keychain.add([kSecValueRef: publicKey]) == errSecSuccess)
            #expect(keychain.find(any) == errSecItemNotFound)
            #expect(keychain.add([kSecValueRef: try self.key()]) == errSecSuccess)
            #expect(keychain.find(any) == errSecItemNotFound)
            #expect(keychain.add([kSecValueRef: key, kSecAttrSynchronizable: true]) == errSecSuccess)
            #expect(keychain.find(any) == errSecItemNotFound)
            #expect(keychain.find(any.with([kSecAttrSynchronizable: kSecAttrSynchronizableAny])) == errSecSuccess)
        }

        /// `klbl` is an attribute, and a program may give it any value.
        @Test func `a key that only says that it belongs to the certificate is not handed over with it`() throws {
            let (certificate, key) = try parts(identity())
            let hash = try #require((SecKeyCopyAttributes(key) as? [String: Any])?["klbl"])
            #expect(keychain.add([kSecValueRef: certificate]) == errSecSuccess)
            #expect(keychain.add([kSecValueRef: try self.key(), kSecAttrApplicationLabel: hash]) == errSecSuccess)
            #expect(keychain.finding(any.with([kSecReturnRef: true])).status == errSecItemNotFound)
        }

        @Test(
            arguments: [
                (["svce": "x"], errSecNoSuchAttr), (["r_Ref": 1], errSecParam),
                (["m_Policy": "x"], errSecUnimplemented), (["m_SubjectContains": "you"], errSecItemNotFound),
                (["v_PersistentRef": Data("keys".utf8) + Data(count: 16)], errSecParam),
                (["v_PersistentRef": Data("cert".utf8) + Data(count: 16)], errSecItemNotFound),
                (["kcls": "0"], errSecItemNotFound),
                (["klbl": Data(count: 20)], errSecItemNotFound),
                (["labl": "of the key"], errSecItemNotFound), (["pdmn": "ck"], errSecItemNotFound),
                (["agrp": "org.example.foreign"], errSecMissingEntitlement),
                (["sync": true], errSecItemNotFound),
            ] as [([String: any Sendable], OSStatus)])
        func `what an identity cannot be or is not is not found, and not deleted`(
            more: [String: any Sendable], status: OSStatus
        ) throws {
            #expect(keychain.add([kSecValueRef: try identity(), kSecAttrLabel: "both"]) == errSecSuccess)
            let query = any.with(named: more)
            #expect(keychain.find(query) == status)
            let isDeletion = !more.keys.contains { $0.hasPrefix("m_") }
            if isDeletion { #expect(keychain.delete(query) == status) }
            #expect(keychain.find(any) == errSecSuccess)
        }

        // MARK: persistent references

        /// An identity that is in the keychain, and its reference.
        private func stored(
            _ name: String = "me", _ key: SecKey? = nil, serial: Int = 1
        ) throws -> (SecIdentity, Data) {
            let identity = try identity(name, key, serial: serial)
            let added = keychain.adding([kSecValueRef: identity, kSecReturnPersistentRef: true])
            return (identity, try #require(added.result as? Data))
        }

        private func named(_ reference: Data) -> [CFString: Any] { [kSecValuePersistentRef: reference] }

        @Test func `the persistent reference of an identity finds it, whatever becomes of its attributes`() throws {
            let (identity, reference) = try stored()
            _ = try stored("other", serial: 2)
            #expect(keychain.finding(any.with([kSecAttrLabel: "me"]).returningReference).result as? Data == reference)
            #expect(keychain.finding(certificates.returningReference).result as? Data != reference)
            let both: [CFString: Any] = [kSecReturnRef: true, kSecReturnPersistentRef: true]
            let parts = try #require(keychain.finding(named(reference).with(both)).result as? [String: Any])
            #expect(parts["v_Ref"] as? SecIdentity == identity)
            #expect(parts["v_PersistentRef"] as? Data == reference)
            #expect(parts["class"] as? String == "idnt")
            let label = [kSecAttrLabel: "changed"]
            for itemClass in [certificates, keys] { #expect(keychain.update(itemClass, label) == errSecSuccess) }
            keychain.daemon.kill()
            try keychain.daemon.start()
            #expect(keychain.finding(named(reference).with([kSecReturnRef: true])).result as? SecIdentity == identity)
            #expect(keychain.find(any.with(named(reference))) == errSecSuccess)
            let attributes = keychain.finding(named(reference).returningAttributes).result as? [String: Any]
            #expect(attributes?["labl"] as? String == "changed" && attributes?["kcls"] as? Int == 1)
        }

        @Test func `each key of a certificate is an identity with a reference of its own`() throws {
            let key = try key()
            let (identity, first) = try stored("me", key)
            #expect(keychain.add([kSecValueRef: key, kSecAttrApplicationTag: "again"]) == errSecSuccess)
            let all = try #require(keychain.finding(any.all.returningReference).result as? [Data])
            #expect(all.count == 2 && Set(all).count == 2 && all.contains(first))
            #expect(keychain.delete(named(first)) == errSecSuccess)
            #expect((count(keys), count(certificates)) == (1, 0), "the other key is not what was named")
            #expect(keychain.add([kSecValueRef: try parts(identity).certificate]) == errSecSuccess)
            #expect(keychain.find(named(first)) == errSecItemNotFound, "the parts of another identity")
        }

        @Test func `deleting by the reference of an identity deletes its two parts and no others`() throws {
            let (_, reference) = try stored()
            let (other, _) = try stored("other", serial: 2)
            let (lone, cases) = (try identity("lone", enclaveKey(), serial: 3), any.all.with([kSecReturnRef: true]))
            #expect(keychain.add([kSecValueRef: lone]) == errSecSuccess)
            #expect(keychain.delete(named(reference)) == errSecSuccess)
            #expect((count(keys), count(certificates)) == (2, 2))
            #expect(keychain.finding(cases).result as? [SecIdentity] == [other, lone])
            #expect(keychain.delete(named(reference)) == errSecItemNotFound)
            #expect(keychain.find(named(reference)) == errSecItemNotFound)
            #expect((count(keys), count(certificates)) == (2, 2))
        }

        @Test func `a key that another certificate uses stays when its identity is deleted by reference`() throws {
            let key = try key()
            let (_, reference) = try stored("first", key)
            let (second, _) = try stored("second", key, serial: 2)
            #expect(keychain.delete(named(reference)) == errSecSuccess)
            #expect((count(keys), count(certificates)) == (1, 1))
            #expect(keychain.finding(any.with([kSecReturnRef: true])).result as? SecIdentity == second)
        }

        /// One that forbids deleting, which no flags make.
        private func undeletable() -> SecAccessControl {
            let entries: [String: PropertyList] = ["od": .boolean(true), "oe": .boolean(true), "odel": .boolean(false)]
            return SecAccessControl(protection: "ak", operations: AccessControlOperations(entries))
        }

        @Test(arguments: [true, false])
        func `where one part may not be deleted, both stay`(keyStays: Bool) throws {
            let (certificate, key) = try parts(identity())
            let (staying, other) = keyStays ? (key as AnyObject, certificate as AnyObject) : (certificate, key)
            let query: [CFString: Any] = [kSecValueRef: staying, kSecAttrAccessControl: undeletable()]
            #expect(keychain.add(query) == errSecSuccess && keychain.add([kSecValueRef: other]) == errSecSuccess)
            let reference = try #require(keychain.finding(any.returningReference).result as? Data)
            let (second, _) = try stored("second", serial: 2)
            for query in [named(reference), any, any.with([kSecAttrLabel: "me"])] {
                #expect(keychain.delete(query) == errSecAuthFailed)
                #expect((count(keys), count(certificates)) == (2, 2))
            }
            #expect(keychain.delete([kSecValueRef: second]) == errSecSuccess)
        }

        @Test(arguments: [true, false])
        func `where one part is gone, the other is no identity and stays`(isKeyGone: Bool) throws {
            let (identity, reference) = try stored()
            let (certificate, key) = try parts(identity)
            #expect(keychain.delete([kSecValueRef: isKeyGone ? key as AnyObject : certificate]) == errSecSuccess)
            #expect(keychain.find(named(reference)) == errSecItemNotFound)
            #expect(keychain.delete(named(reference)) == errSecItemNotFound)
            #expect(count(isKeyGone ? certificates : keys) == 1)
        }

        @Test func `the parts of two identities are none`() throws {
            let (_, first) = try stored()
            let (_, second) = try stored("other", serial: 2)
            let mixed = first.prefix(20) + second.suffix(16)
            #expect(keychain.find(named(mixed)) == errSecItemNotFound)
            #expect(keychain.delete(named(mixed)) == errSecItemNotFound)
            #expect((count(keys), count(certificates)) == (2, 2))
        }

        @Test func `the reference of an identity stands for nothing else`() throws {
            let (_, reference) = try stored()
            for itemClass in [certificates, keys, [kSecClass: kSecClassGenericPassword]] {
                #expect(keychain.find(itemClass.with(named(reference))) == errSecParam)
                #expect(keychain.delete(itemClass.with(named(reference))) == errSecParam)
            }
            let ofCertificate = Data("cert".utf8) + reference.dropFirst(4)
            for wrong in [reference.prefix(20), reference.dropLast(), reference + [0], ofCertificate] {
                #expect(keychain.find(named(wrong)) == errSecParam)
                #expect(keychain.delete(named(wrong)) == errSecParam)
            }
            #expect(keychain.update(named(reference), [kSecAttrLabel: "other"]) == errSecUnimplemented)
            #expect((count(keys), count(certificates)) == (1, 1))
        }

        @Test func `the reference of a certificate is that certificate, and with their class its identities`() throws {
            let (identity, _) = try stored()
            let reference = try #require(keychain.finding(certificates.returningReference).result as? Data)
            #expect(keychain.finding(named(reference).with([kSecReturnRef: true])).result is SecCertificate)
            let query = any.with(named(reference))
            #expect(keychain.finding(query.with([kSecReturnRef: true])).result as? SecIdentity == identity)
            #expect(keychain.delete(query) == errSecSuccess)
            #expect((count(keys), count(certificates)) == (0, 0))
        }

        // MARK: adding

        @Test func `an identity is added as certificate and key, and is then a duplicate`() throws {
            let identity = try identity()
            let added = keychain.adding([kSecValueRef: identity, kSecReturnRef: true, kSecReturnAttributes: true])
            #expect(added.status == errSecSuccess)
            let result = try #require(added.result as? [String: Any])
            #expect(result["v_Ref"] as? SecIdentity == identity)
            #expect(result["labl"] as? String == "me")
            #expect(result["kcls"] as? Int == 1)
            #expect((count(keys), count(certificates), count(any)) == (1, 1, 1))
            #expect(keychain.add([kSecValueRef: identity]) == errSecDuplicateItem)
            #expect(keychain.add([kSecClass: kSecClassIdentity, kSecValueRef: identity]) == errSecDuplicateItem)
            #expect((count(keys), count(certificates), count(any)) == (1, 1, 1))
        }

        @Test func `what is there of an identity stays, and the rest is added`() throws {
            let first = try identity()
            let (certificate, key) = try parts(first)
            #expect(keychain.add([kSecValueRef: key, kSecAttrApplicationTag: "tag"]) == errSecSuccess)
            #expect(keychain.adding([kSecValueRef: first, kSecReturnAttributes: true]).status == errSecSuccess)
            #expect((count(keys), count(certificates)) == (1, 1))
            #expect(keychain.delete([kSecValueRef: key]) == errSecSuccess)
            #expect(keychain.find(any) == errSecItemNotFound)
            #expect(keychain.add([kSecValueRef: first]) == errSecSuccess)
            #expect((count(keys), count(certificates), count(any)) == (1, 1, 1))
            #expect(keychain.find([kSecValueRef: certificate]) == errSecSuccess)
        }

        @Test func `the key of the enclave is not stored twice with its identity`() throws {
            let key = try enclaveKey()
            #expect(keychain.add([kSecValueRef: try identity("me", key)]) == errSecSuccess)
            #expect((count(keys), count(any)) == (1, 1))
        }

        @Test func `another certificate of the same issuer and number is in the way, and no key is added`() throws {
            #expect(keychain.add([kSecValueRef: try parts(identity()).certificate]) == errSecSuccess)
            #expect(keychain.add([kSecValueRef: try identity()]) == errSecDuplicateItem)
            #expect((count(keys), count(certificates)) == (0, 1))
        }

        /// Nobody has set a passcode, so no key can be wrapped for it; the certificate could be stored.
        @Test func `a key that cannot be stored takes its certificate back`() throws {
            let accessControl = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .devicePasscode, nil))
            let identity = try identity()
            let status = keychain.add([kSecValueRef: identity, kSecAttrAccessControl: accessControl])
            #expect(status == errSecAuthFailed)
            #expect((count(keys), count(certificates)) == (0, 0))
            #expect(keychain.add([kSecValueRef: identity]) == errSecSuccess)
        }

        @Test(
            arguments: [
                (["class": "cert"], errSecParam), (["class": "keys"], errSecParam),
                (["class": "genp"], errSecParam), (["v_Data": Data([1])], errSecParam),
                (["pkhh": Data(count: 20)], errSecParam),
                (["klbl": Data(count: 20)], errSecParam),
                (["kcls": "0"], errSecParam), (["acct": "me"], errSecNoSuchAttr),
                (["tkid": "com.apple.setoken"], errSecParam), (["accc": "x"], errSecParam),
                (["agrp": "org.example.foreign"], errSecMissingEntitlement),
                (["m_Limit": 1], errSecParam), (["sync": "syna"], errSecParam),
            ] as [([String: any Sendable], OSStatus)])
        func `what cannot be added of an identity leaves neither part`(
            more: [String: any Sendable], status: OSStatus
        ) throws {
            #expect(keychain.add([kSecValueRef: try identity()].with(named: more)) == status)
            #expect((count(keys), count(certificates)) == (0, 0))
        }

        @Test func `an identity is added by its reference only`() throws {
            let certificate = try parts(identity()).certificate
            #expect(keychain.add(any) == errSecParam)
            #expect(keychain.add(any.with([kSecValueData: SecCertificateCopyData(certificate)])) == errSecParam)
            #expect(keychain.add(any.with([kSecValueRef: certificate])) == errSecParam)
            #expect((count(keys), count(certificates)) == (0, 0))
        }

        // MARK: deleting and changing

        @Test func `deleting an identity deletes certificate and key`() throws {
            let (first, second) = (try identity(), try identity("other", serial: 2))
            for identity in [first, second] { #expect(keychain.add([kSecValueRef: identity]) == errSecSuccess) }
            #expect(keychain.delete([kSecValueRef: first]) == errSecSuccess)
            #expect((count(keys), count(certificates)) == (1, 1))
            #expect(keychain.delete([kSecValueRef: first]) == errSecItemNotFound)
            #expect(keychain.delete(any.all) == errSecSuccess)
            #expect((count(keys), count(certificates)) == (0, 0))
            #expect(keychain.delete(any) == errSecItemNotFound)
        }

        @Test func `a key that another certificate uses outlives an identity, and goes with the last one`() throws {
            let key = try enclaveKey()
            let (first, second) = (try identity("first", key), try identity("second", key, serial: 2))
            for identity in [first, second] { #expect(keychain.add([kSecValueRef: identity]) == errSecSuccess) }
            #expect((count(keys), count(any)) == (1, 2))
            let message = Data("message".utf8) as CFData
            #expect(keychain.delete(any.with([kSecAttrLabel: "first"])) == errSecSuccess)
            #expect((count(keys), count(certificates)) == (1, 1))
            #expect(SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message, nil) != nil)
            #expect(keychain.delete([kSecValueRef: second]) == errSecSuccess)
            #expect((count(keys), count(certificates)) == (0, 0))
            #expect(SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message, nil) == nil)
        }

        @Test func `identities of one key go together`() throws {
            let key = try key()
            for serial in 1...3 {
                let identity = try identity("number \(serial)", key, serial: serial)
                #expect(keychain.add([kSecValueRef: identity]) == errSecSuccess)
            }
            #expect(keychain.delete(any) == errSecSuccess)
            #expect((count(keys), count(certificates)) == (0, 0))
        }

        @Test func `a certificate or key alone is no identity to delete`() throws {
            #expect(keychain.add([kSecValueRef: try parts(identity()).certificate]) == errSecSuccess)
            #expect(keychain.add([kSecValueRef: try key()]) == errSecSuccess)
            #expect(keychain.delete(any) == errSecItemNotFound)
            #expect((count(keys), count(certificates)) == (1, 1))
        }

        @Test func `an identity is not changed as one`() throws {
            #expect(keychain.add([kSecValueRef: try identity()]) == errSecSuccess)
            #expect(keychain.update(any, [kSecAttrLabel: "other"]) == errSecUnimplemented)
            #expect(keychain.update(any, [kSecAttrService: "other"]) == errSecNoSuchAttr)
            #expect(keychain.find(any.with([kSecAttrLabel: "me"])) == errSecSuccess)
        }

        // MARK: protection

        @Test func `a protected key asks for its identity, and is deleted without asking`() throws {
            try keychain.setPasscode()
            let accessControl = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .devicePasscode, nil))
            let identity = try identity()
            let adding: [CFString: Any] = [kSecValueRef: identity, kSecAttrAccessControl: accessControl]
            #expect(keychain.add(adding) == errSecSuccess)
            #expect(keychain.add(adding) == errSecDuplicateItem)
            // The certificate is public.
            #expect(keychain.finding(certificates.with([kSecReturnRef: true])).status == errSecSuccess)
            let silent = any.with([kSecUseAuthenticationUI: kSecUseAuthenticationUIFail])
            #expect(keychain.find(silent) == errSecInteractionNotAllowed)
            let skipping = any.with([kSecUseAuthenticationUI: kSecUseAuthenticationUISkip])
            #expect(keychain.find(skipping) == errSecItemNotFound)
            #expect(keychain.delete(any) == errSecSuccess)
            #expect((count(keys), count(certificates)) == (0, 0))
        }

        @Test(arguments: [true, false])
        func `an identity is not found while its key is locked, and can be deleted`(byReference: Bool) throws {
            try keychain.setPasscode()
            let (_, reference) = try stored()
            try keychain.lock()
            let query = byReference ? named(reference) : any
            #expect(keychain.find(query) == errSecInteractionNotAllowed)
            #expect(keychain.delete(query) == errSecSuccess)
            for itemClass in [certificates, keys] { #expect(keychain.find(itemClass) == errSecItemNotFound) }
        }
    }
}
