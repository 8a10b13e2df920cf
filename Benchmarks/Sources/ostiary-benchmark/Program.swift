import ArgumentParser
import Foundation

/// Measures an authorized signature beside what it is made of and beside ssh-agent; see Documentation/benchmarks.md.
@main
struct OstiaryBenchmark: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ostiary-benchmark",
        abstract: "Compares an authorized signature with its parts and with ssh-agent.",
        discussion: """
            Usually run by script/benchmark, which builds everything first.

              script/benchmark --json figures.json

            Exit codes: 0 measured (whether or not the goals are met), 1 failed, 2 usage.
            """,
        subcommands: [
            Comparison.self, EchoServer.self, Subject.self, BusyProgram.self, FirstRequests.self, SystemComparison.self,
            SystemSubject.self, IdleUser.self, DoorsComparison.self, DoorSubject.self,
            BusEcho.self,
        ], defaultSubcommand: Comparison.self)
}

/// Runs both placements and reports.
struct Comparison: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "run", abstract: "Measure and report (the default).")

    @Option(help: "Folder that holds ostiaryd and ostiary-prompt, release-built.")
    var daemonFolder: String

    @Option(help: "Write the figures to this file as JSON.")
    var json: String?

    @Flag(help: "Few and short blocks: to see that it runs, not to compare.")
    var quick = false

    @Option(help: "Measure only these rows: calls or desktop.")
    var only: Stage?

    @Option(help: "The processor of the pinned pass; the last one by default.")
    var processor = Placement.lastProcessor

    func run() async throws {
        let plan = quick ? Plan.quick : Plan.full
        let daemon = (daemonFolder as NSString).appendingPathComponent("ostiaryd")
        // Unpinned first: what is started later inherits the pinning, and there is no way back.
        let stages = only.map { [$0] } ?? Stage.allCases
        let free = try Pass(placement: .free, plan: plan, daemonProgram: daemon).run(stages)
        let pinned = try Pass(placement: .pinned(processor), plan: plan, daemonProgram: daemon).run(stages)
        let report = Report(
            machine: Machine.current, plan: plan, processor: processor, pinned: pinned, free: free,
            goals: Goal.all(pinned, free: free, isPartial: only != nil))
        print(report.text)
        if let json { try report.json.write(to: URL(fileURLWithPath: json), options: .atomic) }
    }
}
