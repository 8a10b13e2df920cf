import ArgumentParser
import CLinuxShims
import Foundation

/// Measures signatures of devices beside the devices' own time.
@main
struct DeviceBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device-benchmark",
        abstract: "Measures how much Ostiary adds to a TPM and to a security key.",
        discussion: """
            Usually run by script/benchmark, which builds it first.

              script/benchmark chip --json figures.json
              script/benchmark security-key

            Exit codes: 0 measured (whether or not the goal is met), 1 failed, 2 usage.
            """,
        subcommands: [ChipBenchmark.self, SecurityKeyBenchmark.self])
}

struct MeasuringOptions: ParsableArguments {
    @Option(help: "Write the figures to this file as JSON.")
    var json: String?

    @Flag(help: "Few and short blocks: to see that it runs, not to compare.")
    var quick = false

    @Option(help: "Pin all to this processor.")
    var processor: Int?

    func pin() throws {
        guard let processor else { return }
        guard ostiary_pin_to_processor(CInt(clamping: processor)) == 0 else {
            throw ValidationError("There is no processor \(processor).")
        }
    }

    func publish(_ report: Report) throws {
        print(report.text)
        if let json { try report.json.write(to: URL(fileURLWithPath: json), options: .atomic) }
    }
}
