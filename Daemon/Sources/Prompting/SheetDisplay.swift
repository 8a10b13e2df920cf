import CLinuxShims
import Glibc
import PromptProtocol
import SystemBus
import UnixSocket

/// A display on which a sheet can be drawn.
enum SheetDisplay {
    /// A connection to a Wayland compositor. The daemon connected it, so the sheet needs no access to the compositor's folder.
    case wayland(UnixSocket)
    /// An X display, and the absolute path of its cookies; nil without.
    case x11(String, authority: String?)
}

/// Why no sheet can be drawn.
public enum DisplayRefusal: Error, Equatable, Sendable {
    /// Neither the configuration nor the user's session names a display.
    case none
    /// The user has no active session at this machine.
    case noActiveSession
    /// Another user listens where the display is named.
    case otherOwner
    /// Nobody listens there, or the sheet was not drawn in time.
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

/// Where the daemon asks for the user's session. Fixed paths: no caller and no environment can name another display.
public struct SessionBuses: Sendable {
    let system: String
    let user: String

    public init(system: String, user: String) { (self.system, self.user) = (system, user) }

    /// The buses of this machine.
    public static func standard(of userID: UInt32) -> SessionBuses {
        SessionBuses(system: "/run/dbus/system_bus_socket", user: "/run/user/\(userID)/bus")
    }
}

/// Finds the display of the person: the configured one, or the one that the user manager of systemd tells its services,
/// while logind says that the user has an active session at this machine.
struct DisplayFinder {
    let configuration: PromptConfiguration
    let buses: SessionBuses
    /// The user who is asked.
    let userID: UInt32
    /// Where relative names of Wayland displays are.
    let runtimeFolder: String
    /// Where the X servers of this machine listen.
    let x11Folder: String

    init(
        configuration: PromptConfiguration, buses: SessionBuses?, userID: UInt32, runtimeFolder: String? = nil,
        x11Folder: String = "/tmp/.X11-unix"
    ) {
        self.configuration = configuration
        self.buses = buses ?? .standard(of: userID)
        self.userID = userID
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
            guard hasActiveSession(buses.system) else { throw .noActiveSession }
            let variables = sessionVariables(buses.user)
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
        // A server of another user would show the question to that user. The environment outlives the user's own server.
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

    /// `:0` or `:0.0`: an X server on this machine.
    private static func localDisplay(_ name: String) -> String? {
        let digits = name.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
        let areNumbers = digits.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0.isASCII && $0.isNumber } }
        return name.hasPrefix(":") && (1...2).contains(digits.count) && areNumbers ? name : nil
    }

    // MARK: the user's session

    /// The environment that the user manager gives its services (org.freedesktop.systemd1(5)); the desktop puts its display
    /// there. Empty without a user manager.
    private func sessionVariables(_ path: String) -> [String: String] {
        var variables: [String: String] = [:]
        do throws(BusError) {
            guard let bus = try connection(path) else { return [:] }
            let answer = try bus.call(
                "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.DBus.Properties", "Get",
                "org.freedesktop.systemd1.Manager", "Environment")
            guard try answer.enter(.variant, "as") else { return [:] }
            try answer.readArray(of: "s") { () throws(BusError) in
                let parts = try answer.readText().split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                if parts.count == 2, !parts[1].isEmpty { variables[String(parts[0])] = String(parts[1]) }
            }
        } catch { return [:] }
        return variables
    }

    /// A bus of the user or of root: in a folder of another user it would name that user's display.
    private func connection(_ path: String) throws(BusError) -> Bus? {
        guard let socket = try? UnixSocket.connectInTime(to: path), let peer = try? socket.peerCredentials(),
            peer.userID == userID || peer.userID == 0
        else { return nil }
        return try Bus(on: socket)
    }

    /// Whether logind has a session of the user that is in the foreground of a seat of this machine. A session without a seat
    /// is always active, and nobody sits there.
    private func hasActiveSession(_ path: String) -> Bool {
        do throws(BusError) {
            guard let socket = try? UnixSocket.connectInTime(to: path) else { return false }
            let bus = try Bus(on: socket)
            // By its own name: the answer is from the connection that owns logind's name now.
            guard let logind = try ServiceOwner(of: "org.freedesktop.login1", on: bus).connection else { return false }
            for session in try sessions(logind, bus) where try Self.isActive(session, logind, bus) { return true }
            return false
        } catch { return false }
    }

    private func sessions(_ logind: String, _ bus: Bus) throws(BusError) -> [String] {
        let answer = try bus.call(
            logind, "/org/freedesktop/login1", "org.freedesktop.login1.Manager", "ListSessions")
        var paths: [String] = []
        try answer.readArray(of: "(susso)") { () throws(BusError) in
            guard try answer.enter(.structure, "susso") else { return }
            try answer.skip("s")
            let user = try answer.readUInt32()
            try answer.skip("s")
            let seat = try answer.readText()
            let path = try answer.readText(.objectPath)
            try answer.exitContainer()
            if user == userID, !seat.isEmpty { paths.append(path) }
        }
        return paths
    }

    /// In the foreground, and not from another machine.
    private static func isActive(_ session: String, _ logind: String, _ bus: Bus) throws(BusError) -> Bool {
        do throws(BusError) {
            let isInForeground = try flag("Active", session, logind, bus)
            let isRemote = try flag("Remote", session, logind, bus)
            return isInForeground == true && isRemote == false
        } catch  where error.isUnknownObject {
            // The session ended meanwhile.
            return false
        }
    }

    private static func flag(
        _ name: String, _ session: String, _ logind: String, _ bus: Bus
    ) throws(BusError) -> Bool? {
        let answer = try bus.call(
            logind, session, "org.freedesktop.DBus.Properties", "Get", "org.freedesktop.login1.Session", name)
        guard try answer.enter(.variant, "b") else { return nil }
        return try answer.readBool()
    }
}

extension UnixSocket {
    /// Connects, but waits only so long for a listener whose queue is full: it may have stopped.
    fileprivate static func connectInTime(to path: String, seconds: Int = 2) throws(SystemCallError) -> UnixSocket {
        let descriptor = try Descriptor(ostiary_unix_socket(), from: "socket")
        let number = descriptor.number
        let socket = UnixSocket(owning: descriptor)
        try socket.setSendTimeout(seconds: seconds)
        guard unsafe ostiary_connect(number, path) == 0 else { throw SystemCallError("connect", subject: path) }
        try socket.setSendTimeout(seconds: 0)
        return socket
    }
}
