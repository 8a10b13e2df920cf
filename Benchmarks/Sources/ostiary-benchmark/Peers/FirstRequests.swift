import ArgumentParser
import Foundation
import OstiaryClient

/// The process that asks a daemon with many items for the first time after its start.
struct FirstRequests: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "first-requests", shouldDisplay: false)

    /// Of the daemon, which just started.
    @Option var folder: String

    /// Writes the figures to standard output as JSON.
    func run() throws {
        let folders = DaemonFolders(path: folder)
        folders.useForKeychain()
        let client = folders.newClient()
        _ = try client.status()
        var (find, doctor, verification) = (Samples(), Samples(), Samples())
        try find.time { try KeychainItem().find() }
        try doctor.time { _ = try client.diagnosis() }
        try verification.time { _ = try client.verifyLog(interaction: Interaction(reason: "measure the log")) }
        let figures: Figures = [
            .firstFind: find.figure(.milliseconds), .doctor: doctor.figure(.milliseconds),
            .logVerification: verification.figure(.milliseconds),
        ]
        FileHandle.standardOutput.write(try JSONEncoder().encode(figures))
    }
}
