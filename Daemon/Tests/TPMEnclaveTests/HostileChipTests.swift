import Crypto
import Enclave
import Foundation
import SecretMemory
import TPMTestSupport
import TerminalTestSupport
import Testing

@testable import TPMEnclave

/// A TPM, or somebody on the way to it, that answers as it likes.
@Suite(.timeLimit(.minutes(5))) struct HostileChipTests {
    /// Each request ends with a result that holds, or with an error.
    @Test(arguments: UInt64(1)...6)
    func `every answer either holds or is an error, and later all works again`(seed: UInt64) throws {
        let tpm = try SoftwareTPM()
        let proxy = try HostileProxy(to: tpm, seed: seed)
        defer { proxy.end() }
        let enclave = try TPMEnclave(at: proxy.location, storageKey: nil, timeLimit: .seconds(2))
        let owner = Material.binding.owner
        let key = try enclave.makeKey()
        let blob = try enclave.seal(7)
        let passcode = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)

        proxy.setHostile(true)
        var (worked, failed) = (0, 0)
        for turn in 0..<40 {
            do throws(EnclaveError) {
                switch turn % 4 {
                case 0:
                    let signature = try enclave.openKey(
                        key, authorization: Material.secret(1), binding: Material.binding, session: nil
                    ).signature(forDigest: Material.digest)
                    #expect(Self.isValid(signature, by: key))
                case 1:
                    let secret = try enclave.unseal(
                        blob, authorization: Material.secret(1), context: Material.context)
                    #expect(Data(exposing: secret) == Data(repeating: 7, count: 32))
                case 2:
                    let made = try enclave.makeKey(.p256, authorization: Material.secret(1), binding: Material.binding)
                    #expect(made.publicKey.count == 65)
                default:
                    let opened = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(1))
                    #expect(Data(exposing: opened.secret) == Data(repeating: 9, count: 32))
                }
                worked += 1
            } catch {
                failed += 1
            }
        }
        #expect(failed > 0 && proxy.deedCount >= failed / 4, "\(worked) worked, \(failed) failed")
        // A wrong passcode is never taken for the right one.
        for _ in 0..<4 {
            #expect(throws: EnclaveError.self) {
                _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(2))
            }
        }

        proxy.setHostile(false)
        // The objects that were left in the chip belong to nobody.
        try tpm.restart()
        try eventually("it works again") {
            do {
                try enclave.open(key).expectSignature()
                return true
            } catch is EnclaveError {
                return false
            }
        }
        #expect(try enclave.unseal(blob) == Data(repeating: 7, count: 32))
        _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(1))
        #expect(try tpm.handles() == [0, 0, 0])
    }

    private static func isValid(_ signature: Data, by key: WrappedKey) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            let key = try? P256.Signing.PublicKey(x963Representation: key.publicKey)
        else { return false }
        return key.isValidSignature(signature, for: SHA256.hash(data: Data("message".utf8)))
    }
}
