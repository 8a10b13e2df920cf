package import PromptProtocol

/// One signature for SSH by a passkey, as the question and the log have it. The bytes were read and permitted before.
package struct PasskeySSHUse: Sendable {
    let shown: PromptSignedData
    /// For the log, as for keys in the enclave.
    let operation: String
    let details: String
    /// A last look at the programs that the signature is for. It comes before the signature is recorded as given out.
    let verifyCaller: @Sendable () throws -> Void

    package init(
        shown: PromptSignedData, operation: String, details: String, verifyCaller: @escaping @Sendable () throws -> Void
    ) {
        (self.shown, self.operation, self.details) = (shown, operation, details)
        self.verifyCaller = verifyCaller
    }
}
