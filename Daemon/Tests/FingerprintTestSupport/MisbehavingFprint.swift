public import SystemBusTestSupport

/// A service with fprintd's name that sends signals when the real fprintd never does. It is played by python-dbusmock,
/// because the real one cannot be made to do this.
public final class MisbehavingFprint {
    /// A method of the device that sends `verify-match` before it answers.
    public enum Moment: String, CaseIterable, Sendable {
        case claim = "Claim"
        case start = "VerifyStart"
        case stop = "VerifyStop"
    }

    private let bus: PrivateBus
    private let service: MockService
    private static let device = "net.reactivated.Fprint.Device"
    private static let path = "/net/reactivated/Fprint/Device/0"
    private static let managerPath = "/net/reactivated/Fprint/Manager"
    private static let name = "net.reactivated.Fprint"

    /// - Parameters:
    ///   - moment: the method during which it sends the match.
    ///   - sendsMissAfterStart: whether a touch that does not match follows the start.
    public init(matchingDuring moment: Moment?, on bus: PrivateBus, sendsMissAfterStart: Bool = false) throws {
        let manager = "net.reactivated.Fprint.Manager"
        self.bus = bus
        service = try MockService(Self.name, at: Self.managerPath, interface: manager, on: bus)
        try bus.call(
            Self.name, Self.managerPath, "org.freedesktop.DBus.Mock.AddObject",
            [
                "'\(Self.path)'", "'\(Self.device)'", "{}", "@a(ssss) []",
            ])
        func add(_ path: String, _ interface: String, _ method: String, _ types: (String, String), _ code: String)
            throws
        {
            try bus.call(
                Self.name, path, "org.freedesktop.DBus.Mock.AddMethod",
                [
                    "'\(interface)'", "'\(method)'", "'\(types.0)'", "'\(types.1)'", "\"\(code)\"",
                ])
        }
        try add(Self.managerPath, manager, "GetDevices", ("", "ao"), "ret = [dbus.ObjectPath('\(Self.path)')]")
        try add(Self.managerPath, manager, "GetDefaultDevice", ("", "o"), "ret = dbus.ObjectPath('\(Self.path)')")
        for (name, value) in [("name", "Played reader"), ("scan-type", "press")] {
            try bus.call(
                Self.name, Self.path, "org.freedesktop.DBus.Mock.AddProperty",
                ["'\(Self.device)'", "'\(name)'", "<'\(value)'>"])
        }
        try add(Self.path, Self.device, "ListEnrolledFingers", ("s", "as"), "ret = ['right-index-finger']")
        for (method, types) in [("Claim", "s"), ("VerifyStart", "s"), ("VerifyStop", ""), ("Release", "")] {
            var code = method == moment?.rawValue ? Self.signal("verify-match") + "\n" : ""
            if method == "VerifyStart", sendsMissAfterStart {
                // After the answer, which is sent when this method returns.
                code += "from gi.repository import GLib\n"
                code += "GLib.timeout_add(50, lambda self=self: bool(\(Self.signal("verify-no-match"))))"
            }
            try add(Self.path, Self.device, method, (types, ""), code)
        }
    }

    /// Has the reader know whether a finger lies on it; at first one does.
    public func addFingerPresence() throws {
        try bus.call(
            Self.name, Self.path, "org.freedesktop.DBus.Mock.AddProperty",
            ["'\(Self.device)'", "'finger-present'", "<true>"])
    }

    /// The finger is lifted.
    public func liftFinger() throws {
        try bus.call(
            Self.name, Self.path, "org.freedesktop.DBus.Properties.Set",
            ["'\(Self.device)'", "'finger-present'", "<false>"])
    }

    /// Sends `verify-match` now.
    public func sendMatch() throws {
        try bus.call(
            Self.name, Self.path, "org.freedesktop.DBus.Mock.EmitSignal",
            ["'\(Self.device)'", "'VerifyStatus'", "'sb'", "[<'verify-match'>, <true>]"])
    }

    /// Sends `verify-match` of another reader now, straight to one connection: past what it asked the bus for.
    public func sendMatchOfAnotherReader(to connection: String) throws {
        let path = "/net/reactivated/Fprint/Device/1"
        try bus.call(
            Self.name, Self.managerPath, "org.freedesktop.DBus.Mock.AddObject",
            ["'\(path)'", "'\(Self.device)'", "{}", "@a(ssss) []"])
        try bus.call(
            Self.name, path, "org.freedesktop.DBus.Mock.EmitSignalDetailed",
            [
                "'\(Self.device)'", "'VerifyStatus'", "'sb'", "[<'verify-match'>, <true>]",
                "{'destination': <'\(connection)'>}",
            ])
    }

    /// Python that sends a result.
    private static func signal(_ status: String) -> String {
        "self.EmitSignal('\(device)', 'VerifyStatus', 'sb', ['\(status)', True])"
    }
}
