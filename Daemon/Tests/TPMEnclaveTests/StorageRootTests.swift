import Enclave
import Foundation
import TPMTestSupport
import Testing

@testable import TPMEnclave

/// The storage key of a store, which it keeps.
@Suite(.timeLimit(.minutes(10))) struct StorageRootTests {
    private let tpm: SoftwareTPM

    init() throws { tpm = try SoftwareTPM() }

    private func enclave(_ pinned: StorageKeyName? = nil) throws -> TPMEnclave {
        try TPMEnclave(at: tpm.shared, storageKey: pinned)
    }

    private func removePersistentKey() throws {
        try tpm.tool("tpm2_evictcontrol", "-C", "o", "-c", "0x81000001")
    }

    /// The name that tpm2-tools compute for a loaded key.
    private func name(_ context: String) throws -> Data {
        try tpm.tool("tpm2_readpublic", "-c", context, "-n", "name")
        return try Data(contentsOf: URL(fileURLWithPath: tpm.path("name")))
    }

    @Test func `without a persistent key it is the template's, and the same at each start`() throws {
        let first = try enclave()
        #expect(try enclave().storageKey == first.storageKey)
        try tpm.tool(
            "tpm2_createprimary", "-C", "o", "-G", "ecc", "-c", "root.ctx", "-a",
            "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda|restricted|decrypt")
        try tpm.tool("tpm2_flushcontext", "-t")
        #expect(try name("root.ctx") == first.storageKey.bytes)
    }

    @Test(arguments: ["ecc", "rsa2048"])
    func `a new store takes the machine's persistent key`(type: String) throws {
        try tpm.keep(type)
        let enclave = try enclave()
        #expect(try enclave.storageKey.bytes == name("0x81000001"))
        let key = try enclave.makeKey()
        try self.enclave(enclave.storageKey).open(key).expectSignature()
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test func `a store stays with its storage key when the machine gets a persistent one`() throws {
        let enclave = try enclave()
        let key = try enclave.makeKey()
        try tpm.keep("ecc")
        let later = try self.enclave(enclave.storageKey)
        #expect(later.storageKey == enclave.storageKey)
        try later.open(key).expectSignature()
    }

    @Test func `a store whose persistent key was removed is lost, not moved to another one`() throws {
        try tpm.keep("rsa2048")
        let name = try enclave().storageKey
        try removePersistentKey()
        expect(.deviceLost) { _ = try enclave(name) }
    }

    @Test func `a key of the same chip under another storage key is unreadable`() throws {
        try tpm.keep("rsa2048")
        let key = try enclave().makeKey()
        let sealed = try enclave().seal(7)
        try removePersistentKey()
        let other = try enclave()
        expect(.unreadable) { _ = try other.open(key) }
        expect(.unreadable) { _ = try other.unseal(sealed) }
    }

    @Test func `a chip in lockout says for how long, and works afterwards`() throws {
        // The key that tpm2-tools make takes part in the lockout. No new store takes it, but stores of earlier versions have.
        try tpm.keep("ecc", nil)
        let enclave = try enclave(StorageKeyName(name("0x81000001")))
        let key = try enclave.makeKey()
        try tpm.tool("tpm2_dictionarylockout", "--setup-parameters", "--max-tries=1", "--recovery-time=77")
        try tpm.tool(
            "tpm2_createprimary", "-C", "n", "-G", "ecc:ecdsa", "-p", "right", "-c", "guessed.ctx", "-a",
            "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|sign")
        try tpm.tool("tpm2_flushcontext", "-t")
        try tpm.write(Material.digest, named: "digest")
        #expect(throws: SoftwareTPM.ToolFailed.self) {
            try tpm.tool("tpm2_sign", "-c", "guessed.ctx", "-p", "wrong", "-d", "-o", "signature", "digest")
        }
        try tpm.tool("tpm2_flushcontext", "-t")
        expect(.lockedOut(remaining: .seconds(77))) { _ = try enclave.makeKey() }
        expect(.lockedOut(remaining: .seconds(77))) { _ = try enclave.open(key) }
        try tpm.tool("tpm2_dictionarylockout", "--clear-lockout")
        try enclave.open(key).expectSignature()
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test(arguments: [nil, "unknown to us"])
    func `a persistent key that takes part in the lockout is not taken, and nothing counts`(_ password: String?) throws
    {
        try tpm.keep("ecc", nil, password: password)
        let enclave = try enclave()
        #expect(try enclave.storageKey.bytes != name("0x81000001"))
        try enclave.open(try enclave.makeKey()).expectSignature()
        #expect(try tpm.tool("tpm2_getcap", "properties-variable").contains(/TPM2_PT_LOCKOUT_COUNTER: 0x0\n/))
    }

    @Test func `a persistent key of another use is not taken`() throws {
        try tpm.keepForeignSigningKey()
        let enclave = try enclave()
        #expect(try enclave.storageKey.bytes != name("0x81000001"))
        try enclave.open(try enclave.makeKey()).expectSignature()
    }
}
