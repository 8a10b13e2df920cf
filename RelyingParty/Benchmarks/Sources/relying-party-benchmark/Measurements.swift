import Foundation
import RelyingParty
import RelyingPartySQLite

/// The extent of a measurement.
struct Plan: Codable {
    /// Alternations of all rows: a short disturbance of the machine then meets all of them.
    let blocks: Int
    /// Calls of a row in one block.
    let calls: Int
    /// Challenges that are open in the row of many.
    let openChallenges: Int

    static let full = Plan(blocks: 20, calls: 500, openChallenges: 100_000)
    static let quick = Plan(blocks: 4, calls: 50, openChallenges: 10_000)
}

/// Measures all rows in turn, block by block.
struct Measurements {
    let plan: Plan
    let answers: Answers
    let witnesses: Witnesses

    // MARK: latency

    func latencies() async throws -> Figures {
        let bare = try answers.bareVerification()
        let key = try CredentialPublicKey(cose: answers.record.publicKey)
        let few = try SQLiteStore(inMemoryWithMaximumChallengeCount: 1_000_000)
        let many = try SQLiteStore(inMemoryWithMaximumChallengeCount: 1_000_000)
        for number in 0..<plan.openChallenges { try await many.add(Self.challenge("open \(number)"), at: Self.date) }
        var samples: [FigureName: Samples] = [:]
        func measure(_ name: FigureName, _ call: () async throws -> Void) async throws {
            for _ in 0..<plan.calls { try await samples[name, default: Samples()].time(call) }
        }
        for block in 0...plan.blocks {
            // The first block warms up.
            if block == 1 { samples = [:] }
            try time(.bareVerification, bare, &samples)
            try time(.assertion, { try answers.verifyAssertion() }, &samples)
            try time(.assertionWithKey, { try answers.verifyAssertion(with: key) }, &samples)
            try await measure(.packedRegistration) {
                _ = try await Answers.verifier.verifyRegistration(
                    answers.registration, challenge: answers.registrationChallenge, userHandle: Answers.account,
                    at: Date())
            }
            try await measure(.challenge) { try await Self.addAndTake(few) }
            try await measure(.challengeManyOpen) { try await Self.addAndTake(many) }
            for (row, name) in [
                (FigureName.pythonVerification, "bare"), (.pythonFIDO2, "fido2"), (.pythonWebAuthn, "webauthn"),
            ] {
                for duration in try witnesses.run(name, plan.calls) {
                    samples[row, default: Samples()].append(duration)
                }
            }
        }
        return samples.mapValues { $0.figure(.microseconds) }
    }

    private func time(
        _ name: FigureName, _ call: () throws -> Void, _ samples: inout [FigureName: Samples]
    ) rethrows {
        for _ in 0..<plan.calls { try samples[name, default: Samples()].time(call) }
    }

    private static let date = Date(timeIntervalSince1970: 1_800_000_000)

    private static func challenge(_ value: String) -> OpenChallenge {
        OpenChallenge(
            value: Data(value.utf8), purpose: .assertion, account: nil, session: nil, allowedCredentials: [],
            verification: .preferred, expiration: date + 300)
    }

    private static func addAndTake(_ store: SQLiteStore) async throws {
        let challenge = challenge("one")
        try await store.add(challenge, at: date)
        guard try await store.take(challenge.value, at: date) == challenge else { throw Answers.Unusable() }
    }

    // MARK: throughput

    /// Calls in a second, over all threads.
    func throughputs() throws -> Figures {
        var rates: [FigureName: [Double]] = [:]
        for _ in 0..<plan.blocks {
            rates[.oneThread, default: []].append(rate(ofThreads: 1))
            rates[.twoThreads, default: []].append(rate(ofThreads: 2))
            for (row, name) in [(FigureName.pythonFIDO2TwoThreads, "fido2"), (.pythonWebAuthnTwoThreads, "webauthn")] {
                let durations = try witnesses.run(name, plan.calls, threads: 2)
                rates[row, default: []].append(2e9 * Double(plan.calls) / Double(durations.reduce(0, +)))
            }
        }
        return rates.mapValues { Figure($0, unit: .perSecond) }
    }

    private func rate(ofThreads count: Int) -> Double {
        let calls = plan.calls * 4
        let start = MonotonicClock.now()
        let threads = (0..<count).map { _ in
            Worker { for _ in 0..<calls { try? answers.verifyAssertion() } }
        }
        threads.forEach { $0.join() }
        return 1e9 * Double(calls * count) / Double(MonotonicClock.now() - start)
    }
}
