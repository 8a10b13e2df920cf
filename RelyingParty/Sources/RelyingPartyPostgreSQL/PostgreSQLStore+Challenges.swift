public import Foundation
public import RelyingParty

extension PostgreSQLStore: ChallengeStore {
    /// Throws ``PostgreSQLStoreError/tooManyChallenges(_:)`` if the limit of open challenges is reached.
    public func add(_ challenge: OpenChallenge, at date: Date) async throws {
        guard let allowed = CredentialIDList.encoded(challenge.allowedCredentials) else {
            throw PostgreSQLStoreError.credentialIDTooLong
        }
        let values: [PostgreSQLValue] = [
            .bytes(challenge.value), .text(challenge.purpose.rawValue), .bytes(challenge.account),
            .bytes(challenge.session), .bytes(allowed),
            .text(challenge.verification.rawValue), .number(challenge.expiration.timeIntervalSince1970),
            .number(date.timeIntervalSince1970), .integer(Int64(maximumChallengeCount)),
            .text(challenge.presence.rawValue), .integer(challenge.protection.map { Int64($0.rawValue) }),
        ]
        let refused = try await pool.run { connection throws(PostgreSQLStoreError) -> Int64? in
            let row = try connection.execute(Self.addChallenge, values).rows.first
            return try row?.optionalBytes(0) == nil ? nil : row?.integer(0)
        }
        if let refused { throw PostgreSQLStoreError.tooManyChallenges(Int(clamping: refused)) }
    }

    public func take(_ value: Data, at date: Date) async throws -> OpenChallenge? {
        let challenge = try await pool.run { connection throws(PostgreSQLStoreError) -> OpenChallenge? in
            guard let row = try connection.execute(Self.takeChallenge, [.bytes(value)]).rows.first else { return nil }
            return try Self.challenge(row)
        }
        return challenge.flatMap { $0.expiration > date ? $0 : nil }
    }

    private static func challenge(_ row: QueryResult.Row) throws(PostgreSQLStoreError) -> OpenChallenge {
        guard let purpose = OpenChallenge.Purpose(rawValue: try row.text(1)),
            let verification = UserRequirements.Verification(rawValue: try row.text(5)),
            let presence = UserRequirements.Presence(rawValue: try row.text(7)),
            let allowed = CredentialIDList.decoded(try row.bytes(4))
        else { throw .damagedRow }
        let level = try row.optional(8, QueryResult.Row.integer)
        let protection = level.flatMap { CredentialProtection(rawValue: Int(clamping: $0)) }
        guard (level == nil) == (protection == nil) else { throw .damagedRow }
        return OpenChallenge(
            value: try row.bytes(0), purpose: purpose, account: try row.optionalBytes(2),
            session: try row.optionalBytes(3), allowedCredentials: allowed, verification: verification,
            presence: presence, protection: protection, expiration: Date(timeIntervalSince1970: try row.number(6)))
    }

    static let addChallenge = "SELECT relying_party.add_challenge($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
    static let takeChallenge = """
        DELETE FROM relying_party.challenge WHERE value = $1
        RETURNING value, purpose, account, session, allowed, verification, expiration, presence, protection
        """
}
