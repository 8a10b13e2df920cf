import Enclave
import Foundation
import SecretMemory
import TPMTestSupport
import TerminalTestSupport
import Testing

@testable import TPMEnclave

/// A chip that goes away and comes back while the daemon runs, in every way that there is.
@Suite(.timeLimit(.minutes(10))) struct ChipReturnTests {
    private static let owner = Data(repeating: 7, count: 16)

    private static func openDescriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }

    /// Uses everything that there is in a chip, before and after each return.
    private func live(on location: TPMLocation, _ tpm: SoftwareTPM, through way: SoftwareTPM.Return) throws {
        let enclave = try TPMEnclave(at: location, storageKey: nil)
        let open = try enclave.open(try enclave.makeKey())
        let sealed = try enclave.seal(7)
        let passcode = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: Self.owner)
        try enclave.use(passcode, of: Self.owner)
        let key = try enclave.makeKey(authorization: Material.secret(4), binding: Material.passcodeBinding)
        let (counter, start) = try enclave.makeCounter(Material.secret(5), of: Self.owner)
        func session() throws -> any PasscodeSession {
            try enclave.openPasscode(passcode, of: Self.owner, authorization: Material.secret(1)).session
        }
        let opened = try enclave.openKey(
            key, authorization: Material.secret(4), binding: Material.passcodeBinding, session: session())
        try opened.expectSignature()
        expect(.refused) {
            _ = try enclave.openPasscode(passcode, of: Self.owner, authorization: Material.secret(2))
        }
        for round in 1...3 {
            // swtpm has one connection at a time: the tool's must not meet that of a key that is forgotten just now.
            enclave.settle()
            try tpm.comeBack(after: way)
            try open.expectSignature()
            #expect(try enclave.unseal(sealed) == Data(repeating: 7, count: 32))
            #expect(try enclave.wrongTries(at: passcode).count == (round == 1 ? 1 : 0))
            #expect(
                try enclave.advance(counter, to: start + UInt64(round), authorization: Material.secret(5))
                    == .value(start + UInt64(round)))
            // Its saved context may have survived. If not, the passcode is asked for again.
            do { try opened.expectSignature() } catch EnclaveError.passcodeNeeded {}
            try enclave.openKey(
                key, authorization: Material.secret(4), binding: Material.passcodeBinding, session: session()
            )
            .expectSignature()
        }
    }

    @Test(arguments: SoftwareTPM.Return.allCases)
    func `the next request works, counts stay, and neither handle nor descriptor is left`(
        way: SoftwareTPM.Return
    ) throws {
        let tpm = try SoftwareTPM()
        for location in [tpm.shared, tpm.keepingLoaded] { try live(on: location, tpm, through: way) }
        let before = try Self.openDescriptors()
        for location in [tpm.shared, tpm.keepingLoaded] { try live(on: location, tpm, through: way) }
        // Those of earlier tests may close meanwhile.
        try eventually("no descriptor is left") { try Self.openDescriptors() <= before }
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test func `a chip that is gone says so for each request, and nothing is left when it is back`() throws {
        let tpm = try SoftwareTPM()
        let enclave = try TPMEnclave(at: tpm.shared, storageKey: nil)
        let passcode = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: Self.owner)
        let (counter, start) = try enclave.makeCounter(Material.secret(5), of: Self.owner)
        tpm.kill()
        let before = try Self.openDescriptors()
        for _ in 1...5 {
            // TSS2_TCTI_RC_IO_ERROR
            expect(.unavailable(code: 0xa000a)) {
                _ = try enclave.openPasscode(passcode, of: Self.owner, authorization: Material.secret(1))
            }
            expect(.unavailable(code: 0xa000a)) {
                _ = try enclave.advance(counter, to: start + 1, authorization: Material.secret(5))
            }
        }
        #expect(try Self.openDescriptors() <= before)
        try tpm.start()
        #expect(try enclave.read(counter, authorization: Material.secret(5)) == .value(start))
        _ = try enclave.openPasscode(passcode, of: Self.owner, authorization: Material.secret(1))
        #expect(try tpm.handles() == [0, 0, 0])
    }
}
