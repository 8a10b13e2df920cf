import ArgumentParser
import DoorSupport
import OstiaryClient
import OstiaryMessages

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look for problems and say what to do about them.",
        discussion: """
            The exit status is 1 when there is a problem.

            Use --repair when lists of the store do not verify and there is no backup. It asks for your passcode and \
            rebuilds the lists from the rows that verify. Afterwards nobody can tell whether a row is missing, old or \
            planted.

            Use --rehearse to see the losses when the enclave is lost: when the TPM is replaced or cleared, or the \
            state folder is gone. It changes nothing. With --recovery-keys it looks for a second key of each right: \
            FOLDER/NAME.pem, the public half of a key on another machine or in a security key.

            Examples:
              ostiary doctor
              ostiary doctor --repair
              ostiary doctor --rehearse --recovery-keys ~/recovery
            """)

    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    @Flag(help: "First rebuild the damaged lists of the store; asks you if a list is damaged.")
    var repair = false

    @Flag(help: "Go through the loss of the enclave, and list the objects that nothing could replace.")
    var rehearse = false

    @Option(
        help: ArgumentHelp(
            "With --rehearse: the folder with the public half of each right's second key.", valueName: "folder"),
        completion: .directory)
    var recoveryKeys: String?

    func validate() throws {
        guard !rehearse || !repair else {
            throw ValidationError("--rehearse changes nothing, so give it without --repair.")
        }
        guard rehearse || recoveryKeys == nil else { throw ValidationError("--recovery-keys belongs to --rehearse.") }
    }

    func run() throws {
        if rehearse { return try runRehearsal() }
        let repaired = repair ? try repaired() : nil
        let diagnosis = DiagnosisDocument(repaired: repaired, findings: Self.findings())
        if json.isGiven { try JSONOutput.print(diagnosis) } else { try StandardOutput.line(diagnosis.text) }
        if diagnosis.hasProblem { throw NegativeResult() }
    }

    private func runRehearsal() throws {
        let client = OstiaryClient.shared
        let rehearsal = Rehearsal(
            enclave: try client.status().enclaveKind, rights: try client.rights(ofAllApplications: true),
            keyCount: try client.keysOfAllPrograms().count, passkeys: try client.passkeys().map(\.relyingParty),
            items: try client.diagnosis().findings.first { $0.check == "items" }?.message ?? "",
            recovery: recoveryKeys.map(RecoveryKeys.init(folder:)))
        let document = DiagnosisDocument(findings: rehearsal.findings)
        if json.isGiven { try JSONOutput.print(document) } else { try StandardOutput.line(document.text) }
        if document.hasProblem { throw NegativeResult() }
    }

    private func repaired() throws -> [RelistingDocument] {
        try OstiaryClient.shared.repair(interaction: reason.interaction(otherwise: "repair the store")).map(
            RelistingDocument.init)
    }

    /// A daemon that cannot be asked is the first finding and not an error, because errors send people to this command.
    private static func findings() -> [FindingDocument] {
        do {
            let diagnosis = try OstiaryClient.shared.diagnosis()
            let agent = AgentExamination.current()?.finding
            return [.reachable] + diagnosis.findings.map { FindingDocument($0) }
                + [doors(), agent, FormerObjects.ofThisCommand()?.finding].compactMap(\.self)
        } catch {
            // Where the location is unknown, that is the error.
            return [.unreachable(because: error, at: try? DaemonLocation.ofCurrentUser())]
        }
    }

    /// Nil where no door is registered: nobody needs one.
    private static func doors() -> FindingDocument? {
        do {
            return DoorListDocument(
                DoorProgram.all.map(InstalledDoor.init), try OstiaryClient.shared.applications(),
                sockets: try DoorSocket.folder()
            ).finding
        } catch {
            // The daemon's own findings say why it cannot list them.
            return FindingDocument(check: "doors", verdict: .notice, message: "\(error)", advice: "")
        }
    }
}
