import ArgumentParser
import OstiaryClient
import OstiaryWire

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look for problems and say what to do about them.",
        discussion: """
            The exit status is 1 when there is a problem.

            --repair is for a store whose lists do not verify and of which there is no backup. It lists anew what still \
            verifies, after you proved the passcode: from then on nobody can tell whether something was missing, old or \
            planted.

            Examples:
              ostiary doctor
              ostiary doctor --repair
            """)

    @OptionGroup var json: JSONFlag

    @Flag(help: "First make anew the lists of the store that do not verify; asks you, unless all of them do.")
    var repair = false

    func run() throws {
        let repaired = repair ? try Self.repaired() : nil
        let diagnosis = DiagnosisDocument(repaired: repaired, findings: Self.findings())
        if json.isGiven { try JSONOutput.print(diagnosis) } else { try StandardOutput.line(diagnosis.text) }
        if diagnosis.hasProblem { throw NegativeResult() }
    }

    private static func repaired() throws -> [RelistingDocument] {
        try OstiaryClient.shared.repair(interaction: Interaction(reason: "repair the store")).map(RelistingDocument.init)
    }

    /// A daemon that cannot be asked is the first finding, not an error: this is where errors send people.
    private static func findings() -> [FindingDocument] {
        do {
            let diagnosis = try OstiaryClient.shared.diagnosis()
            return [.reachable] + diagnosis.findings.map { FindingDocument($0) }
        } catch {
            return [.unreachable(because: error)]
        }
    }
}
