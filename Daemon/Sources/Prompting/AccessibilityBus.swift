import MessageBus
import UnixSocket

/// The bus over which a screen reader reads a sheet, if the person uses one (at-spi2-core, `org.a11y.Bus`).
///
/// The user's own bus names it. So neither a caller nor an X display says where the words of a question go.
struct AccessibilityBus {
    private static let service = "org.a11y.Bus"
    private static let path = "/org/a11y/bus"

    let buses: SessionBuses
    /// The user who is asked.
    let userID: UInt32

    /// Its address; nil if nobody has switched a screen reader on, or if the bus does not answer. Starts no service.
    func address() -> String? {
        do throws(BusError) {
            guard let bus = try Bus(ofUserOrRoot: userID, at: buses.user), try isEnabled(bus) else { return nil }
            let address = try bus.call(Self.service, Self.path, Self.service, "GetAddress").readText()
            guard let path = Self.socketPath(in: address), let bus = try Bus(ofUserOrRoot: userID, at: path) else {
                return nil
            }
            // GTK waits for this bus as long as it takes.
            try bus.call(BusDriver.name, BusDriver.path, BusDriver.name, "GetId")
            return "unix:path=" + path
        } catch { return nil }
    }

    private func isEnabled(_ bus: Bus) throws(BusError) -> Bool {
        for property in ["ScreenReaderEnabled", "IsEnabled"] {
            let answer = try bus.call(
                Self.service, Self.path, "org.freedesktop.DBus.Properties", "Get", "org.a11y.Status", property)
            if try answer.enter(.variant, "b"), try answer.readBool() { return true }
        }
        return false
    }

    /// The path in an address such as `unix:path=/run/user/1000/at-spi/bus,guid=…`. Only characters that mean
    /// themselves in an address (D-Bus specification, "Server Addresses").
    static func socketPath(in address: String) -> String? {
        guard address.hasPrefix("unix:path=/") else { return nil }
        let path = address.dropFirst("unix:path=".count).prefix { $0 != "," }
        let isPlain = path.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "-_/.\\*".utf8.contains(byte)
        }
        return isPlain ? String(path) : nil
    }
}
