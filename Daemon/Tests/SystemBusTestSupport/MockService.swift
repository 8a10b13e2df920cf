import TerminalTestSupport

/// A service on a test's bus, played by python-dbusmock; it ends with the value.
public final class MockService {
    private let bus: PrivateBus
    private let process: SpawnedProcess
    private let name: String
    private let path: String

    /// Starts the service and waits until it has its name.
    ///
    /// - Parameter arguments: what dbusmock is told: a template, or name, path and interface.
    public init(_ name: String, at path: String, on bus: PrivateBus, _ arguments: [String]) throws {
        (self.bus, self.name, self.path) = (bus, name, path)
        process = try SpawnedProcess(
            "/usr/bin/python3", ["-m", "dbusmock"] + arguments, environment: bus.environment)
        try bus.waitForOwner(of: name)
    }

    /// A service with one object, which has no methods and no properties.
    public convenience init(_ name: String, at path: String, interface: String, on bus: PrivateBus) throws {
        try self.init(name, at: path, on: bus, ["--system", name, path, interface])
        // It takes its name before it has all its methods.
        try eventually("\(name) answers") {
            (try? bus.call(name, path, "org.freedesktop.DBus.Peer.Ping")) != nil
        }
    }

    /// Ends it.
    public func stop() { process.end() }

    /// Sends a signal of the service's object with one string.
    public func emit(_ interface: String, _ signal: String, _ argument: String) throws {
        try bus.call(
            name, path, "org.freedesktop.DBus.Mock.EmitSignal", [interface, signal, "s", "[<'\(argument)'>]"])
    }
}
