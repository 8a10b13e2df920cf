import Cancellations
public import FingerprintReader
import Foundation
import Glibc
import StoreTestSupport
public import SystemBusTestSupport
import TerminalTestSupport

/// The real fprintd and polkitd on a bus of the test's own, with readers that libfprint plays. Ends with the value.
///
/// polkitd becomes a user of its own, which only root can. Other users get dbusmock's stand-in, which permits everything, as polkitd
/// permits root everything. The stand-in also plays a polkitd that refuses.
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
    ///   - permitted: the only actions that polkit permits; nil for all.
    public init(
        _ readers: [VirtualReader] = [.verifying], isOnDemand: Bool = false, permitting permitted: [String]? = nil
    ) throws {
        self.readers = readers
        let folder = try TestFolder()
        self.folder = folder
        try FileManager.default.createDirectory(
            atPath: folder.path("templates"), withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        // polkitd runs as a user of its own.
        bus = try PrivateBus(servicesFolder: isOnDemand ? folder.path : nil, isForAllUsers: true)
        if isOnDemand {
            let environment = bus.environment + Self.environment(in: folder, readers)
            let text = """
                [D-BUS Service]
                Name=net.reactivated.Fprint
                Exec=/usr/bin/env \(environment.joined(separator: " ")) /usr/libexec/fprintd -t
                """
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path("fprint.service")))
            // The bus looks at its services again.
            let driver = "org.freedesktop.DBus"
            try bus.call(driver, "/org/freedesktop/DBus", driver + ".ReloadConfig")
        }
        let isReal = geteuid() == 0 && permitted == nil
        polkit = try SpawnedProcess(
            isReal ? "/usr/lib/polkit-1/polkitd" : "/usr/bin/python3",
            isReal ? ["--no-debug"] : ["-m", "dbusmock", "--template", "polkitd"], environment: bus.environment)
        let bus = bus
        let name = "org.freedesktop.PolicyKit1"
        try bus.waitForOwner(of: name)
        if !isReal {
            let actions = permitted.map { $0.map { "'\($0)'" }.joined(separator: ", ") }
            let call = actions.map { ("SetAllowed", "@as [\($0)]") } ?? ("AllowUnknown", "true")
            try eventually("the stand-in knows what it permits") {
                (try? bus.call(
                    name, "/org/freedesktop/PolicyKit1/Authority", "org.freedesktop.DBus.Mock.\(call.0)", [call.1]))
                    != nil
            }
        }
        if !isOnDemand { try startService() }
    }

    deinit {
        if service == nil { try? killService() }
        service?.end()
    }

    private static func environment(in folder: TestFolder, _ readers: [VirtualReader]) -> [String] {
        ["STATE_DIRECTORY=\(folder.path("templates"))"]
            + readers.map { "\($0.rawValue)=\(folder.path($0.rawValue))" }
    }

    // MARK: the service

    /// Starts fprintd, and waits until it has its name.
    ///
    /// - Parameter hasReaders: whether its readers are plugged in.
    public func startService(hasReaders: Bool = true) throws {
        for reader in readers { _ = unlink(folder.path(reader.rawValue)) }
        service = try SpawnedProcess(
            "/usr/libexec/fprintd", ["-t"],
            environment: bus.environment + Self.environment(in: folder, hasReaders ? readers : []))
        try bus.waitForOwner(of: "net.reactivated.Fprint")
    }

    /// Kills fprintd and waits until the bus has noticed it.
    public func killService() throws {
        if let service {
            service.end()
            self.service = nil
        } else {
            // The bus has started it.
            let answer = try bus.call(
                "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.GetConnectionUnixProcessID",
                ["net.reactivated.Fprint"])
            guard let number = answer.firstMatch(of: /uint32 ([0-9]+)/), let processID = pid_t(number.1) else { return }
            kill(processID, SIGKILL)
        }
        try eventually("fprintd's name is free") { try !Self.owns("net.reactivated.Fprint", bus) }
    }

    /// fprintd answers nothing until ``thawService()``.
    public func freezeService() { service?.signal(SIGSTOP) }

    public func thawService() { service?.signal(SIGCONT) }

    /// Lets a frozen fprintd go on, and waits until the first reader can be had. Debian's fprintd (1.94.2) sometimes ends by a
    /// fault of its own then, because a program left it meanwhile. It is started again, as the bus would do.
    public func thawServiceUntilFree() throws {
        thawService()
        try eventually("the reader is free") {
            if service?.wait(seconds: 0) != .stillRunning { try startService() }
            return (try? claimOnce()) != nil
        }
    }

    private static func owns(_ name: String, _ bus: PrivateBus) throws -> Bool {
        let driver = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.NameHasOwner")
        return try bus.call(driver.0, driver.1, driver.2, [name]).contains("true")
    }

    // MARK: the reader, seen by another program

    private static let device = "/net/reactivated/Fprint/Device/0"
    private func call(_ method: String, _ arguments: [String]) throws -> String {
        try bus.call("net.reactivated.Fprint", Self.device, method, arguments)
    }

    /// Whether the first reader waits for a touch.
    public func isArmed() throws -> Bool {
        try call("org.freedesktop.DBus.Properties.Get", ["net.reactivated.Fprint.Device", "finger-needed"])
            .contains("true")
    }

    /// Waits until the first reader waits for no touch: fprintd has sent the result by then.
    public func waitUntilDisarmed() throws { try eventually("the reader is disarmed") { try !isArmed() } }

    /// Claims the first reader and gives it back; throws when it cannot be had.
    public func claimOnce() throws {
        try fingerprintReader().withClaim(of: Self.device, until: PollableCancellation()) { _ in }
    }

    /// Waits until the first reader can be had: fprintd notices a moment later that a program has ended.
    public func waitUntilFree() throws {
        var failure: (any Error)?
        do {
            try eventually("the reader is free") {
                do { try claimOnce() } catch {
                    failure = error
                    return false
                }
                return true
            }
        } catch { throw failure ?? error }
    }

    // MARK: fingers

    /// Plays something at a reader; waits until fprintd has read it.
    public func play(_ event: SensorEvent, at reader: VirtualReader = .verifying) throws {
        try event.play(at: folder.path(reader.rawValue))
    }

    /// Enrols the finger with this skin for the user as whom the test runs.
    ///
    /// - Parameters:
    ///   - path: the reader's object; nil for the default reader.
    ///   - user: another user; this needs root.
    ///   - patience: for a reader that another program holds. A daemon gives it back behind its answer, so that a match waits for
    ///     nothing.
    public func enroll(
        _ finger: Finger, skin: String, at reader: VirtualReader = .verifying, path: String? = nil,
        of user: String? = nil, patience: Duration = .seconds(60)
    ) throws {
        let deadline = ContinuousClock.now + patience
        while true {
            do { return try enrollOnce(finger, skin: skin, at: reader, path: path, of: user) } catch ReaderFailure.busy
                where ContinuousClock.now < deadline
            { usleep(20_000) }
        }
    }

    private func enrollOnce(
        _ finger: Finger, skin: String, at reader: VirtualReader, path: String?, of user: String?
    ) throws {
        let result = try fingerprintReader().withClaim(for: user, of: path, until: PollableCancellation()) {
            (claimed) throws(ReaderFailure) in
            try claimed.enroll(finger, within: .seconds(120)) { event in
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

    // MARK: templates, past fprintd

    /// Copies all templates into a new folder.
    public func saveTemplates(in folder: String) throws {
        try FileManager.default.copyItem(atPath: templates, toPath: folder)
    }

    /// Brings the templates back that were saved.
    public func restoreTemplates(from folder: String) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: templates) {
            try FileManager.default.removeItem(atPath: "\(templates)/\(name)")
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            try FileManager.default.copyItem(atPath: "\(folder)/\(name)", toPath: "\(templates)/\(name)")
        }
    }

    /// Adds a left thumb for the test's user, whose template is the one of the right index finger. fprintd does not list it.
    public func plantTemplate() throws {
        try FileManager.default.copyItem(atPath: "\(userTemplates)/7", toPath: "\(userTemplates)/1")
    }

    /// Takes the left thumb's template away, past fprintd.
    public func removeLeftThumb() throws { try FileManager.default.removeItem(atPath: "\(userTemplates)/1") }

    private var userTemplates: String {
        "\(templates)/\(TemplatesHelper.userName)/\(VirtualReader.verifying.templateFolder)"
    }
}
