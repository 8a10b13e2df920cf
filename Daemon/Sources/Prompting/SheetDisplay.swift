import MessageBus
import ProcessFacts
import Settings
import UnixSocket

/// A display on which a sheet can be drawn.
enum SheetDisplay {
    /// A connection to a Wayland compositor. The daemon makes it, so the sheet needs no access to the compositor's
    /// folder.
    case wayland(UnixSocket)
    /// An X display, and the absolute path of its cookies; nil if it has none.
    case x11(String, authority: String?)
}

/// Why no sheet can be drawn.
public enum DisplayRefusal: Error, Equatable, Sendable {
    /// Neither the configuration nor the user's session names a display.
    case none
    /// The user has no active session at this machine.
    case noActiveSession
    /// The display's server belongs to another user.
    case otherOwner
    /// The display's server does not answer, or the sheet was not drawn in time.
    case noAnswer
    /// ostiary-sheet is not installed.
    case notInstalled

    /// The refusal as the rest of a sentence for a person.
    public var words: String {
        switch self {
        case .none: "neither ostiaryd.conf nor the desktop session names one"
        case .noActiveSession: "you have no active session at this machine"
        case .otherOwner: "it belongs to another user"
        case .noAnswer: "it does not answer"
        case .notInstalled: "ostiary-sheet is not installed beside ostiary-prompt"
        }
    }
}

/// The buses that know the user's session. Their paths are fixed, so neither a caller nor an environment can name
/// another display.
public struct SessionBuses: Sendable {
    public let system: String
    public let user: String

    public init(system: String, user: String) { (self.system, self.user) = (system, user) }

    /// The buses of this machine.
    public static func standard(of userID: UInt32) -> SessionBuses {
        SessionBuses(system: "/run/dbus/system_bus_socket", user: "/run/user/\(userID)/bus")
    }
}

/// Finds the person's display. A configured display comes first. Otherwise it is the display that systemd's user
/// manager tells its services, if logind says that the user has an active session at this machine.
struct DisplayFinder {
    let configuration: PromptConfiguration
    let buses: SessionBuses
    /// The user who is asked.
    let userID: UInt32
    let sessions: any SessionRecords
    /// The folder for relative names of Wayland displays.
    let runtimeFolder: String
    /// The folder of the sockets of this machine's X servers.
    let x11Folder: String

    init(
        configuration: PromptConfiguration, buses: SessionBuses, userID: UInt32, sessions: any SessionRecords,
        runtimeFolder: String? = nil, x11Folder: String = "/tmp/.X11-unix"
    ) {
        self.configuration = configuration
        self.buses = buses
        self.userID = userID
        self.sessions = sessions
        self.runtimeFolder = runtimeFolder ?? "/run/user/\(userID)"
        self.x11Folder = x11Folder
    }

    func find() -> Result<SheetDisplay, DisplayRefusal> {
        do throws(DisplayRefusal) {
            if configuration.hasDisplay {
                return .success(
                    try display(
                        wayland: configuration.waylandDisplay, x11: configuration.display,
                        authority: configuration.xAuthority))
            }
            guard sessions.isAtMachine(userID) else { throw .noActiveSession }
            let variables = SessionVariables.of(userID, at: buses.user)
            return .success(
                try display(
                    wayland: variables["WAYLAND_DISPLAY"], x11: variables["DISPLAY"],
                    authority: variables["XAUTHORITY"].flatMap { $0.hasPrefix("/") ? $0 : nil }))
        } catch { return .failure(error) }
    }

    private func display(
        wayland: String?, x11: String?, authority: String?
    ) throws(DisplayRefusal) -> SheetDisplay {
        if let wayland { return .wayland(try connect(to: wayland)) }
        guard let x11 = x11.flatMap(Self.localDisplay) else { throw .none }
        // The environment can outlive the user's own server. A server of another user would show the question to that
        // user.
        let number = x11.dropFirst().prefix { $0 != "." }
        _ = try connect(to: "\(x11Folder)/X\(number)")
        return .x11(x11, authority: authority)
    }

    private func connect(to name: String) throws(DisplayRefusal) -> UnixSocket {
        let path = name.hasPrefix("/") ? name : runtimeFolder + "/" + name
        guard let socket = try? UnixSocket.connectInTime(to: path), let peer = try? socket.peerCredentials() else {
            throw .noAnswer
        }
        guard peer.userID == userID || peer.userID == 0 else { throw .otherOwner }
        return socket
    }

    /// Accepts `:0` or `:0.0`, which name an X server on this machine.
    private static func localDisplay(_ name: String) -> String? {
        let digits = name.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
        let areNumbers = digits.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0.isASCII && $0.isNumber } }
        return name.hasPrefix(":") && (1...2).contains(digits.count) && areNumbers ? name : nil
    }
}

extension Bus {
    /// Connects to a bus of the user or of root; nil if there is none. A bus of another user would name that user's
    /// display.
    convenience init?(ofUserOrRoot userID: UInt32, at path: String) throws(BusError) {
        guard let socket = try? UnixSocket.connectInTime(to: path), let peer = try? socket.peerCredentials(),
            peer.userID == userID || peer.userID == 0
        else { return nil }
        try self.init(on: socket)
    }
}
