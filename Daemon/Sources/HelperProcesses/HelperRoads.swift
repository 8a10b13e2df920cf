import UnixSocket

/// How the daemon comes to each of its helpers. The daemon's program chooses the roads once, and every part is given its own: no part
/// makes one.
package struct HelperRoads: Equatable, Sendable {
    /// Asks on a terminal, or through a pinentry.
    package var prompt: HelperRoad
    /// Asks in a window. It is optional, because it needs GTK.
    package var sheet: HelperRoad
    /// Asks on a console of the daemon's own; nil where there is none.
    package var trustedPlace: HelperRoad?
    /// Speaks to one security key.
    package var securityKey: HelperRoad
    /// Fetches association files.
    package var association: HelperRoad
    /// Asks the PAM service that knows faces.
    package var face: HelperRoad
    /// Digests fingerprint templates. It is nobody's helper alone: anybody may connect.
    package var templates: HelperSocketAddress
    /// Looks at callers; nil where the daemon looks itself.
    package var identity: HelperSocket?
    /// Connects to displays; nil where the daemon connects itself.
    package var display: HelperSocket?

    /// The programs that lie beside `program`, the daemon's absolute path. The daemon starts them, and they run under its account.
    package static func beside(program: String) -> HelperRoads {
        let folder = PathName.folder(of: program)
        func spawned(_ name: String) -> HelperRoad { .spawned(program: "\(folder)/\(name)") }
        return HelperRoads(
            prompt: spawned("ostiary-prompt"), sheet: spawned("ostiary-sheet"), trustedPlace: nil,
            securityKey: spawned("ostiary-fido"), association: spawned("ostiary-association"),
            face: spawned("ostiary-pam"), templates: templatesOfMachine, identity: nil, display: nil)
    }

    /// `packaging/system/units/ostiary-templates.socket` says the same.
    private static let templatesOfMachine = HelperSocketAddress(path: "/run/ostiary-templates.socket")

    /// Where the units in `packaging/system/units` listen.
    package static let socketFolder = "/run/ostiary/helpers"

    /// The sockets at which the service manager listens for helpers under these accounts.
    package static func activated(_ accounts: MachineAccounts, below folder: String = socketFolder) -> HelperRoads {
        func path(_ name: String) -> String { "\(folder)/\(name).socket" }
        func socket(_ name: String, _ userID: UInt32) -> HelperSocket {
            HelperSocket(path: path(name), helperUserID: userID)
        }
        return HelperRoads(
            prompt: .activated(socket("prompt", accounts.prompt)),
            sheet: .activated(socket("sheet", accounts.sheet)),
            trustedPlace: .activated(socket("vt", accounts.trustedPlace)),
            securityKey: .activated(socket("fido", accounts.fido)),
            association: .activated(socket("association", accounts.association)),
            face: .activated(socket("pam", accounts.pam)),
            templates: HelperSocketAddress(path: path("templates"), unit: "ostiary-templates-daemon"),
            identity: socket("identity", accounts.identity), display: socket("display", accounts.display))
    }
}

/// A socket that greets nobody and takes no hand-over, as that of `ostiary-templates`.
package struct HelperSocketAddress: Equatable, Sendable {
    /// The absolute path.
    package let path: String
    /// The account that must have made the socket: root, except in tests.
    package let managerUserID: UInt32
    /// The name of the service manager's units, without what follows the dot. Words name it to the administrator.
    package let unit: String

    /// The units of `ostiary-templates` that each user's daemon reaches.
    package static let unitOfUsers = "ostiary-templates"

    package init(path: String, managerUserID: UInt32 = 0, unit: String = Self.unitOfUsers) {
        (self.path, self.managerUserID, self.unit) = (path, managerUserID, unit)
    }
}
