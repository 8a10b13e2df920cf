public import AccessControl

extension Requirement {
    /// The rule "passcode".
    public static var passcode: Requirement { get throws(RuleError) { try Requirement(anyOf: [.passcode]) } }
}
