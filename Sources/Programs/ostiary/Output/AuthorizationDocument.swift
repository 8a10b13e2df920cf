import OstiaryClient

/// The proved factors: `right authorize --json`, and the line for people.
struct AuthorizationDocument: Encodable {
    let factors: [String]
    let strength: String

    init(_ grant: Grant) {
        factors = grant.factors
        strength = grant.strength
    }

    var text: String { "Authorized: \(AuthorizedRight.proof(factors: factors, strength: strength))" }
}
