import Foundation
import KeyAlgorithms
@testable import Security
import SecretMemory
import Testing

/// A token that performs the given algorithms with a software key, and records what it was asked for.
private final class TokenKey: KeyBacking, @unchecked Sendable {
    // SAFETY: (@unchecked) used by one test on one thread.
    private let inner: any KeyBacking
    private let supported: Set<String>
    private(set) var asked: [String] = []
    var failure: NSError?

    init(_ supported: Set<String>) throws {
        inner = try Keys.curve(256).backing
        self.supported = supported
    }

    var keyType: KeyType { .ellipticCurve }
    var keyClass: KeyClass { .privateKey }
    var sizeInBits: Int { 256 }
    var attributes: [String: Any] { [kSecAttrTokenID as String: "test"] }
    var summary: String { "token key" }

    func externalRepresentation() throws -> Data { throw StatusError(errSecUnimplemented, "The key does not leave.") }
    func publicKey() throws -> any KeyBacking { try inner.publicKey() }
    func isSame(as other: any KeyBacking) -> Bool { other === self }

    func supports(_ operation: KeyOperation, _ algorithm: KeyAlgorithm) -> Bool {
        operation == .sign && supported.contains(algorithm.rawValue)
    }

    func signature(of input: Data, algorithm: KeyAlgorithm) throws -> Data {
        asked.append(algorithm.rawValue)
        if let failure { throw failure }
        return try inner.signature(of: input, algorithm: KeyAlgorithm(rawValue: "algid:sign:ECDSA:digest-X962")!)
    }
}

@Suite(.serialized) struct TokenKeyTests {
    static let digestOnly = "algid:sign:ECDSA:digest-X962:SHA256"

    static let offered: [SecKeyAlgorithm] = [
        .ecdsaSignatureDigestX962SHA256, .ecdsaSignatureMessageX962SHA256, .ecdsaSignatureDigestRFC4754SHA256,
        .ecdsaSignatureMessageRFC4754SHA256,
    ]

    @Test func `case 94: a token of one digest algorithm offers what can be had from it, and nothing else`() throws {
        let token = try TokenKey([Self.digestOnly])
        let key = SecKey(token)
        for algorithm in SecKeyAlgorithm.everything {
            let isOffered = Self.offered.contains(algorithm)
            #expect(SecKeyIsAlgorithmSupported(key, .sign, algorithm) == isOffered, "\(algorithm)")
            for operation in [.verify, .encrypt, .decrypt, .keyExchange] as [SecKeyOperationType] {
                #expect(!SecKeyIsAlgorithmSupported(key, operation, algorithm))
            }
            let input = algorithm.input(blockSize: 32)
            guard isOffered else {
                expectStatus(errSecParam) { try Keys.sign(key, algorithm, input) }
                continue
            }
            try Keys.verify(Keys.publicKey(key), algorithm, input, Keys.sign(key, algorithm, input))
        }
        #expect(token.asked == Array(repeating: Self.digestOnly, count: Self.offered.count))
    }

    @Test func `a token is not asked about a digest of a wrong length`() throws {
        let token = try TokenKey([Self.digestOnly])
        for algorithm in [.ecdsaSignatureDigestX962SHA256, .ecdsaSignatureDigestRFC4754SHA256] as [SecKeyAlgorithm] {
            expectStatus(errSecParam) { try Keys.sign(SecKey(token), algorithm, Data(count: 31)) }
        }
        #expect(token.asked.isEmpty)
    }

    @Test func `a token hashes a message itself if it can`() throws {
        let token = try TokenKey([Self.digestOnly, "algid:sign:ECDSA:message-X962:SHA256"])
        _ = try Keys.sign(SecKey(token), .ecdsaSignatureMessageX962SHA256, Data("m".utf8))
        #expect(token.asked == ["algid:sign:ECDSA:message-X962:SHA256"])
    }

    @Test func `case 107: a message of 10 MiB reaches a token as a digest`() throws {
        let key = SecKey(try TokenKey([Self.digestOnly]))
        let message = Data(repeating: 0x42, count: 10 << 20)
        let signature = try Keys.sign(key, .ecdsaSignatureMessageX962SHA256, message)
        try Keys.verify(Keys.publicKey(key), .ecdsaSignatureMessageX962SHA256, message, signature)
    }

