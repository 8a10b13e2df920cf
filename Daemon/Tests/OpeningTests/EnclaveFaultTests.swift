import AccessControl
import Enclave
import Foundation
import OstiaryMessages
import SecretMemory
import Testing

@testable import BrokerTestSupport

/// An enclave that opens no key, as a chip that is locked out or gone.
private struct FailingEnclave: ForwardingEnclave {
    let enclave: any Enclave
    let error: EnclaveError

    func openKey(
        _ key: WrappedKey, authorization: borrowing SecretBytes, binding: KeyBinding, session: (any PasscodeSession)?
    ) throws(EnclaveError) -> any OpenEnclaveKey {
        throw error
    }
}

@Suite("An enclave that fails")
struct EnclaveFaultTests {
    private func refused(with error: EnclaveError) throws -> Refused? {
        let fixture = try BrokerFixture(around: { FailingEnclave(enclave: $0, error: error) })
        try fixture.create("right", .unrestricted, .always)
        return try fixture.refusalOfAuthorizing("right", answers: [])
    }

    @Test func `for a while says how long, and does not blame the passcode`() throws {
        let refused = try refused(with: .lockedOut(remaining: .seconds(600)))
        #expect(refused?.code == .lockedOut && refused?.retryAfter == .seconds(600))
        #expect(refused?.cause == "enclave.locked-out")
    }

    @Test func `because its device is gone says so`() throws {
        let refused = try refused(with: .deviceLost)
        #expect(refused?.code == .internal && refused?.cause == "enclave.lost")
    }

    @Test func `because the passcode was not proved to it says so`() throws {
        let refused = try refused(with: .passcodeNeeded)
        #expect(refused?.code == .notAuthorized && refused?.cause == "passcode.needed")
    }
}
