import Enclave
import Foundation
import SecretMemory
import TPMTestSupport
import TerminalTestSupport
import Testing

@testable import TPMEnclave

/// A TPM that takes a request and says nothing.
@Suite(.timeLimit(.minutes(5))) struct SilentChipTests {
    private let tpm: SoftwareTPM
    private let limit = Duration.milliseconds(500)

    init() throws { tpm = try SoftwareTPM() }

    @Test(arguments: [false, true])
    func `fails the request, and works again when it answers again`(keepsLoaded: Bool) throws {
        let location = keepsLoaded ? tpm.keepingLoaded : tpm.shared
        let enclave = try TPMEnclave(at: location, storageKey: nil, timeLimit: limit)
        let key = try enclave.makeKey()
        let open = try enclave.open(key)
        tpm.pause()
        // The first request waits for the limit. The ones after it wait for nobody.
        for _ in 1...3 { expect(.noAnswer(within: limit)) { _ = try open.signature(forDigest: Material.digest) } }
        expect(.noAnswer(within: limit)) { _ = try enclave.makeKey() }
        tpm.resume()
        try eventually("it answers again") {
            do { try open.expectSignature() } catch EnclaveError.noAnswer { return false }
            return true
        }
        try enclave.open(key).expectSignature()
    }

    @Test func `is told from an absent one when a store is opened`() throws {
        let name = try TPMEnclave(at: tpm.shared, storageKey: nil).storageKey
        tpm.pause()
        expect(.noAnswer(within: limit)) {
            _ = try TPMEnclave(at: tpm.shared, storageKey: name, timeLimit: limit)
        }
        tpm.resume()
    }

    @Test func `gives no try of a passcode back`() throws {
        let enclave = try TPMEnclave(at: tpm.shared, storageKey: nil, timeLimit: limit)
        let owner = Material.binding.owner
        let passcode = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)
        expect(.refused) { _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(2)) }
        tpm.pause()
        expect(.noAnswer(within: limit)) {
            _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(2))
        }
        tpm.resume()
        try eventually("it answers again") {
            do { return try enclave.wrongTries(at: passcode).count >= 1 } catch EnclaveError.noAnswer { return false }
        }
    }
}
