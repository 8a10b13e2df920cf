import AccessControl
import Foundation
import Glibc
import OstiaryClient
import OstiaryMessages

/// The sheet's delay, and what the daemon does when nobody asks for anything.
struct DesktopStage {
    let plan: Plan
    let daemonProgram: String

    private static let passcode = "a passcode of the benchmark"

    func run() throws -> Figures {
        let folder = try TemporaryFolder()
        let desktop = try VirtualDesktop(typing: Self.passcode)
        // A bus on which nobody is. Without one the daemon would try again and again.
        let bus = try SessionBus(in: folder.path)
        let daemon = try PrivateDaemon(
            program: daemonProgram, in: DaemonFolders(path: folder.path),
            configuration: "prompt.front-ends = sheet\nprompt.display = \(desktop.display)\n", systemBus: bus.path)
        try daemon.start()
        let figures: Figures = [
            .sheetVisible: try measureSheets(desktop, DaemonFolders(path: folder.path)),
            .idleWakeups: Figure([Double(try daemon.contextSwitches(duringSeconds: plan.idleSeconds))], unit: .count),
        ]
        try daemon.stop()
        withExtendedLifetime((desktop, bus)) {}
        return figures
    }

    /// From the call that needs the passcode to the moment when the X server maps the window. The two questions for
    /// setting the passcode go before, to warm up.
    private func measureSheets(_ desktop: VirtualDesktop, _ folders: DaemonFolders) throws -> Figure {
        let client = folders.newClient()
        try client.passcode(.set, interaction: Interaction(reason: "measure the sheet"))
        let accessControl = AccessControl(
            availability: .whenUnlocked, using: try Requirement(Rule(parsing: "passcode")))
        let right = try client.createRight("benchmark", accessControl: accessControl)
        var samples = Samples()
        for _ in 0..<plan.sheets {
            let start = MonotonicClock.now()
            try AuthorizationContext(client: client).authorize(
                .right(id: right.id), interaction: Interaction(reason: "measure the sheet"))
            samples.append(desktop.lastWindowTime - start)
        }
        return samples.figure(.milliseconds)
    }
}
