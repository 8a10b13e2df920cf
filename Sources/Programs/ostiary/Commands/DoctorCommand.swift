import ArgumentParser
import OstiaryClient
import OstiaryWire

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look for problems and say what to do about them.",
        discussion: """
            The exit status is 1 when there is a problem.

            Example:
              ostiary doctor
            """)

    @OptionGroup var json: JSONFlag

    func run() throws {
        let diagnosis = DiagnosisDocument(findings: Self.findings())
        if json.isGiven { try JSONOutput.print(diagnosis) } else { try StandardOutput.line(diagnosis.text) }
        if diagnosis.hasProblem { throw NegativeResult() }
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
