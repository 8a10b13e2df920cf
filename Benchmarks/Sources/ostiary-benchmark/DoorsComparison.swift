import ArgumentParser
import Foundation

/// The programs and files that the rows of doors need.
struct DoorOptions: ParsableArguments {
    @Option(help: "Folder that holds ostiaryd, ostiary-prompt and the doors, release-built.")
    var daemonFolder: String

    @Option(help: "The program git-credential-libsecret.")
    var libsecretHelper: String

    @Option(help: "The module libostiary-pkcs11.so.")
    var tokenModule: String

    @Option(help: "p11-kit's module p11-kit-client.so.")
    var remotingModule: String

    @Option(help: "The program docker-credential-secretservice.")
    var dockerHelper = "/usr/bin/docker-credential-secretservice"

    @Flag(help: "Few and short blocks: to see that it runs, not to compare.")
    var quick = false

    var plan: Plan { quick ? .quick : .full }
    var programs: DoorPrograms { DoorPrograms(folder: daemonFolder) }

    /// The same again, for another process.
    fileprivate var arguments: [String] {
        [
            "--daemon-folder", daemonFolder, "--libsecret-helper", libsecretHelper, "--docker-helper", dockerHelper,
            "--token-module", tokenModule, "--remoting-module", remotingModule,
        ] + (quick ? ["--quick"] : [])
    }
}

/// Runs both placements of the doors and reports.
struct DoorsComparison: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doors", abstract: "Measure the doors beside what they stand in for.")

    @OptionGroup var options: DoorOptions

    @Option(help: "Write the figures to this file as JSON.")
    var json: String?

    @Option(help: "The processor of the pinned pass; the last one by default.")
    var processor = Placement.lastProcessor

    func run() throws {
        // Unpinned first, as in the other comparisons.
        let free = try Placement.free.measure(["door-subject"] + options.arguments)
        let pinned = try Placement.pinned(processor).measure(["door-subject"] + options.arguments)
        let report = Report(
            machine: Machine.current, plan: options.plan, processor: processor, pinned: pinned, free: free,
            goals: Goal.doors(pinned))
        print(report.text)
        if let json { try report.json.write(to: URL(fileURLWithPath: json), options: .atomic) }
    }
}
