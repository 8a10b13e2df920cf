import Settings
import TPMTestSupport

extension PromptConfiguration {
    /// Keys and passcode live in `tpm`.
    init(keysIn tpm: SoftwareTPM) {
        self.init()
        (enclave.kind, enclave.tpm) = (.tpm, tpm.configuration)
    }
}
