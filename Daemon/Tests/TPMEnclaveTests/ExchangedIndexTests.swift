import Enclave
import Foundation
import SecretMemory
import Synchronization
import TPMTestSupport
import Testing

@testable import TPMEnclave

/// The passcode's index while it is made. The chip's owner, who has no password, may remove it and define another one.
@Suite(.timeLimit(.minutes(5))) struct ExchangedIndexTests {
    private let tpm: SoftwareTPM
    private let owner = Material.binding.owner
    private var handle: String { "0x" + String(PasscodeIndex.handles(of: owner)[0], radix: 16) }

    init() throws { tpm = try SoftwareTPM() }

    /// Makes a passcode while `attack` is carried out once, before the chip gets `command`.
    private func make(
        attackingBefore command: RecordedCommand, _ attack: @escaping @Sendable (SoftwareTPM, String) throws -> Void,
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

    private static func remove(_ handle: String, from tpm: SoftwareTPM) throws {
        try tpm.tool("tpm2_nvundefine", "-C", "o", handle)
    }

    /// Puts an index with the same public area and another value in the place of the present one.
    private static func exchange(_ handle: String, in tpm: SoftwareTPM, attributes: String? = nil) throws {
        let area = try tpm.tool("tpm2_nvreadpublic", handle)
        let policy = try #require(area.firstMatch(of: /authorization policy: ([0-9A-Fa-f]{64})/)).output.1
        let number = try #require(area.firstMatch(of: /attributes:\s+friendly: .*\s+value: 0x([0-9A-Fa-f]+)/)).output.1
        let present = try #require(UInt32(number, radix: 16)) & ~0x2000_0000  // Not written.
        let bytes = stride(from: 0, to: 64, by: 2).compactMap { place in
            let start = policy.index(policy.startIndex, offsetBy: place)
            return UInt8(policy[start...policy.index(after: start)], radix: 16)
        }
        try tpm.write(Data(bytes), named: "policy.bin")
        try remove(handle, from: tpm)
        try tpm.tool(
            "tpm2_nvdefine", handle, "-C", "o", "-s", "8", "-L", "policy.bin", "-p",
            "hex:" + String(repeating: "02", count: 32), "-a", attributes ?? "0x" + String(present, radix: 16))
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
            { try Self.exchange($1, in: $0, attributes: "ownerread|ownerwrite|authread|authwrite|no_da") }
        ) { _, make in
            expect(.passcodeIndexExchanged) { _ = try make() }
            let area = try tpm.tool("tpm2_nvreadpublic", handle)
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
