/// A message bus as a session has it, on which nobody is at first.
final class SessionBus {
    /// Its socket.
    let path: String
    private let process: ChildProcess

    var address: String { "unix:path=" + path }

    /// - Parameter folder: one that only this user may enter.
    init(in folder: String) throws {
        path = folder + "/bus"
        process = try ChildProcess("/usr/bin/dbus-daemon", ["--session", "--nofork", "--address=unix:path=" + path])
        try Listening.wait(at: path)
    }
}
