public import FingerprintReader
import Foundation
import Glibc
import StoreTestSupport
public import SystemBusTestSupport
import TerminalTestSupport

/// The real fprintd and polkitd on a bus of the test's own, with readers that libfprint plays. Ends with the value.
///
/// Templates belong to the user as whom the test runs, and lie in a folder of the test's own.
public final class FingerprintStack {
    public let bus: PrivateBus
    private let folder: TestFolder
    private let readers: [VirtualReader]
    private let polkit: SpawnedProcess
    private var service: SpawnedProcess?

    /// fprintd's folder of templates: a folder for each user.
    public var templates: String { folder.path("templates") }

    /// Starts everything and waits until fprintd has its readers.
    ///
    /// - Parameters:
    ///   - readers: the last one is the default reader.
    ///   - isOnDemand: whether the bus starts fprintd when it is called, as it does on a real machine.
    public init(_ readers: [VirtualReader] = [.verifying], isOnDemand: Bool = false) throws {
        self.readers = readers
        let folder = try TestFolder()
        self.folder = folder
        try FileManager.default.createDirectory(
            atPath: folder.path("templates"), withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        let environment = Self.environment(in: folder, readers)
        if isOnDemand {
            let text = """
                [D-BUS Service]
                Name=net.reactivated.Fprint
                Exec=/usr/bin/env \(environment.joined(separator: " ")) /usr/libexec/fprintd -t
                """
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path("fprint.service")))
        }
        // polkitd runs as a user of its own.
        bus = try PrivateBus(servicesFolder: isOnDemand ? folder.path : nil, isForAllUsers: true)
        polkit = try SpawnedProcess(
            "/usr/lib/polkit-1/polkitd", ["--no-debug"], environment: bus.environment)
        let bus = bus
        try eventually("polkitd has its name") { try Self.owns("org.freedesktop.PolicyKit1", bus) }
        if !isOnDemand { try startService() }
    }

    deinit { service?.end() }

    private static func environment(in folder: TestFolder, _ readers: [VirtualReader]) -> [String] {
        ["STATE_DIRECTORY=\(folder.path("templates"))"]
            + readers.map { "\($0.rawValue)=\(folder.path($0.rawValue))" }
    }

    // MARK: the service

    /// Starts fprintd with all its readers plugged in, and waits until it has its name.
    public func startService() throws {
        for reader in readers { _ = unlink(folder.path(reader.rawValue)) }
        service = try SpawnedProcess(
            "/usr/libexec/fprintd", ["-t"], environment: bus.environment + Self.environment(in: folder, readers))
        try eventually("fprintd has its name") { try Self.owns("net.reactivated.Fprint", bus) }
    }

    /// Kills fprintd and waits until the bus has noticed it.
    public func killService() throws {
        service?.end()
        service = nil
        try eventually("fprintd's name is free") { try !Self.owns("net.reactivated.Fprint", bus) }
    }

    /// fprintd answers nothing until ``thawService()``.
    public func freezeService() { service?.signal(SIGSTOP) }

    public func thawService() { service?.signal(SIGCONT) }

    private static func owns(_ name: String, _ bus: PrivateBus) throws -> Bool {
        let driver = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.NameHasOwner")
        return try bus.call(driver.0, driver.1, driver.2, [name]).contains("true")
    }

    // MARK: fingers

    /// Plays something at a reader; waits until fprintd has read it.
    public func play(_ event: SensorEvent, at reader: VirtualReader = .verifying) throws {
        try event.play(at: folder.path(reader.rawValue))
    }

    /// Enrols the finger with this skin for the user as whom the test runs.
    ///
    /// - Parameter path: the reader's object; nil for the default reader.
    public func enroll(
        _ finger: Finger, skin: String, at reader: VirtualReader = .verifying, path: String? = nil
    ) throws {
        let result = try fingerprintReader().withClaim(of: path, until: ReaderStop()) {
            (claimed) throws(ReaderFailure) in
            try claimed.enroll(finger, within: .seconds(20)) { event in
                switch event {
                case .armed, .stagePassed: try? play(.touch(skin), at: reader)
                case .hint: break
                }
            }
        }
        guard result == .completed else { throw NotEnrolled(result: "\(result)") }
    }

    public struct NotEnrolled: Error { public let result: String }

    /// The part under test, on this bus.
    public func fingerprintReader() -> FingerprintReader {
        FingerprintReader(socketPath: bus.path, serviceUserID: getuid())
    }
}
