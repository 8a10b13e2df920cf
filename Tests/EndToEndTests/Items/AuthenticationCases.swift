import Foundation
import LocalAuthentication
import Security
import Testing

extension ItemEndToEndTests {
    /// The acceptance cases of access control and authentication, by their numbers. Nobody can be asked in this
    /// process: it has no terminal. What a person answers is tested by programs on one.
    @Suite struct AuthenticationCases {
        private let keychain: KeychainUnderTest
        private let password = Query.genericPassword()

        init() throws { keychain = try KeychainUnderTest() }

        private func accessControl(_ flags: SecAccessControlCreateFlags) throws -> SecAccessControl {
            try #require(SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, nil))
        }

        private func protected(_ flags: SecAccessControlCreateFlags) throws -> [CFString: Any] {
            password.holdingSecret.with([kSecAttrAccessControl: try accessControl(flags)])
        }

        private func context(password: String) -> LAContext {
            let context = LAContext()
            context.setCredential(Data(password.utf8), type: .applicationPassword)
            return context
        }

        /// An item under an access control that no flags make, as a program may have serialised it elsewhere.
        private func protected(_ entries: [String: PropertyList]) throws -> [CFString: Any] {
            let given = SecAccessControl(protection: "ak", operations: AccessControlOperations(entries))
            let read = try SecAccessControl(derRepresentation: given.derRepresentation)
            return password.holdingSecret.with([kSecAttrAccessControl: read])
        }

        @Test(
            arguments: [
                ["cpo": .string("DeviceOwnerAuthenticationWithNothing")], ["cpo": .boolean(true)],
                ["cup": .boolean(false)],
                ["cup": .boolean(true), "pkofn": .integer(2)], ["cup": .boolean(true), "new": .boolean(true)], [:],
            ] as [[String: PropertyList]])
        func `case 74: an access control with a policy that is none is refused, and nothing is stored`(
            constraint: [String: PropertyList]
        ) throws {
            try keychain.setPasscode()
            let entries: [String: PropertyList] = [
                "od": .dictionary(constraint), "oe": .boolean(true), "odel": .boolean(true),
            ]
            #expect(keychain.add(try protected(entries)) == errSecParam)
            #expect(keychain.find(password) == errSecItemNotFound)
            let changes = [kSecAttrAccessControl: try #require(protected(entries)[kSecAttrAccessControl])]
            #expect(keychain.add(password.holdingSecret) == errSecSuccess)
            #expect(keychain.update(password, changes) == errSecParam)
            #expect(keychain.finding(password.returningData).result as? Data == Query.data)
        }

        @Test func `case 75: nothing is stored under an access control that forbids encrypting`() throws {
            let entries: [String: PropertyList] = ["od": .boolean(true), "oe": .boolean(false), "odel": .boolean(true)]
            let closed = try protected(entries)
            #expect(keychain.add(closed) == errSecAuthFailed)
            #expect(keychain.find(password) == errSecItemNotFound)
            #expect(keychain.add(password.holdingSecret) == errSecSuccess)
            let changes = [kSecAttrAccessControl: try #require(closed[kSecAttrAccessControl])]
            #expect(keychain.update(password, changes) == errSecAuthFailed)
            #expect(keychain.finding(password.returningData).result as? Data == Query.data)
        }

        @Test func `case 76: an item whose access control forbids deleting is added and stays`() throws {
            let entries: [String: PropertyList] = ["od": .boolean(true), "oe": .boolean(true), "odel": .boolean(false)]
            #expect(keychain.add(try protected(entries)) == errSecSuccess)
            #expect(keychain.delete(password) == errSecAuthFailed)
            #expect(keychain.delete([kSecClass: kSecClassGenericPassword]) == errSecAuthFailed)
            #expect(keychain.finding(password.returningData).result as? Data == Query.data)
            let attributes = keychain.finding(password.returningAttributes).result as? [String: Any]
            #expect(
                attributes?[kSecAttrAccessControl as String] as? SecAccessControl
                    == SecAccessControl(
                        protection: "ak", operations: AccessControlOperations(entries)))
        }

        @Test func `cases 77 and 79: what needs a passcode goes with it, for good`() throws {
            try keychain.setPasscode()
            let fragile = password.with([kSecAttrAccessible: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly])
            #expect(keychain.add(fragile.holdingSecret) == errSecSuccess)
            #expect(keychain.add(Query.genericPassword("stays").holdingSecret) == errSecSuccess)
            try keychain.removePasscode()
            #expect(keychain.find(password) == errSecItemNotFound)
            #expect(keychain.find(Query.genericPassword("stays")) == errSecSuccess)
            try keychain.setPasscode()
            #expect(keychain.find(password) == errSecItemNotFound)
            #expect(keychain.add(fragile.holdingSecret) == errSecSuccess)
        }

        @Test func `case 78: what needs a passcode is not added without one`() {
            let fragile = password.with([kSecAttrAccessible: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly])
            #expect(keychain.add(fragile.holdingSecret) == errSecAuthFailed)
            #expect(keychain.find(password) == errSecItemNotFound)
        }

        @Test func `case 80: a password that the context holds opens what it protects`() throws {
            let context = context(password: "mine")
            let item = try protected(.applicationPassword).with([kSecUseAuthenticationContext: context])
            #expect(keychain.add(item) == errSecSuccess)
            let found = keychain.finding(password.returningData.with([kSecUseAuthenticationContext: context]))
            #expect(found.status == errSecSuccess)
            #expect(found.result as? Data == Query.data)
            #expect(keychain.delete(password) == errSecSuccess)
        }

        @Test func `case 81: another password opens nothing`() throws {
            let item = try protected(.applicationPassword)
            #expect(keychain.add(item.with([kSecUseAuthenticationContext: context(password: "mine")])) == errSecSuccess)
            let wrong = keychain.finding(
                password.returningData.with([kSecUseAuthenticationContext: context(password: "yours")]))
            #expect(wrong.status == errSecAuthFailed)
            #expect(wrong.result == nil)
        }

        @Test func `case 82: an update puts an item under a password`() throws {
            let context = context(password: "mine")
            #expect(keychain.add(password.holdingSecret) == errSecSuccess)
            #expect(
                keychain.update(
                    password.with([kSecUseAuthenticationContext: context]),
                    [kSecAttrAccessControl: try accessControl(.applicationPassword)]) == errSecSuccess)
            // Apple's keychain says errSecAuthFailed; here nobody can be asked, which is another thing.
            #expect(keychain.finding(password.returningData).status == errSecInteractionNotAllowed)
            let found = keychain.finding(password.returningData.with([kSecUseAuthenticationContext: context]))
            #expect(found.result as? Data == Query.data)
        }

