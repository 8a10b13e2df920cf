import ArgumentParser
import Enclave
import Foundation
import Glibc
import SecretMemory
import StoreTestSupport
import TPMEnclave

/// Measures a signature of the TPM enclave beside the same command in a bare loop of ESAPI and beside the software enclave.
struct ChipBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chip", abstract: "Compares signatures of the enclaves with a bare loop of ESAPI.")

    @OptionGroup var options: MeasuringOptions

    func run() throws {
        try options.pin()
        let folder = try TestFolder()
        // Each has a chip of its own: together they need more sessions than a chip has slots for.
        let (chip, otherChip) = (try SoftwareChip(), try SoftwareChip())
        let tpm = try TPMEnclave(at: TPMLocation(chip.configuration, keepsLoaded: true), storageKey: nil)
        let software = try SoftwareEnclave(directory: folder.path, ownedBy: getuid(), createIfMissing: true)
        let bare = try BareSigner(at: otherChip.configuration)
        let (tpmKey, softwareKey) = (try Self.openKey(in: tpm), try Self.openKey(in: software))
        let digest = Data((0..<32).map { UInt8($0) })
        let blocks = Blocks(count: options.quick ? 5 : 20, calls: options.quick ? 100 : 500)
        let figures = try blocks.measure([
            ("chip-bare-signature", { try bare.sign(digest) }),
            ("chip-signature", { _ = try tpmKey.signature(forDigest: digest) }),
            ("software-enclave-signature", { _ = try softwareKey.signature(forDigest: digest) }),
        ])
        let clients = try Clients.measure(each: options.quick ? 20 : 100) {
            _ = try tpmKey.signature(forDigest: digest)
        }
        let goals = [
            Goal("chip signature / bare loop", figures[1].median / figures[0].median, atMost: 1.25),
            Goal("slowest of \(Clients.count) clients / mean", clients.slowest / clients.mean, atMost: 2),
        ]
        try options.publish(Report(figures: figures + [clients.figure], goals: goals))
        withExtendedLifetime((chip, otherChip)) {}
    }

    private static func openKey(in enclave: any Enclave) throws -> any OpenEnclaveKey {
        let value = SecretBytes(Data(repeating: 1, count: 32))
        let binding = KeyBinding(owner: Data(count: 16), outsideInfo: Data(), requiresPasscode: false)
        let key = try enclave.makeKey(.p256, authorization: value, binding: binding)
        return try enclave.openKey(key, authorization: value, binding: binding, session: nil)
    }
}
