package import AuthenticatorRequests
package import Prompting

extension CredentialUser {
    /// Its names for a question, of which none can pass for two.
    package var shownName: DisplayText {
        let names = [name, displayName].compactMap(\.self).filter { !$0.isEmpty }
            .map { "“\(DisplayText(fact: $0, maximumScalarCount: 60).string)”" }
        return DisplayText(names.isEmpty ? "without a name" : names.joined(separator: ", called "))
    }
}
