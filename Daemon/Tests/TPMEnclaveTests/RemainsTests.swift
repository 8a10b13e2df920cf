import Enclave
import Foundation
import SecretMemory
import Synchronization
import TPMTestSupport
import Testing

@testable import TPMEnclave

/// Places of a chip that does not confirm that something of ours is gone. Nobody else frees them where there is no resource manager.
@Suite(.timeLimit(.minutes(10))) struct RemainsTests {
    private let tpm: SoftwareTPM

    init() throws { tpm = try SoftwareTPM() }

    /// Lets the chip refuse, once, to forget something, at the place of this number among such commands.
    private func refusingFlush(_ number: Int, _ body: (HostileProxy) throws -> Void) throws {
        let count = Mutex(0)
        let proxy = try HostileProxy(to: tpm) { command in
            guard command == .flush else { return nil }
            let isChosen = count.withLock { count in
                count += 1
                return count == number
            }
            return isChosen ? HostileProxy.refusal(0x101) : nil  // TPM_RC_FAILURE
        }
        defer { proxy.end() }
        try body(proxy)
        #expect(count.withLock { $0 } >= number, "nothing was refused")
    }

    /// The first ones are of the storage key: as it is computed, after the start of the sessions, and after each object.
    @Test(arguments: 1...9)
    func `all that was made is used, and removed at the end`(number: Int) throws {
        let owner = Material.binding.owner
        try refusingFlush(number) { proxy in
            let enclave = try TPMEnclave(at: proxy.location, storageKey: nil)
            let key = try enclave.makeKey()
            try enclave.open(key).expectSignature()
            let passcode = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)
            _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(1))
            try enclave.open(key).expectSignature()
        }
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test(arguments: 1...9)
    func `so it is where the sessions stay`(number: Int) throws {
        let owner = Material.binding.owner
        try refusingFlush(number) { proxy in
            let enclave = try TPMEnclave(at: proxy.keepingLoaded, storageKey: nil)
            let keys = try (1...2).map { _ in try enclave.makeKey() }
            for key in keys + keys { try enclave.open(key).expectSignature() }
            let passcode = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)
            _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(1))
            for key in keys + keys { try enclave.open(key).expectSignature() }
        }
        #expect(try tpm.handles() == [0, 0, 0])
    }
}