    @Test func `an error of a token is handed on unchanged`() throws {
        let token = try TokenKey([Self.digestOnly])
        token.failure = NSError(domain: "com.apple.LocalAuthentication", code: -2)
        #expect {
            _ = try Keys.sign(SecKey(token), .ecdsaSignatureMessageX962SHA256, Data())
        } throws: { $0 as NSError == token.failure }
        var signature = [UInt8](repeating: 0, count: 80)
        var count = signature.count
        let status = SecKeyRawSign(SecKey(token), .PKCS1, [UInt8](repeating: 1, count: 32), 32, &signature, &count)
        #expect(status == errSecInternalComponent)
    }

    @Test func `a token key does not leave, and its public half is an ordinary key`() throws {
        let key = SecKey(try TokenKey([Self.digestOnly]))
        expectStatus(errSecUnimplemented) { try Keys.bytes(key) }
        #expect(try Keys.bytes(Keys.publicKey(key)).count == 65)
        #expect(try SecKeyGetBlockSize(Keys.publicKey(key)) == 32)
        #expect(key == SecKey(key.backing))
        #expect(try key != SecKey(TokenKey([Self.digestOnly])))
    }

    @Test func `a digest of 32 bytes is signed with PKCS 1 padding by a token that knows SHA-256 alone`() throws {
        let key = SecKey(try TokenKey([Self.digestOnly]))
        let digest = [UInt8](repeating: 3, count: 32)
        var signature = [UInt8](repeating: 0, count: 80)
        var count = signature.count
        #expect(SecKeyRawSign(key, .PKCS1, digest, 32, &signature, &count) == errSecSuccess)
        #expect(try SecKeyRawVerify(Keys.publicKey(key), .PKCS1, digest, 32, signature, count) == errSecSuccess)
        #expect(SecKeyRawSign(key, .PKCS1, digest, 20, &signature, &count) == errSecParam)
    }
}

/// Records what is stored and made.
private final class RecordingServices: KeyStoring, TokenKeys, @unchecked Sendable {
    // SAFETY: (@unchecked) used by one test on one thread.
    private(set) var stored: [(SecKey, [String: Any])] = []
    private(set) var created: [(attributes: [String: Any], isPermanent: Bool)] = []
    var failure: StatusError?

    func check(_ attributes: [String: Any]) {}

    func store(_ key: SecKey, attributes: [String: Any]) throws -> Data {
        if let failure { throw failure }
        stored.append((key, attributes))
        return Data()
    }

    func remove(_ item: Data) {}

    func create(
        tokenID: String, attributes: [String: Any], isPermanent: Bool, beforeStoring: (SecKey) throws -> Void
    ) throws -> SecKey {
        created.append((attributes, isPermanent))
        let key = SecKey(try TokenKey([TokenKeyTests.digestOnly]))
        try beforeStoring(key)
        return key
    }

    func key(tokenID: String, objectID: Data, attributes: [String: Any]) throws -> SecKey {
        guard objectID == Data([1]) else { throw StatusError(errSecItemNotFound, "There is no such key.") }
        return SecKey(try TokenKey([TokenKeyTests.digestOnly]))
    }
}

extension TokenKeyTests {
    private func withServices(_ body: (RecordingServices) throws -> Void) throws {
        let services = RecordingServices()
        KeyServices.install(storing: services, tokens: services)
        defer { KeyServices.install(storing: KeychainKeys(), tokens: EnclaveKeys()) }
        try body(services)
    }

    @Test func `without a keychain nothing is stored or made in a token`() {
        KeyServices.install(storing: nil, tokens: nil)
        defer { KeyServices.install(storing: KeychainKeys(), tokens: EnclaveKeys()) }
        expectStatus(errSecUnimplemented) {
            try Keys.random(kSecAttrKeyTypeEC, 256, [kSecAttrIsPermanent: true])
        }
        expectStatus(errSecUnimplemented) {
            try Keys.random(kSecAttrKeyTypeEC, 256, [kSecAttrTokenID: kSecAttrTokenIDSecureEnclave])
        }
    }

