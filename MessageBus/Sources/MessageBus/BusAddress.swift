import Glibc

/// Where a bus listens.
public enum BusAddress: Equatable, Sendable {
    /// The machine's bus, at its fixed place. The environment has no say.
    case system
    /// The bus of the user's session, as the environment names it: `DBUS_SESSION_BUS_ADDRESS`, or else the socket `bus`
    /// in `XDG_RUNTIME_DIR`.
    case session
    /// An address as in the D-Bus specification, "Server Addresses". Only Unix sockets: other transports execute programs
    /// or leave the machine.
    case address(String)

    /// The address as text.
    ///
    /// - Parameter variable: the value of a variable of the environment.
    func text(_ variable: (String) -> String? = Self.environmentVariable) throws(BusError) -> String {
        let text: String? =
            switch self {
            case .system: "unix:path=/run/dbus/system_bus_socket"
            case .session: Self.sessionAddress(variable)
            case .address(let address): address
            }
        guard let text else { throw BusError("DBUS_SESSION_BUS_ADDRESS", code: ENOENT) }
        guard text.split(separator: ";").allSatisfy({ $0.hasPrefix("unix:") }) else {
            throw BusError("sd_bus_set_address", code: EPROTONOSUPPORT)
        }
        return text
    }

    private static func sessionAddress(_ variable: (String) -> String?) -> String? {
        if let address = variable("DBUS_SESSION_BUS_ADDRESS"), !address.isEmpty { return address }
        guard let folder = variable("XDG_RUNTIME_DIR"), folder.hasPrefix("/") else { return nil }
        return "unix:path=" + escaped(folder + "/bus")
    }

    /// A path as the value of an address: only some characters mean themselves.
    private static func escaped(_ path: String) -> String {
        path.utf8.map { byte in
            let isPlain =
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "-_/.".utf8.contains(byte)
            guard !isPlain else { return String(UnicodeScalar(byte)) }
            let digits = String(byte, radix: 16)
            return "%" + (digits.utf8.count == 1 ? "0" : "") + digits
        }.joined()
    }

    private static func environmentVariable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }
}