        @Test func `case 83: an update changes no credential`() {
            #expect(keychain.add(password.holdingSecret) == errSecSuccess)
            #expect(keychain.update(password, ["u_CredRef": Data()]) == errSecNoSuchAttr)
        }

        @Test func `cases 84 and 85: an item that would ask fails or is left out, as the query says`() throws {
            try keychain.setPasscode()
            #expect(keychain.add(try protected(.devicePasscode)) == errSecSuccess)
            let failing = password.returningData.with([kSecUseAuthenticationUI: kSecUseAuthenticationUIFail])
            #expect(keychain.finding(failing).status == errSecInteractionNotAllowed)
            let skipping = password.returningData.with([kSecUseAuthenticationUI: kSecUseAuthenticationUISkip])
            #expect(keychain.finding(skipping).status == errSecItemNotFound)
            #expect(keychain.add(Query.genericPassword("open").holdingSecret) == errSecSuccess)
            let all: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecUseAuthenticationUI: kSecUseAuthenticationUISkip,
            ]
            #expect(keychain.finding(all.all.returningData).result as? [Data] == [Query.data])
            let context = LAContext()
            context.interactionNotAllowed = true
            let silent = password.returningData.with([kSecUseAuthenticationContext: context])
            #expect(keychain.finding(silent).status == errSecInteractionNotAllowed)
            context.invalidate()
            #expect(keychain.finding(silent).status == errSecAuthFailed)
            #expect(keychain.delete(password) == errSecSuccess)
        }

        @Test func `an item that the context opens is not left out`() throws {
            let mine = context(password: "mine")
            let item = try protected(.applicationPassword)
            #expect(keychain.add(item.with([kSecUseAuthenticationContext: mine])) == errSecSuccess)
            let skipping = password.returningData.with([kSecUseAuthenticationUI: kSecUseAuthenticationUISkip])
            #expect(keychain.finding(skipping).status == errSecItemNotFound)
            let found = keychain.finding(skipping.with([kSecUseAuthenticationContext: mine]))
            #expect(found.result as? Data == Query.data)
            let wrong = keychain.finding(skipping.with([kSecUseAuthenticationContext: context(password: "yours")]))
            #expect(wrong.status == errSecItemNotFound)
        }

        @Test func `an empty application password is refused, and nothing is stored under it`() throws {
            let empty = LAContext()
            empty.interactionNotAllowed = true
            #expect(!empty.setCredential(Data(), type: .applicationPassword))
            #expect(!empty.isCredentialSet(.applicationPassword))
            let item = try protected(.applicationPassword).with([kSecUseAuthenticationContext: empty])
            #expect(keychain.add(item) == errSecInteractionNotAllowed)
            #expect(keychain.find(password) == errSecItemNotFound)
        }

        @Test func `case 86: accessibility and access control exclude each other`() throws {
            let item = try protected(.userPresence)
            #expect(keychain.add(item.with([kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked])) == errSecParam)
            #expect(keychain.add(item.with([kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock])) == errSecParam)
        }

        @Test func `case 87: an item with an access control is not synchronizable`() throws {
            for flags in [SecAccessControlCreateFlags(), .userPresence] {
                #expect(keychain.add(try protected(flags).with([kSecAttrSynchronizable: true])) == errSecParam)
                let changes: [CFString: Any] = [
                    kSecAttrAccessControl: try accessControl(flags), kSecAttrSynchronizable: true,
                ]
                #expect(keychain.update(password, changes) == errSecParam)
            }
        }

        @Test func `case 89: a locked store shows neither data nor attributes, and lets delete`() throws {
            try keychain.setPasscode()
            #expect(keychain.add(password.holdingSecret) == errSecSuccess)
            let always = Query.genericPassword("always").with([kSecAttrAccessible: kSecAttrAccessibleAlways])
            #expect(keychain.add(always.holdingSecret) == errSecSuccess)
            try keychain.lock()
            #expect(keychain.finding(password.returningData).status == errSecInteractionNotAllowed)
            #expect(keychain.finding(password.returningAttributes).status == errSecInteractionNotAllowed)
            #expect(keychain.add(Query.genericPassword("new").holdingSecret) == errSecInteractionNotAllowed)
            #expect(keychain.finding(Query.genericPassword("always").returningData).result as? Data == Query.data)
            #expect(keychain.delete(password) == errSecSuccess)
        }
    }
}
