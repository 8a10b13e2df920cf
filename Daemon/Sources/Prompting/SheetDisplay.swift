import HelperProcesses
import MessageBus
import ProcessFacts
import Settings
import UnixSocket

/// Why no sheet can be drawn.
public enum DisplayRefusal: Error, Equatable, Sendable {
    /// Neither the configuration nor the user's session names a display.
    case none
    /// The user's session has no display. For the machine's daemon, whose configuration may name none.
    case noneOfSession
    /// The user has no active session at this machine.
    case noActiveSession
    /// The display's server belongs to another user.
    case otherOwner
    /// The display's server does not answer, or the sheet was not drawn in time.
    case noAnswer
    /// ostiary-sheet is not installed.
    case notInstalled
    /// The user has several displays, and nobody can tell which one is in the foreground.
    case several
    /// The X server admits no other account: its cookies are not where the daemon's helper may look.
    case noCookies
    /// The helper that connects to displays does not work.
    case helperFailed

    /// The refusal as the rest of a sentence for a person.
    public var words: String {
        switch self {
        case .none: "neither ostiaryd.conf nor the desktop session names one"
        case .noneOfSession: "your desktop session has none that answers the daemon's helper"
        case .noActiveSession: "you have no active session at this machine"
        case .otherOwner: "it belongs to another user"
        case .noAnswer: "it does not answer"
        case .notInstalled: "ostiary-sheet is not installed"
        case .several: "several are open in your sessions, and nobody can tell which one you see"
        case .noCookies: "the X server's cookies are not in /run/user, so another account may not draw there"
        case .helperFailed: "ostiary-display does not answer; see `systemctl status ostiary-display.socket`"
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

/// Finds the person's display. A configured display comes first. Otherwise it is that of the user's session, if logind says that the
/// user has an active one at this machine.
struct DisplayFinder {
    let configuration: PromptConfiguration
    /// The user who is asked.
    let userID: UInt32
    let sessions: any SessionRecords
    private let own: OwnDisplays
    private let displays: any DisplayConnecting

    /// - Parameters:
    ///   - helper: connects to the display of the session; nil where the daemon does so itself.
    ///   - runtimeFolder: the folder for relative names of Wayland displays.
    ///   - x11Folder: the folder of the sockets of this machine's X servers.
    init(
        configuration: PromptConfiguration, buses: SessionBuses, userID: UInt32, sessions: any SessionRecords,
        helper: HelperSocket? = nil, runtimeFolder: String? = nil, x11Folder: String = "/tmp/.X11-unix"
    ) {
        self.configuration = configuration
        self.userID = userID
        self.sessions = sessions
        own = OwnDisplays(
            buses: buses, userID: userID, runtimeFolder: runtimeFolder ?? "/run/user/\(userID)", x11Folder: x11Folder)
        displays =
            if let helper {
                HelperDisplays(socket: helper, userID: userID, sessions: sessions)
            } else {
                own
            }
    }

    func find() -> Result<SheetDisplay, DisplayRefusal> {
        do throws(DisplayRefusal) {
            if configuration.hasDisplay {
                return .success(
                    try own.named(
                        wayland: configuration.waylandDisplay, x11: configuration.display,
                        authority: configuration.xAuthority))
            }
            guard sessions.isAtMachine(userID) else { throw .noActiveSession }
            return .success(try displays.ofSession())
        } catch { return .failure(error) }
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
