public import Foundation
import GRDB
public import RelyingParty

extension SQLiteStore: ChallengeStore {
    /// Throws ``SQLiteStoreError/tooManyChallenges(_:)`` if the limit of open challenges is reached.
    public func add(_ challenge: OpenChallenge, at date: Date) async throws {
        let maximum = maximumChallengeCount
        guard let allowed = CredentialIDList.encoded(challenge.allowedCredentials) else {
            throw SQLiteStoreError.credentialIDTooLong
        }
        try await database.write { database in
            // A few at a time: no call pays for many that expired.
            try database.cachedStatement(sql: Self.removeExpired).execute(arguments: [date.timeIntervalSince1970])
            let count = try Int.fetchOne(database.cachedStatement(sql: "SELECT count FROM challengeCount")) ?? 0
            guard count < maximum else { throw SQLiteStoreError.tooManyChallenges(count) }
            try database.cachedStatement(sql: Self.insertChallenge).execute(arguments: [
                challenge.value, challenge.purpose.rawValue, challenge.account, challenge.session, allowed,
                challenge.verification.rawValue, challenge.expiration.timeIntervalSince1970,
                challenge.presence.rawValue, challenge.protection?.rawValue,
            ])
        }
    }

    public func take(_ value: Data, at date: Date) async throws -> OpenChallenge? {
        let challenge = try await database.write { database in
            let statement = try database.cachedStatement(sql: Self.takeChallenge)
            return try Row.fetchOne(statement, arguments: [value]).map(Self.challenge)
        }
        return challenge.flatMap { $0.expiration > date ? $0 : nil }
    }

    private static func challenge(_ row: Row) throws -> OpenChallenge {
        guard let purpose = OpenChallenge.Purpose(rawValue: row["purpose"]),
            let verification = UserRequirements.Verification(rawValue: row["verification"]),
            let presence = UserRequirements.Presence(rawValue: row["presence"]),
            let allowed = CredentialIDList.decoded(row["allowed"])
        else { throw SQLiteStoreError.damagedRow }
        let level: Int? = row["protection"]
        let protection = level.flatMap(CredentialProtection.init)
        guard (level == nil) == (protection == nil) else { throw SQLiteStoreError.damagedRow }
        return OpenChallenge(
            value: row["value"], purpose: purpose, account: row["account"], session: row["session"],
            allowedCredentials: allowed, verification: verification, presence: presence, protection: protection,
            expiration: Date(timeIntervalSince1970: row["expiration"]))
    }

    static let removeExpired = """
        DELETE FROM challenge WHERE value IN
        (SELECT value FROM challenge WHERE expiration <= ? ORDER BY expiration LIMIT 16)
        """
    static let insertChallenge = "INSERT INTO challenge VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    static let takeChallenge = "DELETE FROM challenge WHERE value = ? RETURNING *"
}