    @Test func `the permanent halves are stored with their attributes`() throws {
        for (ofPrivate, ofPublic) in [(false, false), (false, true), (true, true)] {
            try withServices { services in
                let key = try Keys.random(
                    kSecAttrKeyTypeEC, 256,
                    [
                        kSecAttrLabel: "both",
                        kSecPrivateKeyAttrs: [kSecAttrIsPermanent: ofPrivate, kSecAttrLabel: "own"],
                        kSecPublicKeyAttrs: [kSecAttrIsPermanent: ofPublic],
                    ])
                let labels = services.stored.map { $0.1["labl"] as? String }
                #expect(labels == (ofPublic ? ["both"] : []) + (ofPrivate ? ["own"] : []))
                if ofPrivate { #expect(services.stored.last?.0 == key) }
                if ofPublic { #expect(try services.stored.first?.0 == Keys.publicKey(key)) }
                #expect(services.stored.allSatisfy { $0.1["private"] == nil && $0.1["public"] == nil })
            }
        }
    }

    @Test func `cases 103 and 104: a key that cannot be made or stored is none`() throws {
        try withServices { services in
            expectStatus(errSecParam) { try Keys.random(kSecAttrKeyTypeEC, 1_000_000, [kSecAttrIsPermanent: true]) }
            #expect(services.stored.isEmpty)
            services.failure = StatusError(errSecMissingEntitlement, "The group is not one of the program's.")
            expectStatus(errSecMissingEntitlement) {
                try Keys.random(kSecAttrKeyTypeEC, 256, [kSecAttrIsPermanent: true])
            }
        }
    }

    /// Pairs of which one half can be stored and the other cannot; the groups are looked at by the store alone.
    static let halves: [(ofPrivate: [String: any Sendable], ofPublic: [String: any Sendable], status: OSStatus)] = [
        ([:], ["agrp": ItemStoreDouble.foreignGroup], errSecMissingEntitlement),
        (["agrp": ItemStoreDouble.foreignGroup], [:], errSecMissingEntitlement),
        ([:], ["svce": "x"], errSecNoSuchAttr), (["svce": "x"], [:], errSecNoSuchAttr),
        ([:], ["labl": [1]], errSecParam), ([:], ["pdmn": "never"], errSecParam), (["pdmn": "never"], [:], errSecParam),
    ]

    @Test(arguments: halves, [false, true])
    func `case 104: of a pair of which one half cannot be stored nothing stays, in a token neither`(
        pair: (ofPrivate: [String: any Sendable], ofPublic: [String: any Sendable], status: OSStatus), inToken: Bool
    ) throws {
        let store = ItemStoreDouble()
        KeyServices.install(storing: KeychainKeys(service: store), tokens: EnclaveKeys(service: store))
        defer { KeyServices.install(storing: KeychainKeys(), tokens: EnclaveKeys()) }
        var parameters: [CFString: Any] = [
            kSecPrivateKeyAttrs: pair.ofPrivate.merging(["perm": true]) { $1 },
            kSecPublicKeyAttrs: pair.ofPublic.merging(["perm": true]) { $1 },
        ]
        if inToken { parameters[kSecAttrTokenID] = kSecAttrTokenIDSecureEnclave }
        expectStatus(pair.status) { try Keys.random(kSecAttrKeyTypeEC, 256, parameters) }
        #expect(store.rows.isEmpty)
        #expect(store.keys.isEmpty)
        if pair.status != errSecMissingEntitlement { #expect(store.calls.isEmpty, "it is known before") }
        parameters[kSecPrivateKeyAttrs] = ["perm": true]
        parameters[kSecPublicKeyAttrs] = ["perm": true]
        _ = try Keys.random(kSecAttrKeyTypeEC, 256, parameters)
        #expect(store.rows.count == 2)
        #expect(store.keys.count == (inToken ? 1 : 0))
    }

    @Test func `what stands at the top wins for a token, whose private half is permanent by default`() throws {
        try withServices { services in
            _ = try Keys.random(
                kSecAttrKeyTypeEC, 256,
                [
                    kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecAttrLabel: "top",
                    kSecPrivateKeyAttrs: [kSecAttrLabel: "inner", kSecAttrApplicationTag: "tag"],
                ])
            let created = try #require(services.created.first)
            #expect(created.attributes["labl"] as? String == "top" && created.attributes["atag"] as? String == "tag")
            #expect(created.isPermanent)
            #expect(services.stored.isEmpty)
            let parameters: [CFString: Any] = [
                kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecAttrIsPermanent: false,
            ]
            _ = try Keys.attempt { SecKeyCreateRandomKey(parameters as CFDictionary, $0) }
            #expect(services.created.last?.isPermanent == false)
        }
    }

    @Test func `a token's key is found by its handle`() throws {
        try withServices { _ in
            let extra: [CFString: Any] = [kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, "toid": Data([1])]
            _ = try Keys.read(Data(), kSecAttrKeyTypeEC, kSecAttrKeyClassPrivate, extra)
            expectStatus(errSecItemNotFound) {
                let unknown: [CFString: Any] = [kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, "toid": Data([2])]
                return try Keys.read(Data(), kSecAttrKeyTypeEC, kSecAttrKeyClassPrivate, unknown)
            }
        }
    }
}
