import Enclave
import Foundation
import SecretMemory
import TPMTestSupport
import Testing

@testable import TPMEnclave

/// The refusals of the enclave beyond the contract, and their errors.
@Suite(.timeLimit(.minutes(10))) struct TPMRefusalTests {
    private let tpm: SoftwareTPM
    private let enclave: TPMEnclave

    init() throws {
        tpm = try SoftwareTPM()
        enclave = try TPMEnclave(at: tpm.shared, storageKey: nil)
    }

    @Test func `it does not claim that the chip counts passcodes`() {
        #expect(enclave.kind == .tpm)
        #expect(enclave.guessing == .limitedByHardware)
        #expect(!enclave.isImmediate)
    }

    @Test func `wrong authorizations are refused and do not count towards the chip's lockout`() throws {
        let key = try enclave.makeKey()
        let blob = try enclave.seal(7)
        for _ in 0..<5 {
            expect(.refused) { _ = try enclave.open(key, 2) }
            expect(.refused) { _ = try enclave.unseal(blob, 2) }
        }
        let state = try tpm.tool("tpm2_getcap", "properties-variable")
        #expect(state.contains("TPM2_PT_LOCKOUT_COUNTER: 0x0\n"))
        try enclave.open(key).expectSignature()
    }

    @Test func `every altered byte of a blob makes it unreadable`() throws {
        let key = try enclave.makeKey()
        for index in key.blob.indices {
            var blob = key.blob
            blob[index] ^= 0x10
            let altered = WrappedKey(kind: .tpm, publicKey: key.publicKey, blob: blob)
            expect(.unreadable, "byte \(index)") { _ = try enclave.open(altered) }
        }
    }

    @Test func `a blob that names another kind is not opened, whatever the row says`() throws {
        var (key, sealed) = (try enclave.makeKey().blob, try enclave.seal(7))
        key[1] = EnclaveKind.software.code
        sealed[1] = EnclaveKind.software.code
        expect(.wrongKind) {
            _ = try enclave.open(WrappedKey(kind: .tpm, publicKey: Data(count: 65), blob: key))
        }
        expect(.wrongKind) { _ = try enclave.unseal(sealed) }
    }

    @Test func `the two areas of two keys do not open together`() throws {
        let (first, second) = (try enclave.makeKey(), try enclave.makeKey())
        let (publicHalf, privateHalf) = (
            try ChipObject(blob: first.blob, as: .key), try ChipObject(blob: second.blob, as: .key)
        )
        let mixed = ChipObject(publicArea: publicHalf.publicArea, privateArea: privateHalf.privateArea)
        expect(.unreadable) {
            _ = try enclave.open(WrappedKey(kind: .tpm, publicKey: first.publicKey, blob: mixed.blob(as: .key)))
        }
    }

    @Test func `an authorization that the chip would shorten or refuse is not taken`() throws {
        for wrong in [Data([1, 0]), Data(repeating: 1, count: 33)] {
            expect(.invalidAuthorization) {
                _ = try enclave.makeKey(authorization: SecretBytes(wrong), binding: Material.binding)
            }
            expect(.invalidAuthorization) {
                _ = try enclave.seal(Material.secret(7), authorization: SecretBytes(wrong), context: Data())
            }
        }
    }

    @Test func `a longer authorization than any object has is refused`() throws {
        let key = try enclave.makeKey()
        for count in [33, 64, 65, 500] {
            expect(.refused) {
                _ = try enclave.openKey(
                    key, authorization: SecretBytes(Data(repeating: 1, count: count)), binding: Material.binding,
                    session: nil)
            }
        }
    }

    @Test func `a key of another owner is unreadable`() throws {
        let key = try enclave.makeKey()
        let other = KeyBinding(
            owner: Data(repeating: 8, count: 16), outsideInfo: Material.binding.outsideInfo, requiresPasscode: false)
        expect(.unreadable) {
            _ = try enclave.openKey(key, authorization: Material.secret(1), binding: other, session: nil)
        }
    }

    // MARK: another chip

    @Test func `a TPM with another storage key is refused before it is told anything`() throws {
        let other = try SoftwareTPM()
        expect(.deviceLost) { _ = try TPMEnclave(at: other.shared, storageKey: enclave.storageKey) }
        #expect(try other.handles() == [0, 0, 0])
    }

    @Test func `a cleared chip is a lost one, also while the enclave is in use`() throws {
        let open = try enclave.open(try enclave.makeKey())
        try tpm.tool("tpm2_clear", "-c", "p")
        expect(.deviceLost) { _ = try open.signature(forDigest: Material.digest) }
        expect(.deviceLost) { _ = try enclave.makeKey() }
        expect(.deviceLost) { _ = try TPMEnclave(at: tpm.shared, storageKey: enclave.storageKey) }
    }

    @Test func `a chip that takes the place of another one later is refused`() throws {
        let open = try enclave.open(try enclave.makeKey())
        tpm.kill()
        for name in try FileManager.default.contentsOfDirectory(atPath: tpm.path("")) where name.hasPrefix("tpm2-") {
            try FileManager.default.removeItem(atPath: tpm.path(name))
        }
        try tpm.start()
        expect(.deviceLost) { _ = try open.signature(forDigest: Material.digest) }
    }

    @Test func `an owner hierarchy with a password is told apart wherever the owner is needed`() throws {
        let owner = Data(repeating: 7, count: 16)
        let passcode = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)
        try tpm.tool("tpm2_changeauth", "-c", "owner", "password")
        expect(.ownerPassword) { _ = try TPMEnclave(at: tpm.shared, storageKey: nil) }
        expect(.ownerPassword) { _ = try enclave.makeCounter(Material.secret(1), of: owner) }
        expect(.ownerPassword) { try enclave.removePasscode(of: owner) }
        #expect(try enclave.wrongTries(at: passcode).count == 0, "anybody reads the count")
        // A value that belongs to an object is judged as before.
        _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(1))
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test func `no TPM is an error with the code of tpm2-tss`() {
        // TSS2_TCTI_RC_IO_ERROR; a machine without the device, and a port where nobody listens.
        for configuration in ["device:/dev/ostiary-no-such-tpm", "swtpm:host=127.0.0.1,port=1"] {
            expect(.unavailable(code: 0xa000a), "\(configuration)") {
                _ = try TPMEnclave(at: TPMLocation(configuration), storageKey: nil)
            }
        }
    }
}
