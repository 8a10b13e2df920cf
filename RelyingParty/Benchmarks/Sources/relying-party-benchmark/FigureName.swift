/// The rows by the names that tables and JSON give them. Documentation/benchmarks.md describes each.
enum FigureName: String, Codable, CaseIterable, CodingKeyRepresentable {
    case bareVerification = "bare-verification"
    case assertion = "assertion"
    case assertionWithKey = "assertion-with-key"
    case packedRegistration = "packed-registration"
    case pythonVerification = "python-bare-verification"
    case pythonFIDO2 = "python-fido2-assertion"
    case pythonWebAuthn = "py-webauthn-assertion"
    case challenge = "challenge"
    case challengeManyOpen = "challenge-many-open"
    case oneThread = "assertions-one-thread"
    case twoThreads = "assertions-two-threads"
    case pythonFIDO2TwoThreads = "python-fido2-two-threads"
    case pythonWebAuthnTwoThreads = "py-webauthn-two-threads"
}

typealias Figures = [FigureName: Figure]
