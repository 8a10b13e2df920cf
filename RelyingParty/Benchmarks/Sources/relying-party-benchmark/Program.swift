import ArgumentParser
import Foundation

/// Measures verified assertions beside the bare signature and beside two packages of Python; see Documentation/benchmarks.md.
@main struct RelyingPartyBenchmark: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relying-party-benchmark",
        abstract: "Compares verified assertions with the bare signature and with python-fido2 and py_webauthn.",
        discussion: "Run by `script/benchmark relying-party`, which builds and installs everything first.")

    @Option(help: "The python3 that has the packages.")
    var python: String

    @Option(help: "The program that makes a registration and an assertion: authenticator.py of the tests.")
    var authenticator: String

    @Option(help: "The program that runs the packages: witnesses.py.")
    var witnesses: String

    @Option(help: "Write the figures to this file as JSON.")
    var json: String?

    @Flag(help: "Few and short blocks: to see that it runs, not to compare.")
    var quick = false

    @Option(help: "The processor on which latencies are measured.")
    var processor = 0

    func run() async throws {
        let plan = quick ? Plan.quick : Plan.full
        let answers = try await Answers(try Witnesses.output(python, authenticator))
        // Unpinned first: there is no way back.
        let free = Measurements(
            plan: plan, answers: answers,
            witnesses: try Witnesses(python: python, script: witnesses, assertion: try answers.json))
        let throughputs = try free.throughputs()
        _ = try Witnesses.output("/usr/bin/taskset", "-acp", "\(processor)", "\(getpid())")
        let pinned = Measurements(
            plan: plan, answers: answers,
            witnesses: try Witnesses(python: python, script: witnesses, assertion: try answers.json))
        let report = Report(
            machine: .current, plan: plan,
            figures: try await pinned.latencies().merging(throughputs) { first, _ in first })
        print(report.text)
        if let json { try report.json.write(to: URL(fileURLWithPath: json), options: .atomic) }
    }
}
