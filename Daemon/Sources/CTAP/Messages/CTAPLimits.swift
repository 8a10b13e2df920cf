import CTAPHID

/// How much a client may send, and how long it may wait.
package enum CTAPLimits {
    package static let messageByteCount = HIDReport.messageByteCount
    /// Credentials in one list. A browser splits longer lists.
    package static let listCount = 32
    package static let credentialIdentifierByteCount = 128
    /// The longest name of a domain.
    package static let relyingPartyByteCount = 253
    /// WebAuthn 5.4.3.
    package static let userHandleByteCount = 64
    /// Names that people read are cut here, as CTAP 2.1 (6.1.1) permits.
    package static let nameByteCount = 64
    /// Entries of `pubKeyCredParams`.
    package static let algorithmCount = 64
    package static let pinTries = 8
    /// Wrong PINs in a row until the authenticator must lose its power.
    package static let pinTriesInARow = 3
    package static let pinCharacterCount = 4
    /// From the making of a token to its first use.
    static let tokenFirstUse = Duration.seconds(30)
    /// From the first use of a token to its end.
    static let tokenUse = Duration.seconds(600)
    /// From one part of a list to the next one: authenticatorGetNextAssertion, and the lists of authenticatorCredentialManagement.
    static let nextOfList = Duration.seconds(30)
    /// A reset counts only this soon after the authenticator got power.
    static let reset = Duration.seconds(10)
}
