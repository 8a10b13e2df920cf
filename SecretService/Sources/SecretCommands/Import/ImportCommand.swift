import ArgumentParser
import MessageBus
import SecretItems

/// `ostiary-secrets import`, which is what `ostiary secrets import` becomes.
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Does the work of `ostiary secrets import`, which is what to use.")

    @Option(help: "The name of the other keyring on the bus.")
    var from: String?

    @Option(help: "The address of the bus.")
    var fromBus: String?

    @Option(help: "Why you are asked.")
    var reason: String?

    @OptionGroup var output: OutputOptions

    func run() throws { try output.run { (output) throws(SecretsFailure) in try carryOut(output) } }

    private func carryOut(_ output: CommandOutput) throws(SecretsFailure) -> CommandEnd {
        let bus = try SessionBus(fromBus.map { BusAddress.address($0) } ?? .session)
        let owner = try Self.keyring(named: from ?? KeyringSetup.service, on: bus)
        output.notice("Bringing what \(owner.words) holds. Nothing changes there.")
        let source = try Self.open(bus, owner)
        if !source.isEncrypted { output.notice("It sends secrets over the bus as they are, without encryption.") }
        let progress = ProgressLine(output)
        let work = Import(
            from: source, to: DaemonKeyring(), reason: reason ?? "keep the passwords of your former keyring"
        ) { news in
            switch news {
            case .asks(let what):
                progress.clear()
                output.notice("Answer the question of the other keyring: it unlocks \(what.quotedName).")
            case .goesOn(let collection, let number, of: let count):
                progress.show("\(collection.quotedName): \(number) of \(count)")
            }
        }
        do throws(SecretsFailure) { try work.run() } catch {
            progress.clear()
            output.notice("Until then: \(work.report.brought) brought. Run the command again to go on.")
            throw error
        }
        progress.clear()
        try output.result(work.report, work.report.lines.joined(separator: "\n"))
        return work.report.left.isEmpty ? .done : .incomplete
    }

    /// - Throws: `keyringMissing` where nobody has the name, or Ostiary's own service.
    static func keyring(named name: String, on bus: any SessionBusView) throws(SecretsFailure) -> NameOwner {
        guard let owner = try bus.owner(of: name) else {
            throw .withoutKeyring(
                "Nobody has the name \(name.quotedName) on this bus. Start the keyring whose passwords you want to bring, and try "
                    + "again.")
        }
        guard !owner.isOurs else {
            throw .withoutKeyring(
                "Ostiary's own service has the name \(name.quotedName). Start the other keyring on a bus of its own and name that "
                    + "with --from-bus, or run `ostiary secrets disable` and log in again.")
        }
        return owner
    }

    private static func open(_ bus: SessionBus, _ owner: NameOwner) throws(SecretsFailure) -> BusKeyring {
        do throws(SourceFailure) { return try BusKeyring(bus.bus, of: owner.connection) } catch {
            switch error {
            case .lost(let words), .refused(let words): throw .keyringFailed(words)
            }
        }
    }
}
