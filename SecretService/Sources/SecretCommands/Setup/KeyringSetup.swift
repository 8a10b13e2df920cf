import SecretItems
import UnixSocket

/// Puts Ostiary's service in the place of the machine's keyring for one person, and gives the place back.
///
/// The bus starts the service that the person's own file names, and not the machine's. Nothing that runs is ended.
struct KeyringSetup {
    static let service = "org.freedesktop.secrets"
    static let portalService = "org.freedesktop.impl.portal.desktop.ostiary"
    static let unit = "ostiary-secrets.service"
    /// Its process leaves the name of the Secret Service to others: an application that asks the portal turns no keyring on.
    private static let portalUnit = "ostiary-secrets-portal.service"
    /// What starts gnome-keyring at a login, before anybody asks for a password.
    private static let autostart = "gnome-keyring-secrets.desktop"
    private static let keyringUnits = ["gnome-keyring-daemon.socket", "gnome-keyring-daemon.service"]

    let folders: SessionFolders
    /// The path of `ostiary-secrets`.
    let program: String
    /// Nil where there is no session.
    let bus: (any SessionBusView)?
    /// Whether the daemon knows the program as a door.
    let isRegistered: () throws(SecretsFailure) -> Bool

    // MARK: the files

    private var serviceFile: SessionFile { activation(of: Self.service, by: "serve", Self.unit) }
    private var portalFile: SessionFile { activation(of: Self.portalService, by: "serve --portal", Self.portalUnit) }

    /// A file by which the bus starts a service (D-Bus specification, "Message Bus Starting Services").
    private func activation(of name: String, by arguments: String, _ unit: String) -> SessionFile {
        var lines = ["[D-BUS Service]", "Name=\(name)", "Exec=\(program) \(arguments)"]
        // A bus that is not systemd's passes over the line, and starts the program itself.
        if let state = bus?.unitState(unit), state != "masked" { lines.append("SystemdService=\(unit)") }
        return SessionFile(path: "\(folders.data)/dbus-1/services/\(name).service", lines: lines)
    }

    /// Takes the place of the machine's file of the same name (Desktop Application Autostart Specification).
    private var autostartFile: SessionFile {
        SessionFile(
            path: "\(folders.configuration)/autostart/\(Self.autostart)",
            lines: ["[Desktop Entry]", "Type=Application", "Name=gnome-keyring", "Hidden=true"])
    }

    func isEnabled() throws(SecretsFailure) -> Bool { try serviceFile.state() == .ours }

    func isPortalEnabled() throws(SecretsFailure) -> Bool { try portalFile.state() == .ours }

    // MARK: enable

    /// Does it, and returns what was done and what is left to do, in sentences.
    ///
    /// - Parameter portal: whether the portal's secrets are wanted, too; those that were enabled before stay.
    func enable(portal: Bool) throws(SecretsFailure) -> [String] {
        try requireFitness()
        let hasPortal = try isPortalEnabled()
        var steps = [try serviceFile.place()]
        if portal || hasPortal { steps.append(try portalFile.place()) }
        steps.append(try autostartFile.place())
        return try steps + tellBus() + outlook()
    }

    private func requireFitness() throws(SecretsFailure) {
        let isPlain = program.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "/._+-".utf8.contains(byte)
            }
        }
        // In a file of the bus other characters would be parts of a command.
        guard isPlain else {
            throw .setup(
                "The path \(program.quotedName) has characters that a file of the bus cannot have, so nothing was written. Install "
                    + "Ostiary where the path has only letters, digits and . _ + -.")
        }
        guard try isRegistered() else {
            throw .setup(
                "The daemon does not know \(program.quotedName) as a door, so programs would get no passwords; nothing was "
                    + "written. Run `ostiary doors register`, and then this command again.")
        }
    }

    private func tellBus() -> [String] {
        guard let bus else { return ["There is no session here, so it counts from your next login on."] }
        return bus.reloadConfiguration()
            ? [] : ["The bus did not read its files again, so it counts from your next login on."]
    }

    /// Who has the name now, and what the person has to do about it.
    private func outlook() throws(SecretsFailure) -> [String] {
        guard let bus else { return [] }
        guard let owner = try bus.owner(of: Self.service) else {
            return ["The bus starts Ostiary's service when a program asks for a password."] + keyringUnits(bus)
        }
        guard !owner.isOurs else { return ["\(owner.words) serves \(Self.service)."] }
        return [
            "\(owner.words) has the name \(Self.service) now, and keeps it until it ends. \(Self.advice(on: owner))",
            "`ostiary secrets import` brings what it holds.",
        ] + keyringUnits(bus)
    }

    private static func advice(on owner: NameOwner) -> String {
        switch owner.program {
        case "gnome-keyring-daemon": "Log out and in again."
        case "kwalletd5", "kwalletd6", "ksecretd":
            "Let it give the name up: write `apiEnabled=false` below `[org.freedesktop.secrets]` in ~/.config/kwalletrc, and log "
                + "out and in again."
        case "keepassxc": "Turn its Secret Service integration off in its settings."
        default: "End it, or turn its Secret Service off."
        }
    }

    /// Many systems start gnome-keyring by its units, which no file of a desktop keeps away.
    private func keyringUnits(_ bus: any SessionBusView) -> [String] {
        guard Self.keyringUnits.contains(where: { bus.unitState($0)?.hasPrefix("enabled") == true }) else { return [] }
        return [
            "A unit of its own starts gnome-keyring at each login, and it may have the name first. `systemctl --user mask "
                + Self.keyringUnits.joined(separator: " ")
                + "` keeps it away, with its other parts; unmask brings it back."
        ]
    }

    // MARK: disable

    func disable() throws(SecretsFailure) -> [String] {
        var steps: [String] = []
        for file in [serviceFile, portalFile, autostartFile] {
            if let step = try file.withdraw() { steps.append(step) }
        }
        guard !steps.isEmpty else { return ["It was not enabled, so nothing was changed."] }
        steps += tellBus()
        if let owner = try bus?.owner(of: Self.service), owner.isOurs {
            steps.append(
                "\(owner.words) serves \(Self.service) until your session ends. `systemctl --user stop \(Self.unit)` ends it "
                    + "now, where systemd started it.")
        }
        return steps + ["What is stored stays in Ostiary's store; `ostiary secrets list` shows it."]
    }
}
