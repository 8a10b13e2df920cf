import ArgumentParser
import Foundation
import Glibc

/// What the rows of system mode need.
struct SystemOptions: ParsableArguments {
    @Option(help: "Folder that holds ostiaryd and ostiary-prompt, release-built, with options for tests.")
    var daemonFolder: String

    @Option(help: "The program ostiary-identity, with options for tests.")
    var identityHelper: String

    @Flag(help: "Few and short blocks: to see that it runs, not to compare.")
    var quick = false

    var plan: Plan { quick ? .quick : .full }
    var programs: MachinePrograms { MachinePrograms(daemonFolder: daemonFolder, identityHelper: identityHelper) }

    /// The same again, for another process.
    fileprivate var arguments: [String] {
        ["--daemon-folder", daemonFolder, "--identity-helper", identityHelper] + (quick ? ["--quick"] : [])
    }
}

/// Runs both placements of system mode and reports.
struct SystemComparison: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "system", abstract: "Measure the machine's daemon beside a user's own; as root.")

    @OptionGroup var options: SystemOptions

    @Option(help: "Write the figures to this file as JSON.")
    var json: String?

    @Option(help: "The processor of the pinned pass; the last one by default.")
    var processor = Placement.lastProcessor

    func run() throws {
        guard geteuid() == 0 else { throw NotRoot() }
        // Unpinned first, as in the other comparison.
        let free = try measure(.free)
        let pinned = try measure(.pinned(processor))
        let report = Report(
            machine: Machine.current, plan: options.plan, processor: processor, pinned: pinned, free: free,
            goals: Goal.system(pinned))
        print(report.text)
        if let json { try report.json.write(to: URL(fileURLWithPath: json), options: .atomic) }
    }

    private func measure(_ placement: Placement) throws -> Figures {
        try placement.measure(["system-subject"] + options.arguments)
    }

    struct NotRoot: Error, CustomStringConvertible {
        var description: String { "Only root gives the machine's daemon and its helpers accounts of their own." }
    }
}
