import Enclave
import EnclaveContract
import Foundation
import Synchronization
import TPMTestSupport
import Testing

@testable import TPMEnclave

/// The same checks as for the software enclave, on a chip.
@Suite(.timeLimit(.minutes(10))) struct TPMEnclaveContractTests {
    @Test(arguments: EnclaveContract.checks)
    func `it keeps the contract of an enclave`(check: EnclaveContract.Check) throws {
        let (bench, other) = (try Bench(), try Bench())
        try check(EnclaveContract(open: bench.open, openOther: other.open, session: bench.session(of:)))
        #expect(try bench.tpm.handles() == [0, 0, 0], "nothing is left in the chip")
    }

    /// A chip in which each owner of the contract has a passcode.
    private final class Bench: Sendable {
        let tpm: SoftwareTPM
        private let passcodes = Mutex<[Data: Data]>([:])
        private let owners = [UInt8(0xa0), 0xb0].map { Data(repeating: $0, count: 16) }

        init() throws { tpm = try SoftwareTPM() }

        @Sendable func open() throws -> any Enclave {
            let enclave = try TPMEnclave(at: tpm.shared, storageKey: nil)
            for owner in owners { try enclave.use(passcode(of: owner, in: enclave), of: owner) }
            return enclave
        }

        @Sendable func session(of owner: Data) throws -> any PasscodeSession {
            let enclave = try TPMEnclave(at: tpm.shared, storageKey: nil)
            let passcode = try passcode(of: owner, in: enclave)
            return try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(3)).session
        }

        private func passcode(of owner: Data, in enclave: TPMEnclave) throws -> Data {
            try passcodes.withLock { passcodes in
                if let made = passcodes[owner] { return made }
                let made = try enclave.makePasscode(Material.secret(3), sealing: Material.secret(9), of: owner)
                passcodes[owner] = made
                return made
            }
        }
    }
}
