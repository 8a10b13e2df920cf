import LocalAuthentication
import OstiaryClient
import OstiaryMessages
import Testing

@Suite struct RightStoreTests {
    private let daemon = FakeDaemon()
    private var store: LARightStore { LARightStore(service: daemon) }

    private func right() -> LARight { LARight(requirement: .default, service: daemon) }

    @Test func `a saved right is not authorized and carries neither state nor tag of what was saved`() async throws {
        let right = right()
        right.tag = 7
        try await right.authorize(localizedReason: "test")
        let saved = try await store.saveRight(right, identifier: "r")
        #expect(saved.state == .unknown)
        #expect(saved.tag == 0)
        #expect(right.state == .authorized)
    }

    @Test func `a saved right is found, authorized and gives its secret`() async throws {
        try await store.saveRight(right(), identifier: "r", secret: Data("hidden".utf8))
        let found = try await store.right(forIdentifier: "r")
        try await found.authorize(localizedReason: "test")
        #expect(try await found.secret.rawData == Data("hidden".utf8))
    }

    @Test func `a saved right can be saved under another name with its access control`() async throws {
        let first = try await store.saveRight(LARight(requirement: .biometry, service: daemon), identifier: "a")
        try await store.saveRight(first, identifier: "b")
        let created = daemon.calls.compactMap { call in
            if case .create(_, let accessControl, _) = call { accessControl } else { nil }
        }
        #expect(created.count == 2)
        #expect(created.first == created.last)
    }

    @Test func `a name that is taken is refused and the old right stays`() async throws {
        let old = try await store.saveRight(right(), identifier: "r", secret: Data([1]))
        let error = await thrownError { try await store.saveRight(right(), identifier: "r", secret: Data([2])) }
        expectStatus(errSecDuplicateItem, error)
        // The advice names calls, since a program reads it.
        for call in ["right(forIdentifier:)", "removeRight(forIdentifier:)"] {
            #expect((error as NSError?)?.localizedDescription.contains(call) == true)
        }
        try await old.authorize(localizedReason: "test")
        #expect(try await old.secret.rawData == Data([1]))
    }

    @Test func `an unknown name is not found`() async {
        expectStatus(errSecItemNotFound, await thrownError { _ = try await store.right(forIdentifier: "none") })
        expectStatus(errSecItemNotFound, await thrownError { try await store.removeRight(forIdentifier: "none") })
    }

    @Test func `an empty name is refused without asking the daemon`() async {
        expectStatus(errSecParam, await thrownError { _ = try await store.right(forIdentifier: "") })
        expectStatus(errSecParam, await thrownError { try await store.saveRight(right(), identifier: "") })
        expectStatus(errSecParam, await thrownError { try await store.removeRight(forIdentifier: "") })
        #expect(daemon.calls.isEmpty)
    }

    @Test func `a secret that no request carries is refused without asking the daemon`() async throws {
        let secret = Data(count: WireLimits.tailByteCount + 1)
        expectStatus(
            errSecParam, await thrownError { try await store.saveRight(right(), identifier: "r", secret: secret) })
        #expect(daemon.calls.isEmpty)
        try await store.saveRight(right(), identifier: "r", secret: secret.dropLast())
    }

    @Test func `a right without a secret says so and stays authorized`() async throws {
        let saved = try await store.saveRight(right(), identifier: "r")
        try await saved.authorize(localizedReason: "test")
        expectStatus(errSecItemNotFound, await thrownError { _ = try await saved.secret.rawData })
        #expect(saved.state == .authorized)
    }

    @Test func `the secret of a right that is not authorized is refused`() async throws {
        let saved = try await store.saveRight(right(), identifier: "r", secret: Data([1]))
        let error = await thrownError { _ = try await saved.secret.rawData }
        expectAuthenticationError(.authenticationFailed, cause: "right.not-authorized", error)
        #expect(!daemon.calls.contains(.readSecret))
    }

    // MARK: removing

    @Test func `removing a right ends its authorization`() async throws {
        let saved = try await store.saveRight(right(), identifier: "r")
        try await saved.authorize(localizedReason: "test")
        try await store.removeRight(saved)
        #expect(saved.state == .notAuthorized)
        expectAuthenticationError(
            .authenticationFailed, cause: "right.not-authorized",
            await thrownError { try await saved.key.sign(Data(), algorithm: .ecdsaSignatureMessageX962SHA256) })
        expectStatus(errSecItemNotFound, await thrownError { try await store.removeRight(saved) })
    }

    @Test func `a right that was removed elsewhere is not found and loses its authorization when used`() async throws {
        let saved = try await store.saveRight(right(), identifier: "r")
        try await saved.authorize(localizedReason: "test")
        daemon.refuseUse(OstiaryError(.init(.notFound), "removed"))
        expectStatus(
            errSecItemNotFound,
            await thrownError { try await saved.key.sign(Data(), algorithm: .ecdsaSignatureMessageX962SHA256) })
        #expect(saved.state == .notAuthorized)
    }

    @Test func `all rights are removed`() async throws {
        try await store.saveRight(right(), identifier: "r")
        try await store.removeAllRights()
        expectStatus(errSecItemNotFound, await thrownError { _ = try await store.right(forIdentifier: "r") })
    }

    // MARK: completion handlers

    @Test func `completions get exactly one of result and error`() async throws {
        let store = store
        let saved = Locked<[String]>([])
        @Sendable func note(_ right: LAPersistedRight?, _ error: (any Error)?) -> String {
            "\(right == nil ? "" : "right")\(error == nil ? "" : "error")"
        }
        let right = right()
        await withCheckedContinuation { continuation in
            store.saveRight(right, identifier: "a") { right, error in
                saved.update { $0.append(note(right, error)) }
                continuation.resume()
            }
        }
        await withCheckedContinuation { continuation in
            store.saveRight(right, identifier: "a", secret: Data()) { right, error in
                saved.update { $0.append(note(right, error)) }
                continuation.resume()
            }
        }
        await withCheckedContinuation { continuation in
            store.right(forIdentifier: "a") { right, error in
                saved.update { $0.append(note(right, error)) }
                continuation.resume()
            }
        }
        #expect(saved.value == ["right", "error", "right"])
        let removed = Outcome()
        store.removeRight(forIdentifier: "a", completion: removed.receive)
        #expect(await removed.error() == nil)
        store.removeRight(forIdentifier: "a", completion: removed.receive)
        expectStatus(errSecItemNotFound, await removed.error())
        store.removeAllRights(completion: removed.receive)
        #expect(await removed.error() == nil)
    }
}
