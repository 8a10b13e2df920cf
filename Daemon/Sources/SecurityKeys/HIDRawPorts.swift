import CTAPHID
import Foundation
import Glibc
package import HelperProcesses
import KeyDevices
import SecurityKeyProtocol
package import UnixSocket

/// The security keys that the kernel shows as hidraw devices (hidraw(4)). udev gives them to the user at the seat, by the access list of
/// the device.
package struct HIDRawPorts: SecurityKeyPorts {
    private static let folder = "/sys/class/hidraw"

    /// Whether the helper opens its key: only its own account may then.
    private let areOpenedByHelper: Bool

    /// - Parameter helper: how `ostiary-fido` is reached. One that this process starts has no rights of its own, and gets its key.
    package init(for helper: HelperRoad) {
        areOpenedByHelper =
            switch helper {
            case .spawned: false
            case .activated: true
            }
    }

    package func present(to userID: UInt32?) -> [SecurityKeyPort] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: Self.folder)) ?? []
        return names.sorted().filter { DeviceAccess("/dev/" + $0).allows(userID) }.compactMap(port(named:))
    }

    private func port(named name: String) -> SecurityKeyPort? {
        let link = Self.folder + "/" + name
        // The path has a number that the kernel gives to each device that is plugged in.
        let path = URL(fileURLWithPath: link).resolvingSymlinksInPath().path
        guard let bytes = Self.contents(of: link + "/device/report_descriptor", HIDReportDescriptor.maximumByteCount),
            HIDReportDescriptor(bytes).isFIDO
        else { return nil }
        let text = Self.contents(of: link + "/device/uevent", 4096).map { String(decoding: $0, as: UTF8.self) } ?? ""
        // This machine's own device would ask the person for what the question about it waits for.
        guard Self.value(of: "HID_PHYS", in: text) != HIDDevice.place else { return nil }
        return SecurityKeyPort(identifier: path, name: Self.value(of: "HID_NAME", in: text) ?? name)
    }

    /// - Parameter text: lines of the form `KEY=VALUE`.
    private static func value(of key: String, in text: String) -> String? {
        text.split(separator: "\n").first { $0.hasPrefix(key + "=") }.map { String($0.dropFirst(key.utf8.count + 1)) }
    }

    private static func contents(of path: String, _ count: Int) -> [UInt8]? {
        guard let handle = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? handle.close() }
        return (try? handle.read(upToCount: count)).map { Array($0) }
    }

    package func place(of port: SecurityKeyPort, for userID: UInt32?) throws(SystemCallError) -> KeyPlace {
        let name = URL(fileURLWithPath: port.identifier).lastPathComponent
        guard areOpenedByHelper else { return .opened(try Self.open("/dev/" + name, for: userID)) }
        return .named(try Self.opening(of: name, in: "/dev/", for: userID))
    }

    /// - Parameter userID: nil for the user of this process. The helper's rights are not this user's, so the access list decides here too.
    static func opening(
        of name: String, in folder: String, for userID: UInt32?
    ) throws(SystemCallError) -> KeyOpening {
        let (path, userID) = (folder + name, userID ?? geteuid())
        guard let known = HIDRawName(name.utf8) else { throw SystemCallError("name", subject: path, code: EINVAL) }
        guard DeviceAccess(path).allows(userID) else { throw SystemCallError("open", subject: path, code: EACCES) }
        return KeyOpening(known, for: userID)
    }

    /// Opens a device, and checks the opened one: another device may have the path by now.
    static func open(_ path: String, for userID: UInt32?) throws(SystemCallError) -> Descriptor {
        let device = try Descriptor(
            unsafe Glibc.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY), from: "open", subject: path)
        guard DeviceAccess(device).allows(userID) else {
            throw SystemCallError("open", subject: path, code: EACCES)
        }
        return device
    }
}
