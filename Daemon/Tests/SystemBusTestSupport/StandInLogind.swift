public import Glibc
import TerminalTestSupport

/// What a daemon sees of systemd-logind: the template "logind" of python-dbusmock.
///
/// A stand-in, since the real one is root's, asks systemd itself for each session (without it, it makes none), and
/// would take the seats and virtual terminals of the machine that the tests run on.
public final class StandInLogind {
    private let bus: PrivateBus
    private let service: MockService
    private static let name = "org.freedesktop.login1"

    public init(on bus: PrivateBus) throws {
        self.bus = bus
        service = try MockService(
            Self.name, at: "/org/freedesktop/login1", on: bus, ["--template", "logind"])
        // It takes its name before it has all its methods.
        try eventually("logind answers") {
            (try? bus.call(Self.name, "/org/freedesktop/login1", "org.freedesktop.login1.Manager.ListSessions")) != nil
        }
    }

    public func stop() { service.stop() }

    public static func path(_ session: String) -> String { "/org/freedesktop/login1/session/\(session)" }

    public func addSession(
        _ session: String, of userID: uid_t, isActive: Bool = true, isRemote: Bool = false, hasSeat: Bool = true
    ) throws {
        try bus.call(
            Self.name, "/org/freedesktop/login1", "org.freedesktop.DBus.Mock.AddSession",
            [session, "seat0", "\(userID)", "somebody", "\(isActive)"])
        if isRemote { try setProperty("Remote", of: session, "<true>") }
        if !hasSeat { try setProperty("Seat", of: session, "<('', objectpath '/')>") }
    }

    /// What logind says of a session that begins.
    public func announceSession(_ session: String) throws { try emit("SessionNew", session) }

    /// Ends a session, as a logout does.
    public func removeSession(_ session: String) throws {
        try bus.call(
            Self.name, "/org/freedesktop/login1", "org.freedesktop.DBus.Mock.RemoveObject", [Self.path(session)])
        try emit("SessionRemoved", session)
    }

    private func emit(_ signal: String, _ session: String) throws {
        try bus.call(
            Self.name, "/org/freedesktop/login1", "org.freedesktop.DBus.Mock.EmitSignal",
            [
                "org.freedesktop.login1.Manager", signal, "so",
                "[<'\(session)'>, <objectpath '\(Self.path(session))'>]",
            ])
    }

    /// Such as `user` or `background`.
    public func setClass(_ session: String, _ sessionClass: String) throws {
        try setProperty("Class", of: session, "<'\(sessionClass)'>")
    }

    /// Such as `active` or `closing`.
    public func setState(_ session: String, _ state: String) throws {
        try setProperty("State", of: session, "<'\(state)'>")
    }

    private func setProperty(_ name: String, of session: String, _ value: String) throws {
        try bus.call(
            Self.name, Self.path(session), "org.freedesktop.DBus.Properties.Set",
            ["org.freedesktop.login1.Session", name, value])
    }

    /// Says in which session each process runs.
    ///
    /// - Parameter others: the session of all other processes; nil for none.
    public func setSessions(_ sessions: [pid_t: String], others: String? = nil) throws {
        let other = others.map { "'\(Self.path($0))'" } ?? "None"
        let table = sessions.map { "\($0.key): '\(Self.path($0.value))'" }.joined(separator: ", ")
        let code = """
            path = {\(table)}.get(int(args[0]), \(other))
            if path is None: raise dbus.exceptions.DBusException('', name='org.freedesktop.login1.NoSessionForPID')
            ret = dbus.ObjectPath(path)
            """
        try bus.call(
            Self.name, "/org/freedesktop/login1", "org.freedesktop.DBus.Mock.AddMethod",
            ["org.freedesktop.login1.Manager", "GetSessionByPID", "u", "o", code])
    }

    /// What a screen locker does.
    public func setLockedHint(_ session: String, _ isLocked: Bool) throws {
        try bus.call(Self.name, Self.path(session), "org.freedesktop.login1.Session.SetLockedHint", ["\(isLocked)"])
    }

    /// Says that the machine is about to sleep, or that it woke up.
    public func prepareForSleep(_ isBeginning: Bool) throws {
        try bus.call(
            Self.name, "/org/freedesktop/login1", "org.freedesktop.DBus.Mock.EmitSignal",
            ["org.freedesktop.login1.Manager", "PrepareForSleep", "b", "[<\(isBeginning)>]"])
    }

    /// What `loginctl lock-session` does.
    public func sendLock(_ session: String) throws {
        try bus.call(Self.name, Self.path(session), "org.freedesktop.login1.Session.Lock")
    }
}
