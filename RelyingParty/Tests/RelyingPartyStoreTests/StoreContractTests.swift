import Foundation
import RelyingParty
import Testing

/// The rules for every store.
@Suite(.timeLimit(.minutes(10))) struct StoreContractTests {
    // MARK: challenges

    @Test(arguments: StoreKind.allCases) func `a challenge comes back once, as it was`(_ kind: StoreKind) async throws {
        try await kind.withStores { stores async throws in
            let store = stores[0]
            for purpose in OpenChallenge.Purpose.allCases {
                for verification in UserRequirements.Verification.allCases {
                    for account in [nil, Data(), Data([0, 0xFF])] {
                        let challenge = OpenChallenge(
                            value: Data((0..<32).map { UInt8($0) }), purpose: purpose, account: account,
                            session: Data([7]),
                            allowedCredentials: [Data(), Data(repeating: 1, count: 1023), Data([2])],
                            verification: verification, expiration: Example.date + 0.25)
                        try await store.add(challenge, at: Example.date)
                        #expect(try await store.take(challenge.value, at: Example.date) == challenge)
                        #expect(try await store.take(challenge.value, at: Example.date) == nil)
                    }
                }
            }
            #expect(try await store.take(Data([9]), at: Example.date) == nil)
            #expect(try await store.take(Data(), at: Example.date) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a challenge keeps what the answer needs`(_ kind: StoreKind) async throws {
        try await kind.withStores { stores async throws in
            for presence in UserRequirements.Presence.allCases {
                for protection in [nil] + CredentialProtection.allCases {
                    let challenge = OpenChallenge(
                        value: Data([1]), purpose: .registration, account: Data([1]), session: nil,
                        allowedCredentials: [], verification: .preferred, presence: presence, protection: protection,
                        expiration: Example.date + 1)
                    try await stores[0].add(challenge, at: Example.date)
                    #expect(try await stores[0].take(challenge.value, at: Example.date) == challenge)
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases) func `an expired challenge is none, and is gone`(_ kind: StoreKind)
        async throws
    {
        try await kind.withStores { stores async throws in
            let store = stores[0]
            try await store.add(Example.challenge(1), at: Example.date)
            #expect(try await store.take(Example.challenge(1).value, at: Example.date + 300) == nil)
            #expect(try await store.take(Example.challenge(1).value, at: Example.date) == nil)
            try await store.add(Example.challenge(2), at: Example.date)
            #expect(try await store.take(Example.challenge(2).value, at: Example.date + 299.9) != nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `of all who take a challenge at the same time, one gets it`(_ kind: StoreKind) async throws {
        try await kind.withStores(4) { stores async throws in
            for number in 0..<20 {
                try await stores[0].add(Example.challenge(number), at: Example.date)
                let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for index in 0..<16 {
                        group.addTask {
                            try await stores[index % 4].take(Example.challenge(number).value, at: Example.date) != nil
                        }
                    }
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(taken == 1)
            }
        }
    }

    @Test(arguments: StoreKind.allCases) func `no more challenges are open than may be`(_ kind: StoreKind) async throws
    {
        try await kind.withStores(maximumChallengeCount: 3) { stores async throws in
            let store = stores[0]
            for number in 0..<3 { try await store.add(Example.challenge(number), at: Example.date) }
            try await expectTooMany { try await store.add(Example.challenge(3), at: Example.date) }
            _ = try await store.take(Example.challenge(0).value, at: Example.date)
            try await store.add(Example.challenge(3), at: Example.date)
            try await expectTooMany { try await store.add(Example.challenge(4), at: Example.date) }
            // Those that expired make room.
            try await store.add(Example.challenge(4, expiration: Example.date + 1000), at: Example.date + 300)
            #expect(try await store.take(Example.challenge(4).value, at: Example.date + 300) != nil)
        }
    }

    /// The stores have errors of their own, but they call this one the same.
    private func expectTooMany(_ body: () async throws -> Void) async throws {
        do {
            try await body()
            Issue.record("one more challenge was taken than may be open")
        } catch {
            #expect("\(error)" == "tooManyChallenges(3)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a limit of challenges holds when many add at the same time`(_ kind: StoreKind) async throws {
        try await kind.withStores(4, maximumChallengeCount: 10) { stores async throws in
            try await stores[0].add(Example.challenge(1000), at: Example.date)
            let added = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<64 {
                    group.addTask {
                        do {
                            try await stores[number % 4].add(Example.challenge(number), at: Example.date)
                            return true
                        } catch { return false }
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(added == 9)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a challenge for a credential ID that cannot be is refused`(_ kind: StoreKind) async throws {
        try await kind.withStores { stores async throws in
            let challenge = OpenChallenge(
                value: Data([1]), purpose: .assertion, account: nil, session: nil,
                allowedCredentials: [Data(count: 65_536)], verification: .preferred, expiration: Example.date + 1)
            do {
                try await stores[0].add(challenge, at: Example.date)
                Issue.record("it was taken")
            } catch {
                #expect("\(error)" == "credentialIDTooLong")
            }
            #expect(try await stores[0].take(challenge.value, at: Example.date) == nil)
        }
    }

    // MARK: credentials

    @Test(arguments: StoreKind.allCases) func `credentials come back as they were`(_ kind: StoreKind) async throws {
        try await kind.withStores { stores async throws in
            let store = stores[0]
            #expect(try await store.add(Example.credential(2, counter: .max)))
            #expect(try await store.add(Example.credential(1)))
            #expect(try await store.add(Example.credential(3, account: 2)))
            #expect(try await store.credential(Example.credential(2).id) == Example.credential(2, counter: .max))
            #expect(try await store.credential(Data()) == nil)
            let all = [Example.credential(1), Example.credential(2, counter: .max)]
            #expect(try await store.credentials(of: Data([1])) == all)
            #expect(try await store.credentials(of: Data()).isEmpty)
            let plain = CredentialRecord(
                id: Data([0, 0x27, 0x5C, 0xFF]), userHandle: Data([0]), publicKey: Data(), signatureCounter: 0,
                isUserVerified: false, isBackupEligible: true, isBackedUp: true, transports: [])
            #expect(try await store.add(plain))
            #expect(try await store.credential(plain.id) == plain)
            for isDiscoverable in [true, false] {
                let full = CredentialRecord(
                    id: Data([isDiscoverable ? 1 : 2]), userHandle: Data([0]), publicKey: Data([1]),
                    signatureCounter: 0, isUserVerified: false, isBackupEligible: true, isBackedUp: true,
                    transports: [], aaguid: Data(0..<16), creation: Example.date + 0.25, lastUse: Example.date + 1.5,
                    nickname: "l'été \u{1F511}", isDiscoverable: isDiscoverable)
                #expect(try await store.add(full))
                #expect(try await store.credential(full.id) == full)
            }
        }
    }

    @Test(arguments: StoreKind.allCases) func `a credential has one account`(_ kind: StoreKind) async throws {
        try await kind.withStores { stores async throws in
            #expect(try await stores[0].add(Example.credential(1)))
            #expect(try await !stores[0].add(Example.credential(1, account: 2, counter: 9)))
            #expect(try await stores[0].credential(Example.credential(1).id) == Example.credential(1))
        }
    }

    @Test(arguments: StoreKind.allCases) func `only its account removes a credential`(_ kind: StoreKind) async throws {
        try await kind.withStores { stores async throws in
            _ = try await stores[0].add(Example.credential(1))
            #expect(try await !stores[0].remove(Example.credential(1).id, of: Data([2])))
            #expect(try await stores[0].remove(Example.credential(1).id, of: Data([1])))
            #expect(try await !stores[0].remove(Example.credential(1).id, of: Data([1])))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the last credential of an account stays`(_ kind: StoreKind) async throws {
        try await kind.withStores { stores async throws in
            let (store, account) = (stores[0], Data([1]))
            let (first, second) = (Example.credential(1).id, Example.credential(2).id)
            #expect(try await store.removeUnlessLast(first, of: account) == .unknownCredential)
            for number in 1...2 { _ = try await store.add(Example.credential(number)) }
            _ = try await store.add(Example.credential(3, account: 2))
            #expect(try await store.removeUnlessLast(first, of: Data([2])) == .unknownCredential)
            #expect(try await store.removeUnlessLast(first, of: account) == .removed)
            #expect(try await store.removeUnlessLast(first, of: account) == .unknownCredential)
            #expect(try await store.removeUnlessLast(second, of: account) == .isLast)
            #expect(try await store.credentials(of: account) == [Example.credential(2)])
            #expect(try await store.credentials(of: Data([2])) == [Example.credential(3, account: 2)])
        }
    }

    @Test(arguments: StoreKind.allCases) func `only its account names a credential`(_ kind: StoreKind) async throws {
        try await kind.withStores { stores async throws in
            let id = Example.credential(1).id
            _ = try await stores[0].add(Example.credential(1))
            #expect(try await !stores[0].rename(id, of: Data([2]), to: "theirs"))
            #expect(try await stores[0].credential(id)?.nickname == nil)
            #expect(try await stores[0].rename(id, of: Data([1]), to: "mine"))
            #expect(try await stores[0].credential(id)?.nickname == "mine")
            #expect(try await stores[0].rename(id, of: Data([1]), to: nil))
            #expect(try await stores[0].credential(id) == Example.credential(1))
            #expect(try await !stores[0].rename(Data([9]), of: Data([1]), to: "none"))
        }
    }

    @Test(arguments: StoreKind.allCases) func `a use leaves its date`(_ kind: StoreKind) async throws {
        try await kind.withStores { stores async throws in
            let id = Example.credential(1).id
            _ = try await stores[0].add(Example.credential(1))
            var use = Example.use(1, counter: 1)
            use.date = Example.date
            #expect(try await stores[0].accept(use) == .accepted)
            #expect(try await stores[0].credential(id)?.lastUse == Example.date)
            #expect(try await stores[0].accept(Example.use(1, counter: 2)) == .accepted)
            #expect(try await stores[0].credential(id)?.lastUse == Example.date)
            // A counter that is refused leaves none.
            use.date = Example.date + 9
            #expect(try await stores[0].accept(use) == .counterNotIncreased(stored: 2))
            #expect(try await stores[0].credential(id)?.lastUse == Example.date)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a counter is accepted if it increases, or if there is none`(_ kind: StoreKind) async throws {
        try await kind.withStores { stores async throws in
            let store = stores[0]
            _ = try await store.add(Example.credential(1))
            #expect(try await store.accept(Example.use(1, counter: 0)) == .accepted)
            #expect(try await store.accept(Example.use(1, counter: 0, isBackedUp: true)) == .accepted)
            #expect(try await store.credential(Example.credential(1).id)?.isBackedUp == true)
            #expect(try await store.accept(Example.use(1, counter: 5)) == .accepted)
            for counter: UInt32 in [0, 1, 4, 5] {
                #expect(try await store.accept(Example.use(1, counter: counter)) == .counterNotIncreased(stored: 5))
            }
            #expect(try await store.accept(Example.use(1, counter: .max)) == .accepted)
            #expect(try await store.accept(Example.use(1, counter: .max)) == .counterNotIncreased(stored: .max))
            #expect(try await store.accept(Example.use(2, counter: 1)) == .unknownCredential)
        }
    }

    /// Each counter is offered by four servers at the same time.
    @Test(arguments: StoreKind.allCases)
    func `no counter is accepted twice, however many servers ask`(_ kind: StoreKind) async throws {
        try await kind.withStores(4) { stores async throws in
            _ = try await stores[0].add(Example.credential(1))
            let accepted = try await withThrowingTaskGroup(of: UInt32?.self) { group in
                for counter: UInt32 in 1...50 {
                    for store in stores {
                        group.addTask {
                            try await store.accept(Example.use(1, counter: counter)) == .accepted ? counter : nil
                        }
                    }
                }
                return try await group.reduce(into: [UInt32]()) { if let counter = $1 { $0.append(counter) } }
            }
            #expect(Set(accepted).count == accepted.count && accepted.contains(50))
            #expect(try await stores[3].credential(Example.credential(1).id)?.signatureCounter == 50)
        }
    }

    /// Two servers remove the two credentials of an account at the same time.
    @Test(arguments: StoreKind.allCases)
    func `of two credentials that are removed at once one stays`(_ kind: StoreKind) async throws {
        try await kind.withStores(2) { stores async throws in
            for account in 1...30 as ClosedRange<UInt8> {
                let both = [1, 2].map { Example.credential(Int(account) * 100 + $0, account: account) }
                for credential in both { _ = try await stores[0].add(credential) }
                let outcomes = try await withThrowingTaskGroup(of: CredentialRemovalOutcome.self) { group in
                    for (store, credential) in zip(stores, both) {
                        group.addTask { try await store.removeUnlessLast(credential.id, of: credential.userHandle) }
                    }
                    return try await group.reduce(into: [CredentialRemovalOutcome]()) { $0.append($1) }
                }
                #expect(outcomes.contains(.removed) && outcomes.contains(.isLast), "\(outcomes)")
                #expect(try await stores[0].credentials(of: Data([account])).count == 1)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `of many first credentials of an account one is added`(_ kind: StoreKind) async throws {
        try await kind.withStores(4) { stores async throws in
            for account in 1...10 as ClosedRange<UInt8> {
                let added = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for (index, store) in (stores + stores).enumerated() {
                        group.addTask {
                            try await store.addFirst(Example.credential(Int(account) * 100 + index, account: account))
                        }
                    }
                    return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                }
                #expect(added == 1)
                #expect(try await stores[0].credentials(of: Data([account])).count == 1)
            }
            // An id that another account has.
            let taken = try #require(try await stores[0].credentials(of: Data([1])).first)
            let other = CredentialRecord(
                id: taken.id, userHandle: Data([99]), publicKey: Data([2, 3]), signatureCounter: 0,
                isUserVerified: true, isBackupEligible: false, isBackedUp: false, transports: [])
            #expect(try await !stores[0].addFirst(other))
            #expect(try await stores[0].credentials(of: Data([99])).isEmpty)
            #expect(try await stores[0].addFirst(Example.credential(5000, account: 99)))
        }
    }
}
