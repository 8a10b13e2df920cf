import SecretItems
import Testing

@testable import SecretCommands

/// A bus, played.
final class PlayedBus: SessionBusView {
    var owners: [String: NameOwner] = [:]
    var units: [String: String] = [:]
    var readsAgain = true
    private(set) var reloadCount = 0

    func owner(of name: String) throws(SecretsFailure) -> NameOwner? { owners[name] }

    func reloadConfiguration() -> Bool {
        reloadCount += 1
        return readsAgain
    }

    func unitState(_ unit: String) -> String? { units[unit] }
}

@Suite("Turning the keyring on and off") struct KeyringSetupTests {
    private let folder: TestFolder
    private let bus = PlayedBus()

    init() throws { folder = try TestFolder() }

    private func setup(
        _ program: String = "/usr/libexec/ostiary/ostiary-secrets", bus: PlayedBus?, isRegistered: Bool = true
    ) throws -> KeyringSetup {
        KeyringSetup(
            folders: try SessionFolders(["HOME": folder.path]), program: program, bus: bus,
            isRegistered: { () throws(SecretsFailure) -> Bool in isRegistered })
    }

    private static let service = ".local/share/dbus-1/services/org.freedesktop.secrets.service"
    private static let portal = ".local/share/dbus-1/services/org.freedesktop.impl.portal.desktop.ostiary.service"
    private static let autostart = ".config/autostart/gnome-keyring-secrets.desktop"

