package import DoorSupport
package import SecretMemory

/// The secret of an item: a password alone, or with what belongs to it in lines of git's form.
///
/// A password alone is kept as it is, so that `ostiary item find` shows it. The item's description says which form it is; without one
/// of these descriptions it is a password.
package struct CredentialSecret: Sendable {
    package static let passwordDescription = "password"
    /// Lines `password`, `password_expiry_utc`, `oauth_refresh_token`, `authtype`, `credential`, and `username` where the account is none.
    package static let linesDescription = "credential in lines"

    package let description: String
    package let value: Secret
    /// When it ends, in seconds since 1970; nil where git named no end.
    package let expiry: UInt64?

    /// The secret of a credential of git; nil when it has nothing to keep.
    package init?(_ credential: GitCredential) {
        var kept = GitCredential()
        (kept.password, kept.expiry, kept.refreshToken) = (
            credential.password, credential.expiry, credential.refreshToken
        )
        if credential.capabilities.contains(.authtype), !credential.isEphemeral {
            (kept.authtype, kept.credential) = (credential.authtype, credential.credential)
        }
        let isWhole = kept.authtype != nil && kept.credential != nil
        if !isWhole { (kept.authtype, kept.credential) = (nil, nil) }
        guard isWhole || (kept.password != nil && credential.username != nil) else { return nil }
        let isPasswordAlone = !isWhole && kept.expiry == nil && kept.refreshToken == nil
        if isPasswordAlone, let password = kept.password, !password.bytes.isEmpty {
            (description, value, expiry) = (Self.passwordDescription, password, nil)
            return
        }
        // The account of an item says the same for none and an empty one.
        if credential.username?.isEmpty == true { kept.username = "" }
        (description, value, expiry) = (Self.linesDescription, Secret(kept.answer()), kept.expiry)
    }

    /// A password, or a token, that is not empty.
    package init(password: Secret) { (description, value, expiry) = (Self.passwordDescription, password, nil) }

    /// What git is told of an item.
    package static func credential(
        described description: String?, account: String?, _ secret: borrowing SecretBytes
    ) throws(DoorFailure) -> GitCredential {
        var credential = GitCredential()
        if description == linesDescription {
            credential = try GitCredential(parsing: secret)
        } else {
            credential.password = Secret(SecretBytes(copying: secret))
        }
        if let account, !account.isEmpty || description != linesDescription { credential.username = account }
        return credential
    }

    package func isEqual(to other: borrowing SecretBytes, described description: String?) -> Bool {
        (description == Self.linesDescription) == (self.description == Self.linesDescription)
            && value.bytes.isEqual(to: other)
    }
}
