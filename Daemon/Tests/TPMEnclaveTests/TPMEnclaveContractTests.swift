import Enclave
import EnclaveContract
import TPMTestSupport
import Testing

@testable import TPMEnclave

/// The same checks as for the software enclave, on a chip.
@Suite(.timeLimit(.minutes(5))) struct TPMEnclaveContractTests {
    @Test(arguments: EnclaveContract.checks)
    func `it keeps the contract of an enclave`(check: EnclaveContract.Check) throws {
        let (tpm, other) = (try SoftwareTPM(), try SoftwareTPM())
        try check(
            EnclaveContract(
                open: { try TPMEnclave(at: tpm.shared, storageKey: nil) },
                openOther: { try TPMEnclave(at: other.shared, storageKey: nil) },
                session: { TPMPasscodeSession(owner: $0) }))
        #expect(try tpm.handles() == [0, 0, 0], "nothing is left in the chip")
    }
}
