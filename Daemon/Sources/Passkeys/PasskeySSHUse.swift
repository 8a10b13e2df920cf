package import PromptProtocol

/// One signature for SSH by a passkey, as the question and the log have it. The bytes were read and permitted before.
package struct PasskeySSHUse: Sendable, Equatable {
    let shown: PromptSignedData
    /// For the log, as for keys in the enclave.
    let operation: String
    let details: String

    package init(shown: PromptSignedData, operation: String, details: String) {
        (self.shown, self.operation, self.details) = (shown, operation, details)
    }
}
