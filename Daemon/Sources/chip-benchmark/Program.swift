import ArgumentParser
import CLinuxShims
import Enclave
import Foundation
import Glibc
import SecretMemory
import TPMEnclave

/// Measures a signature of the TPM enclave beside the same command in a bare loop of ESAPI and beside the software enclave.
@main
struct ChipBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chip-benchmark",
        abstract: "Compares signatures of the enclaves with a bare loop of ESAPI.",
        discussion: """
            Usually run by script/benchmark, which builds it first.

              script/benchmark chip --json figures.json

            Exit codes: 0 measured (whether or not the goal is met), 1 failed, 2 usage.
            """)

    @Option(help: "Write the figures to this file as JSON.")
    var json: String?

    @Flag(help: "Few and short blocks: to see that it runs, not to compare.")
    var quick = false

    @Option(help: "Pin all to this processor.")
    var processor: Int?

    func run() throws {
        if let processor { try Self.pin(to: processor) }
        let folder = try TemporaryFolder()
        // Each has a chip of its own: together they need more sessions than a chip has slots for.
        let (chip, otherChip) = (try SoftwareChip(), try SoftwareChip())
        let tpm = try TPMEnclave(at: TPMLocation(chip.configuration, keepsLoaded: true), storageKey: nil)
        let software = try SoftwareEnclave(directory: folder.path, ownedBy: getuid(), createIfMissing: true)
        let bare = try BareSigner(at: otherChip.configuration)
        let (tpmKey, softwareKey) = (try Self.openKey(in: tpm), try Self.openKey(in: software))
        let digest = Data((0..<32).map { UInt8($0) })
        let figures = try Blocks(count: quick ? 5 : 20, calls: quick ? 100 : 500).measure([
            ("chip-bare-signature", { try bare.sign(digest) }),
            ("chip-signature", { _ = try tpmKey.signature(forDigest: digest) }),
            ("software-enclave-signature", { _ = try softwareKey.signature(forDigest: digest) }),
        ])
        let report = Report(figures: figures)
        print(report.text)
        if let json { try report.json.write(to: URL(fileURLWithPath: json), options: .atomic) }
        withExtendedLifetime((chip, otherChip)) {}
    }

    private static func openKey(in enclave: any Enclave) throws -> any OpenEnclaveKey {
        let value = SecretBytes(Data(repeating: 1, count: 32))
        let binding = KeyBinding(owner: Data(count: 16), outsideInfo: Data(), requiresPasscode: false)
        let key = try enclave.makeKey(.p256, authorization: value, binding: binding)
        return try enclave.openKey(key, authorization: value, binding: binding, session: nil)
    }

    private static func pin(to processor: Int) throws {
        guard ostiary_pin_to_processor(CInt(clamping: processor)) == 0 else {
            throw ValidationError("There is no processor \(processor).")
        }
    }
}
