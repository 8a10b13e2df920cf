import Crypto
import LocalAuthentication
import OstiaryClient
import OstiaryMessages
import Testing

@Suite struct RightKeyTests {
    private let daemon = FakeDaemon()

    private func saved(authorized: Bool = true) async throws -> LAPersistedRight {
        let right = LARight(requirement: .default, service: daemon)
        let saved = try await LARightStore(service: daemon).saveRight(right, identifier: "key")
        if authorized { try await saved.authorize(localizedReason: "test") }
        return saved
    }

    private static let message = Data("challenge".utf8)
    private static let digest = Data(SHA256.hash(data: message))

    // MARK: signing

    @Test(arguments: [
        (SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256, message), (.ecdsaSignatureDigestX962SHA256, digest),
    ])
    func `only a digest travels, and the public key verifies the signature`(
        algorithm: SecKeyAlgorithm, input: Data
    ) async throws {
        let right = try await saved()
        defer { withExtendedLifetime(right) {} }
        let key = right.key
        let signature = try await key.sign(input, algorithm: algorithm)
        #expect(
            daemon.calls.last
                == .sign(digest: Self.digest, algorithm: "algid:sign:ECDSA:digest-X962:SHA256"))
        try await key.publicKey.verify(input, signature: signature, algorithm: algorithm)
    }

    @Test func `a digest of a wrong length is refused before the daemon is asked`() async throws {
        let right = try await saved()
        defer { withExtendedLifetime(right) {} }
        let key = right.key
        let error = await thrownError {
            try await key.sign(Data(count: 31), algorithm: .ecdsaSignatureDigestX962SHA256)
        }
        expectStatus(errSecParam, error)
        #expect(!daemon.calls.contains { if case .sign = $0 { true } else { false } })
    }

    static let unfit: [SecKeyAlgorithm] = [
        .eciesEncryptionStandardVariableIVX963SHA256AESGCM, .ecdhKeyExchangeStandard,
        .rsaSignatureMessagePKCS1v15SHA256,
        SecKeyAlgorithm(rawValue: "algid:sign:nothing"),
    ]

    @Test(arguments: unfit)
    func `an algorithm that does not sign is refused before the daemon is asked`(algorithm: SecKeyAlgorithm)
        async throws
    {
        let right = try await saved()
        defer { withExtendedLifetime(right) {} }
        let key = right.key
        #expect(!key.canSign(using: algorithm))
        #expect(!key.publicKey.canVerify(using: algorithm))
        expectStatus(errSecParam, await thrownError { try await key.sign(Self.message, algorithm: algorithm) })
        expectStatus(
            errSecParam,
            await thrownError {
                try await key.publicKey.verify(Self.message, signature: Data(), algorithm: algorithm)
            })
        #expect(!daemon.calls.contains { if case .sign = $0 { true } else { false } })
    }

    @Test func `what a key can do does not depend on authorization`() async throws {
        let key = try await saved(authorized: false).key
        #expect(key.canSign(using: .ecdsaSignatureMessageX962SHA256))
        #expect(key.canDecrypt(using: .eciesEncryptionStandardVariableIVX963SHA256AESGCM))
        #expect(key.canExchangeKeys(using: .ecdhKeyExchangeCofactorX963SHA256))
        #expect(key.publicKey.canEncrypt(using: .eciesEncryptionStandardVariableIVX963SHA256AESGCM))
        #expect(!key.canDecrypt(using: .ecdsaSignatureMessageX962SHA256))
        #expect(!key.canExchangeKeys(using: .ecdsaSignatureMessageX962SHA256))
        #expect(!key.publicKey.canEncrypt(using: .ecdhKeyExchangeStandard))
    }

    @Test func `a signature over other data, or a broken one, is an error of verification`() async throws {
        let right = try await saved()
        defer { withExtendedLifetime(right) {} }
        let key = right.key
        let signature = try await key.sign(Self.message, algorithm: .ecdsaSignatureMessageX962SHA256)
        for (data, bytes) in [
            (Data("other".utf8), signature), (Self.message, signature.dropLast()), (Self.message, Data()),
        ] {
            let error = await thrownError {
                try await key.publicKey.verify(data, signature: bytes, algorithm: .ecdsaSignatureMessageX962SHA256)
            }
            expectStatus(-67808, error)
        }
    }

    // MARK: without authorization

    @Test func `no private operation without authorization`() async throws {
        let key = try await saved(authorized: false).key
        let ciphertext = try await key.publicKey.encrypt(
            Self.message, algorithm: .eciesEncryptionStandardVariableIVX963SHA256AESGCM)
        let errors = [
            await thrownError { try await key.sign(Self.message, algorithm: .ecdsaSignatureMessageX962SHA256) },
            await thrownError {
                try await key.decrypt(ciphertext, algorithm: .eciesEncryptionStandardVariableIVX963SHA256AESGCM)
            },
            await thrownError {
                try await key.exchangeKeys(
                    publicKey: TestKey.publicKey, algorithm: .ecdhKeyExchangeStandard, parameters: [:])
            },
        ]
        for error in errors {
            expectAuthenticationError(.authenticationFailed, cause: "right.not-authorized", error)
        }
    }

    @Test func `no private operation after deauthorizing`() async throws {
        let right = try await saved()
        await right.deauthorize()
        let error = await thrownError {
            try await right.key.sign(Self.message, algorithm: .ecdsaSignatureMessageX962SHA256)
        }
        expectAuthenticationError(.authenticationFailed, cause: "right.not-authorized", error)
    }

    @Test func `a key that outlives its right signs nothing`() async throws {
        let key = try await saved().key
        // The right was released at the end of the statement above.
        let error = await thrownError { try await key.sign(Self.message, algorithm: .ecdsaSignatureMessageX962SHA256) }
        expectAuthenticationError(.authenticationFailed, cause: "right.not-authorized", error)
    }

    @Test(arguments: [
        OstiaryError(.init(.notAuthorized), "gone"), OstiaryError(.init(.locked), "gone"),
        OstiaryError(.connectionLost, "gone"), OstiaryError(.init(.callerChanged), "gone"),
        OstiaryError(.init(.unknownContext), "gone"), OstiaryError(.daemonUnavailable, "gone"),
    ])
    func `a refusal that means the grant is gone ends the authorization`(error: OstiaryError) async throws {
        let right = try await saved()
        daemon.refuseUse(error)
        _ = await thrownError { try await right.key.sign(Self.message, algorithm: .ecdsaSignatureMessageX962SHA256) }
        #expect(right.state == .notAuthorized)
    }

    @Test(arguments: [WireFailureCode.internal, .diskFull, .logUnwritable, .unsupportedAlgorithm, .noSecret])
    func `a refusal of one operation leaves the authorization`(failure: WireFailureCode) async throws {
        let right = try await saved()
        daemon.refuseUse(OstiaryError(.init(failure), "not now"))
        _ = await thrownError { try await right.key.sign(Self.message, algorithm: .ecdsaSignatureMessageX962SHA256) }
        #expect(right.state == .authorized)
    }

    // MARK: the public key

    @Test func `the public key is exported as an uncompressed point`() async throws {
        let key = try await saved(authorized: false).key.publicKey
        let bytes = try await key.bytes
        #expect(bytes == TestKey.publicKey)
        #expect(bytes.count == 65)
        let exported = await withCheckedContinuation { continuation in
            key.exportBytes { bytes, _ in continuation.resume(returning: bytes) }
        }
        #expect(exported == bytes)
    }

    // MARK: decrypting and exchanging

    @Test func `what the public key encrypts the private key decrypts`() async throws {
        let right = try await saved()
        let algorithm = SecKeyAlgorithm.eciesEncryptionStandardVariableIVX963SHA256AESGCM
        let ciphertext = try await right.key.publicKey.encrypt(Self.message, algorithm: algorithm)
        #expect(try await right.key.decrypt(ciphertext, algorithm: algorithm) == Self.message)
    }

    @Test(arguments: [0, 16, 80])
    func `a malformed ciphertext is refused before the daemon is asked`(count: Int) async throws {
        let right = try await saved()
        let error = await thrownError {
            try await right.key.decrypt(
                Data(count: count), algorithm: .eciesEncryptionStandardVariableIVX963SHA256AESGCM)
        }
        expectStatus(errSecParam, error)
        #expect(!daemon.calls.contains { if case .decrypt = $0 { true } else { false } })
    }

    @Test func `an exchange carries its parameters`() async throws {
        let right = try await saved()
        let parameters: [SecKeyKeyExchangeParameter: Any] = [.requestedSize: 24, .sharedInfo: Data([9])]
        let result = try await right.key.exchangeKeys(
            publicKey: TestKey.publicKey, algorithm: .ecdhKeyExchangeCofactorX963SHA256, parameters: parameters)
        #expect(result.count == 24)
        #expect(
            daemon.calls.last
                == .exchange(
                    algorithm: "algid:keyexchange:ECDHC:KDFX963:SHA256", requestedSize: 24, sharedInfo: Data([9])))
    }

    @Test func `an exchange with an unusable peer or size is refused before the daemon is asked`() async throws {
        let right = try await saved()
        let attempts: [(Data, [AnyHashable: Any])] = [
            (Data(count: 65), ["requestedSize": 32]), (Data(), ["requestedSize": 32]), (TestKey.publicKey, [:]),
            (TestKey.publicKey, ["requestedSize": 0]), (TestKey.publicKey, ["requestedSize": -1]),
            (TestKey.publicKey, ["requestedSize": "32"]),
        ]
        for (peer, parameters) in attempts {
            let error = await thrownError {
                try await right.key.exchangeKeys(
                    publicKey: peer, algorithm: .ecdhKeyExchangeStandardX963SHA256, parameters: parameters)
            }
            expectStatus(errSecParam, error)
        }
        #expect(!daemon.calls.contains { if case .exchange = $0 { true } else { false } })
    }

    // MARK: completion handlers

    @Test func `completion forms give what the async forms give`() async throws {
        let right = try await saved()
        let (key, message) = (right.key, Self.message)
        let signature = await withCheckedContinuation { continuation in
            key.sign(message, algorithm: .ecdsaSignatureMessageX962SHA256) { signature, error in
                continuation.resume(returning: error == nil ? signature : nil)
            }
        }
        let outcome = Outcome()
        key.publicKey.verify(
            message, signature: try #require(signature), algorithm: .ecdsaSignatureMessageX962SHA256,
            completion: outcome.receive)
        #expect(await outcome.error() == nil)
        key.publicKey.verify(
            message, signature: Data(), algorithm: .ecdsaSignatureMessageX962SHA256, completion: outcome.receive)
        expectStatus(errSecVerifyFailed, await outcome.error())
        withExtendedLifetime(right) {}
    }
}
