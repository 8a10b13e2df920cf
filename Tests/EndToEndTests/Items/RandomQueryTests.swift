import Foundation
import LocalAuthentication
import Security
import Testing

extension ItemEndToEndTests {
    /// The four calls, given random dictionaries, on a real daemon.
    @Suite struct RandomQueryTests {
        private static let fixedSeeds: [UInt64] = [1, 2]
        private let keychain: KeychainUnderTest

        init() throws {
            keychain = try KeychainUnderTest()
            for account in ["a", "b"] {
                try #require(keychain.add(Query.genericPassword(account, "a").holdingSecret) == errSecSuccess)
            }
            try #require(keychain.add(Query.internetPassword("a").holdingSecret) == errSecSuccess)
        }

        /// Everything in the store, with attributes, data and references.
        private func content() throws -> [NSArray] {
            try [kSecClassGenericPassword, kSecClassInternetPassword, kSecClassKey, kSecClassCertificate].map {
                itemClass in
                let query: [CFString: Any] = [kSecClass: itemClass, kSecAttrSynchronizable: kSecAttrSynchronizableAny]
                let found = keychain.finding(query.all.returningData.returningAttributes.returningReference)
                if found.status == errSecItemNotFound { return [] }
                try #require(found.status == errSecSuccess)
                return try #require(found.result as? NSArray)
            }
        }

        /// Calls `call`, and checks that it changed nothing unless it succeeded and may.
        private func check(
            _ before: inout [NSArray], mayChange: Bool, _ description: @autoclosure () -> String, _ call: () -> OSStatus
        ) throws -> OSStatus {
            let status = call()
            let after = try content()
            if status != errSecSuccess || !mayChange { #expect(before == after, "\(description()): \(status)") }
            before = after
            return status
        }

        @Test(.timeLimit(.minutes(10)), arguments: fixedSeeds + [UInt64.random(in: .min ... .max)])
        func `no dictionary ends the program, holds it up, or changes the store when it is refused`(seed: UInt64) throws
        {
            var queries = RandomQueries(seed: seed)
            var content = try content()
            var statuses: Set<OSStatus> = []
            var (identityCount, contextCount) = (0, 0)
            for number in 0..<60 {
                let (query, changes) = (queries.next(), queries.next())
                let name = "seed \(seed), dictionary \(number)"
                if query["class"] as? String == "idnt" { identityCount += 1 }
                if query["u_AuthCtx"] is LAContext { contextCount += 1 }
                var result: CFTypeRef? = NSString("untouched")
                let added = try check(&content, mayChange: true, "add, " + name) { SecItemAdd(query, &result) }
                if added != errSecSuccess { #expect(result == nil) }
                result = NSString("untouched")
                let found = try check(&content, mayChange: false, "find, " + name) {
                    SecItemCopyMatching(query, &result)
                }
                if found != errSecSuccess { #expect(result == nil) }
                let updated = try check(&content, mayChange: true, "update, " + name) { SecItemUpdate(query, changes) }
                let deleted = try check(&content, mayChange: true, "delete, " + name) { SecItemDelete(query) }
                statuses.formUnion([added, found, updated, deleted])
            }
            // Dictionaries that all end at one check would say little. Those of a random seed may, by chance.
            guard Self.fixedSeeds.contains(seed) else { return }
            #expect(statuses.isSuperset(of: [errSecSuccess, errSecParam, errSecNoSuchAttr]))
            #expect(identityCount > 0 && contextCount > 0)
        }

        /// A key of each kind: the data, an attribute that identifies, one that does not, one that must be text, one that
        /// does not exist, and one that is no attribute. The value fits, or is of the wrong type as well.
        @Test(arguments: ["v_Data", "acct", "labl", "agrp", "fspi", "u_OpPrompt"])
        func `ten megabytes are refused wherever they stand`(key: String) throws {
            let before = try content()
            for value in RandomQueries.largeValues {
                let small: [String: Any] = ["class": "genp", "acct": "new", "svce": "new"]
                let query = small.merging([key: value]) { $1 } as CFDictionary
                #expect(SecItemAdd(query, nil) != errSecSuccess)
                #expect(SecItemCopyMatching(query, nil) != errSecSuccess)
                #expect(SecItemUpdate(query, ["labl": "small"] as CFDictionary) != errSecSuccess)
                #expect(SecItemDelete(query) != errSecSuccess)
                // An item that is there, so that the change itself is what is refused.
                let present = ["class": "genp", "acct": "a"] as CFDictionary
                #expect(SecItemUpdate(present, [key: value] as CFDictionary) != errSecSuccess)
            }
            #expect(try content() == before)
        }

        @Test func `a dictionary of 129 keys is refused by all four calls`() throws {
            let before = try content()
            var query: [String: Any] = ["class": "genp", "acct": "a"]
            for number in 0..<127 { query["fspi.\(number)"] = number }
            #expect(query.count == 129)
            #expect(SecItemAdd(query as CFDictionary, nil) == errSecParam)
            #expect(SecItemCopyMatching(query as CFDictionary, nil) == errSecParam)
            #expect(SecItemUpdate(query as CFDictionary, [:]) == errSecParam)
            #expect(SecItemUpdate(["class": "genp"] as CFDictionary, query as CFDictionary) == errSecParam)
            #expect(SecItemDelete(query as CFDictionary) == errSecParam)
            #expect(try content() == before)
        }
    }
}
