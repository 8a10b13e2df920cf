import SystemBusTestSupport
import TerminalTestSupport

/// The resource manager tpm2-abrmd in front of a chip, on a bus of its own. As the kernel's one it keeps the objects of each
/// connection apart and exchanges them when a command needs their slots. Ends with the value.
public final class ResourceManager {
    private static let name = "com.intel.tss2.Tabrmd"
    private let bus: PrivateBus
    private let chip: String
    private var process: SpawnedProcess?

    /// Where programs with ``environment`` find the chip.
    public static let configuration = "tabrmd:bus_type=system"

    public var environment: [String] { bus.environment }

    /// - Parameter configuration: where it finds the chip.
    public init(of configuration: String) throws {
        (bus, chip) = (try PrivateBus(), configuration)
        try start()
    }

    /// Ends it. It forgets what it had in the chip.
    public func kill() throws {
        process = nil
        try eventually("its name is free") { try !isThere() }
    }

    public func start() throws {
        process = try SpawnedProcess(
            "/usr/sbin/tpm2-abrmd", ["--allow-root", "--tcti=\(chip)"], environment: bus.environment)
        try eventually("the resource manager has its name") { try isThere() }
    }

    private func isThere() throws -> Bool {
        let driver = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.NameHasOwner")
        return try bus.call(driver.0, driver.1, driver.2, [Self.name]).contains("true")
    }
}
