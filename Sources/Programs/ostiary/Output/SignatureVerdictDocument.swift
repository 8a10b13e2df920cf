/// Whether a signature is valid: `right verify --json`, and the line for people.
struct SignatureVerdictDocument: Encodable {
    let valid: Bool

    var text: String { valid ? "The signature is valid." : "The signature is NOT valid." }
}
