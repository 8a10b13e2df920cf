import ArgumentParser
import OstiaryClient
import OstiaryWire

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look for problems and say what to do about them.",
        discussion: """
            The exit status is 1 when there is a problem.

            Use --repair when lists of the store do not verify and there is no backup. It asks for your passcode and \
            rebuilds the lists from the rows that verify. Afterwards nobody can tell whether a row is missing, old or \
            planted.

            Examples:
              ostiary doctor
              ostiary doctor --repair
            """)

    @OptionGroup var json: JSONFlag

    @Flag(help: "First rebuild the damaged lists of the store; asks you if a list is damaged.")
    var repair = false

    func run() throws {
        let repaired = repair ? try Self.repaired() : nil
        let diagnosis = DiagnosisDocument(repaired: repaired, findings: Self.findings())
        if json.isGiven { try JSONOutput.print(diagnosis) } else { try StandardOutput.line(diagnosis.text) }
        if diagnosis.hasProblem { throw NegativeResult() }
    }

    private static func repaired() throws -> [RelistingDocument] {
        try OstiaryClient.shared.repair(interaction: Interaction(reason: "repair the store")).map(
            RelistingDocument.init)
    }

    /// A daemon that cannot be asked is the first finding and not an error, because errors send people to this command.
    private static func findings() -> [FindingDocument] {
        do {
            let diagnosis = try OstiaryClient.shared.diagnosis()
            return [.reachable] + diagnosis.findings.map { FindingDocument($0) }
        } catch {
            return [.unreachable(because: error)]
        }
    }
}
