import Glibc
import HelperProcesses
import ProcessFacts
import UnixSocket

/// A display on which a sheet can be drawn.
enum SheetDisplay {
    /// A connection to a Wayland compositor. The daemon makes it, so the sheet needs no access to the compositor's
    /// folder.
    case wayland(UnixSocket)
    /// The name of an X display.
    case x11(String, X11Cookies)
}

/// What admits a program to an X server.
enum X11Cookies {
    case unneeded
    /// Absolute path of a file that the sheet reads itself.
    case file(String)
    /// A copy that nobody can change. The sheet cannot read the user's file.
    case copy(SharedDescriptor)
}

/// Connects to displays of the user who is asked.
protocol DisplayConnecting: Sendable {
    /// The display of the user's session. The caller has made sure that there is an active one.
    func ofSession() throws(DisplayRefusal) -> SheetDisplay
}

/// A daemon under the user's account connects itself, to the display that systemd's user manager tells its services.
struct OwnDisplays: DisplayConnecting {
    let buses: SessionBuses
    /// The user who is asked.
    let userID: UInt32
    /// The folder for relative names of Wayland displays.
    let runtimeFolder: String
    /// The folder of the sockets of this machine's X servers.
    let x11Folder: String

    func ofSession() throws(DisplayRefusal) -> SheetDisplay {
        let variables = SessionVariables.of(userID, at: buses.user)
        return try named(
            wayland: variables["WAYLAND_DISPLAY"], x11: variables["DISPLAY"],
            authority: variables["XAUTHORITY"].flatMap { $0.hasPrefix("/") ? $0 : nil })
    }

    /// The display of the given name, a Wayland display before an X display.
    func named(wayland: String?, x11: String?, authority: String?) throws(DisplayRefusal) -> SheetDisplay {
        if let wayland { return .wayland(try connect(to: wayland)) }
        guard let x11 = x11.flatMap(Self.localDisplay) else { throw .none }
        // The environment can outlive the user's own server. A server of another user would show the question to that
        // user.
        let number = x11.dropFirst().prefix { $0 != "." }
        _ = try connect(to: "\(x11Folder)/X\(number)")
        return .x11(x11, authority.map(X11Cookies.file) ?? .unneeded)
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

/// A daemon under an account of its own may not enter the user's folder, nor ask the user's bus: `ostiary-display` looks there for
/// displays, and logind says which one is the session's.
struct HelperDisplays: DisplayConnecting {
    let socket: HelperSocket
    /// The user who is asked.
    let userID: UInt32
    let sessions: any SessionRecords

    /// The time for an answer. The helper looks at a few files, and connects without a wait.
    private static let patience: Duration = .seconds(5)

    func ofSession() throws(DisplayRefusal) -> SheetDisplay {
        let desktop = sessions.desktop(of: userID)
        // A compositor in a window of an X session would hide the question in that window.
        if desktop?.isX11 == true { return try x11(named: desktop?.x11Display) }
        do { return .wayland(try wayland()) } catch {
            guard error == .noneOfSession else { throw error }
            return try x11(named: desktop?.x11Display)
        }
    }

    private func wayland() throws(DisplayRefusal) -> UnixSocket {
        var (answer, connection) = try ask(.wayland)
        if answer.result == .several { (answer, connection) = try ask(.wayland, only(of: answer.displays)) }
        return try verified(connection, of: answer, mayBeRoot: false)
    }

    private func x11(named name: String?) throws(DisplayRefusal) -> SheetDisplay {
        var (answer, connection) = try ask(.x11, name.flatMap(Self.server) ?? "")
        if answer.result == .several { (answer, connection) = try ask(.x11, only(of: answer.displays)) }
        _ = try verified(connection, of: answer, mayBeRoot: true)
        guard let display = answer.displays.first else { throw .helperFailed }
        let (cookieAnswer, copy) = try ask(.cookies)
        // The server admits its own user without a cookie, and the sheet is another user.
        guard cookieAnswer.result == .connected, let copy else { throw .noCookies }
        return .x11(display.name, .copy(copy))
    }

    /// `:0` of `:0.1`, as the helper names servers.
    private static func server(_ display: String) -> String? {
        let name = String(display.prefix { $0 != "." })
        let digits = name.dropFirst()
        let isNumber = (1...3).contains(digits.count) && digits.allSatisfy { $0.isASCII && $0.isNumber }
        return name.hasPrefix(":") && isNumber ? name : nil
    }

    /// Of several displays, the only one whose server runs in a session in the foreground.
    private func only(of displays: [DisplayMessages.Display]) throws(DisplayRefusal) -> String {
        let shown = displays.filter { display in
            switch sessions.refusal(ofProcess: display.processID, of: userID) {
            case nil, .sessionLocked: true
            default: false
            }
        }
        guard shown.count == 1 else { throw .several }
        return shown[0].name
    }

    /// The connection that came with an answer. The kernel is asked once more who listens: the helper may be wrong.
    private func verified(
        _ descriptor: SharedDescriptor?, of answer: DisplayMessages.Answer, mayBeRoot: Bool
    ) throws(DisplayRefusal) -> UnixSocket {
        switch answer.result {
        case .connected: break
        case .absent: throw .noneOfSession
        case .refused: throw .noAnswer
        case .otherOwner: throw .otherOwner
        case .several: throw .several
        case .badRequest: throw .helperFailed
        }
        guard let descriptor, let copy = try? UnixSocket(owning: Descriptor(duplicating: descriptor)),
            let peer = try? copy.peerCredentials()
        else { throw .helperFailed }
        guard peer.userID == userID || (mayBeRoot && peer.userID == 0) else { throw .otherOwner }
        return copy
    }

    private func ask(
        _ kind: DisplayMessages.Kind, _ name: String = ""
    ) throws(DisplayRefusal) -> (DisplayMessages.Answer, SharedDescriptor?) {
        let helper = try reach()
        guard helper.send(DisplayMessages.request(kind, name, of: userID)),
            helper.wait(until: .now.advanced(by: Self.patience), stoppedBy: -1) == .message,
            case .message(let bytes, let passed) = helper.receive(
                atMost: DisplayMessages.answerByteCount, expecting: 1),
            let answer = DisplayMessages.Answer(decoding: bytes),
            passed.isEmpty == (answer.result != .connected)
        else { throw .helperFailed }
        return (answer, passed.first)
    }

    private func reach() throws(DisplayRefusal) -> Helper {
        do throws(HelperUnavailability) { return try Helper(.activated(socket)) } catch { throw .helperFailed }
    }
}

extension Descriptor {
    fileprivate init(duplicating shared: SharedDescriptor) throws(SystemCallError) {
        try self.init(fcntl(shared.number, F_DUPFD_CLOEXEC, 3), from: "fcntl")
    }
}
