import CTSS2
import Enclave
import Foundation
import SecretMemory
import Synchronization
import TPMTestSupport
import Testing

@testable import TPMEnclave

/// The passcode's index while it is made. The chip's owner, who has no password, may remove it and define another one.
@Suite(.timeLimit(.minutes(10))) struct ExchangedIndexTests {
    private let tpm: SoftwareTPM
    private let owner = Material.binding.owner
    private var handle: TPM2_HANDLE { PasscodeIndex.handles(of: owner)[0] }

    init() throws { tpm = try SoftwareTPM() }

    /// Makes a passcode while `attack` is carried out once, before the chip gets `command`.
    private func make(
        attackingBefore command: RecordedCommand,
        _ attack: @escaping @Sendable (SoftwareTPM, TPM2_HANDLE) throws -> Void,
        _ body: (TPMEnclave, () throws -> Data) throws -> Void
    ) throws {
        let wasHere = Mutex(false)
        let (tpm, handle) = (self.tpm, self.handle)
        let proxy = try HostileProxy(to: tpm) { next in
            guard next == command else { return nil }
            let isFirst = wasHere.withLock { wasHere in
                defer { wasHere = true }
                return !wasHere
            }
            guard isFirst else { return nil }
            do { try attack(tpm, handle) } catch { Issue.record(error) }
            return nil
        }
        defer { proxy.end() }
        let enclave = try TPMEnclave(at: proxy.location, storageKey: nil)
        try body(enclave) {
            try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)
        }
        #expect(wasHere.withLock { $0 }, "nobody attacked")
        #expect(try tpm.handles() == [0, 0, 0])
    }

    /// Lends the index to commands of the chip's owner. tpm2-tools would take one more session, for which there is no place.
    private static func withIndex(
        at handle: TPM2_HANDLE, of tpm: SoftwareTPM, _ body: (TPMContext, ESYS_TR) throws(ChipFault) -> Void
    ) throws {
        let context = try TPMContext(tpm.shared)
        var index = ESYS_TR()
        try context.run { Esys_TR_FromTPMPublic($0, handle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &index) }
        try body(context, index)
    }

    private static func remove(_ index: ESYS_TR, in context: TPMContext) throws(ChipFault) {
        try context.run {
            Esys_NV_UndefineSpace(
                $0, ESYS_TR(ESYS_TR_RH_OWNER), index, ESYS_TR(ESYS_TR_PASSWORD), ESYS_TR_NONE, ESYS_TR_NONE)
        }
    }

    private static func remove(_ handle: TPM2_HANDLE, from tpm: SoftwareTPM) throws {
        try withIndex(at: handle, of: tpm) { (context, index) throws(ChipFault) in try remove(index, in: context) }
    }

    /// Puts an index with the same public area, but for these attributes, and another value in the place of the present one.
    private static func exchange(
        _ handle: TPM2_HANDLE, in tpm: SoftwareTPM, attributes: TPMA_NV? = nil
    ) throws {
        try withIndex(at: handle, of: tpm) { (context, index) throws(ChipFault) in
            let present: Answer<TPM2B_NV_PUBLIC> = try context.answer {
                Esys_NV_ReadPublic($0, index, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, $1, nil)
            }
            var (area, value, other) = (present.pointer.pointee, TPM2B_AUTH(), ESYS_TR())
            area.nvPublic.attributes = attributes ?? area.nvPublic.attributes & ~TPMA_NV_WRITTEN
            value.set(Material.secret(2))
            try remove(index, in: context)
            try context.run {
                Esys_NV_DefineSpace(
                    $0, ESYS_TR(ESYS_TR_RH_OWNER), ESYS_TR(ESYS_TR_PASSWORD), ESYS_TR_NONE, ESYS_TR_NONE, &value, &area,
                    &other)
            }
        }
    }

    private func indexes() throws -> Int {
        try tpm.tool("tpm2_getcap", "handles-nv-index").split(separator: "\n").count
    }

    /// Before the write it is the daemon that writes the other index, which then has the right name.
    @Test(arguments: [RecordedCommand.write, .read])
    func `one that takes its place before it is finished is refused and removed`(command: RecordedCommand) throws {
        try make(attackingBefore: command, { try Self.exchange($1, in: $0) }) { enclave, make in
            expect(.passcodeIndexExchanged) { _ = try make() }
            #expect(try indexes() == 0)
            let passcode = try make()
            _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(1))
            expect(.refused) {
                _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(2))
            }
        }
    }

    @Test(arguments: [RecordedCommand.write, .read])
    func `one of another sort in its place is refused, and left to its owner`(command: RecordedCommand) throws {
        try make(
            attackingBefore: command,
            {
                try Self.exchange(
                    $1, in: $0,
                    attributes: TPMA_NV_OWNERREAD | TPMA_NV_OWNERWRITE | TPMA_NV_AUTHREAD | TPMA_NV_NO_DA)
            }
        ) { _, make in
            expect(.passcodeIndexExchanged) { _ = try make() }
            let area = try tpm.tool("tpm2_nvreadpublic")
            #expect(area.contains("ownerwrite"))
        }
    }

    @Test(arguments: [RecordedCommand.write, .read])
    func `one that is removed before it is finished is made again`(command: RecordedCommand) throws {
        try make(attackingBefore: command, { try Self.remove($1, from: $0) }) { enclave, make in
            let passcode = try make()
            _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(1))
            #expect(try indexes() == 1)
        }
    }
}