    @Test func `the bus starts our service, and no login starts the other one`() throws {
        _ = try setup(bus: bus).enable(portal: false)
        #expect(
            try folder.everything() == [
                Self.service: """
                \(SessionFile.mark)
                [D-BUS Service]
                Name=org.freedesktop.secrets
                Exec=/usr/libexec/ostiary/ostiary-secrets serve

                """,
                Self.autostart: """
                \(SessionFile.mark)
                [Desktop Entry]
                Type=Application
                Name=gnome-keyring
                Hidden=true

                """,
            ])
        #expect(bus.reloadCount == 1)
        #expect(try setup(bus: bus).isEnabled() && !setup(bus: bus).isPortalEnabled())
    }

    @Test(arguments: [("static", true), ("enabled", true), ("masked", false), (nil, false)] as [(String?, Bool)])
    func `systemd starts it where the manager knows the unit`(state: String?, isNamed: Bool) throws {
        let units = [Self.service: "ostiary-secrets.service", Self.portal: "ostiary-secrets-portal.service"]
        for unit in units.values { bus.units[unit] = state }
        _ = try setup(bus: bus).enable(portal: true)
        for (name, unit) in units {
            let lines = try folder.text(of: name).split(separator: "\n")
            #expect(lines.contains("SystemdService=\(unit)") == isNamed)
        }
    }

    @Test func `the portal is enabled if that is wanted, and stays`() throws {
        _ = try setup(bus: bus).enable(portal: true)
        let text = try folder.text(of: Self.portal)
        #expect(text.contains("Name=org.freedesktop.impl.portal.desktop.ostiary\n"))
        // What the portal starts takes no keyring's place.
        #expect(text.contains("Exec=/usr/libexec/ostiary/ostiary-secrets serve --portal\n"))
        bus.units["ostiary-secrets-portal.service"] = "static"
        _ = try setup(bus: bus).enable(portal: false)
        #expect(try folder.text(of: Self.portal).contains("SystemdService=") && setup(bus: bus).isPortalEnabled())
    }

    @Test func `disable gives back exactly what was there`() throws {
        try folder.write("theirs", to: Self.service)
        try folder.write("[Desktop Entry]\nHidden=false\n", to: Self.autostart)
        try folder.write("other", to: ".config/autostart/other.desktop")
        let before = try folder.everything()
        _ = try setup(bus: bus).enable(portal: true)
        _ = try setup(bus: bus).enable(portal: true)
        #expect(try folder.everything() != before)
        let steps = try setup(bus: bus).disable()
        #expect(try folder.everything() == before)
        #expect(steps.count == 4 && bus.reloadCount == 3, "\(steps)")
        #expect(try setup(bus: bus).disable() == ["It was not enabled, so nothing was changed."])
        #expect(bus.reloadCount == 3)
    }

    @Test func `a program that the daemon does not know is not put in anybody's place`() throws {
        let failure = #expect(throws: SecretsFailure.self) {
            try setup(bus: bus, isRegistered: false).enable(portal: false)
        }
        #expect(failure?.code == -170 && failure?.description.contains("ostiary doors register") == true)
        #expect(try folder.everything() == [:] && bus.reloadCount == 0)
    }

    @Test(arguments: [
        "/opt/a b/ostiary-secrets", "/opt/a;b", "/opt/\"a", "/opt/a\nUser=root", "/opt/$a", "/opt/é", "/opt/%h",
    ])
    func `a path that would be more than a path in the file is refused`(path: String) throws {
        let failure = #expect(throws: SecretsFailure.self) { try setup(path, bus: bus).enable(portal: false) }
        #expect(failure?.code == -170)
        #expect(try folder.everything() == [:])
    }

    // MARK: what the person is told

    private func told(_ owner: NameOwner?) throws -> String {
        bus.owners[KeyringSetup.service] = owner
        return try setup(bus: bus).enable(portal: false).joined(separator: "\n")
    }

    @Test func `another keyring is named with its process, and not ended`() throws {
        let gnome = try told(NameOwner(connection: ":1.2", processID: 41, program: "gnome-keyring-daemon"))
        #expect(gnome.contains("gnome-keyring-daemon (process 41) has the name org.freedesktop.secrets now"))
        #expect(gnome.contains("Log out and in again.") && gnome.contains("ostiary secrets import"))
        #expect(
            try told(NameOwner(connection: ":1.2", processID: 41, program: "kwalletd6")).contains("apiEnabled=false"))
        #expect(
            try told(NameOwner(connection: ":1.2", processID: nil, program: nil)).contains("A program has the name"))
        let hostile = try told(NameOwner(connection: ":1.2", processID: 41, program: "a\u{1b}[2Jb"))
        #expect(!hostile.contains("\u{1b}"))
    }

    @Test func `our own service, and nobody, need nothing done`() throws {
        let own = try told(NameOwner(connection: ":1.2", processID: 41, program: "ostiary-secrets"))
        #expect(own.contains("ostiary-secrets (process 41) serves") && !own.contains("import"))
        #expect(try told(nil).contains("starts Ostiary's service when a program asks"))
    }

    @Test func `units of gnome-keyring are named where they would start it`() throws {
        #expect(try !told(nil).contains("systemctl"))
        bus.units["gnome-keyring-daemon.socket"] = "enabled"
        #expect(
            try told(nil).contains("systemctl --user mask gnome-keyring-daemon.socket gnome-keyring-daemon.service"))
    }

    @Test func `without a session, and with a bus that reads nothing again, it counts from the next login on`() throws {
        #expect(try setup(bus: nil).enable(portal: false).last?.contains("next login") == true)
        bus.readsAgain = false
        #expect(try told(nil).contains("next login"))
    }

    @Test func `folders come from the environment only where they are absolute`() throws {
        let folders = try SessionFolders(["HOME": "/h", "XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "relative"])
        #expect(folders.data == "/d" && folders.configuration == "/h/.config")
        for variables in [[:], ["HOME": ""], ["HOME": "h"]] {
            let failure = #expect(throws: SecretsFailure.self) { try SessionFolders(variables) }
            #expect(failure?.code == -170)
        }
    }

    // MARK: status

    @Test func `the status says who serves, and what is stored`() throws {
        let keyring = PlayedKeyring()
        keyring.put("Mail")
        keyring.putCollection("Work")
        bus.owners[KeyringSetup.service] = NameOwner(connection: ":1.2", processID: 41, program: "gnome-keyring-daemon")
        let status = try KeyringStatus(setup(bus: bus), keyring)
        #expect(!status.isEnabled && status.itemCount == 1 && status.collectionCount == 2)
        #expect(status.owner == .init(program: "gnome-keyring-daemon", processID: 41, isOurs: false))
        #expect(status.text.contains("not enabled") && status.text.contains("1 item in 2 collections"))
        _ = try setup(bus: bus).enable(portal: true)
        let json = CommandOutput.json(try KeyringStatus(setup(bus: bus), keyring))
        #expect(
            json.contains("\"enabled\" : true") && json.contains("\"portal\" : true") && json.contains("\"items\" : 1"))
        #expect(!json.contains("words") && !json.contains("failure"), "\(json)")
    }
}
