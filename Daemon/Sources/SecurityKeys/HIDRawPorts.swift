import CTAPHID
import Foundation
import Glibc
package import UnixSocket

/// The security keys that the kernel shows as hidraw devices (hidraw(4)). udev gives them to the user at the seat, by the access list of
/// the device.
package struct HIDRawPorts: SecurityKeyPorts {
    private static let folder = "/sys/class/hidraw"

    package init() {}

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

    package func open(_ port: SecurityKeyPort, for userID: UInt32?) throws(SystemCallError) -> Descriptor {
        try Self.open("/dev/" + URL(fileURLWithPath: port.identifier).lastPathComponent, for: userID)
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

/// A HID report descriptor (Device Class Definition for HID 1.11, 6.2.2), of which only the first usage counts.
struct HIDReportDescriptor {
    /// The most that the kernel keeps (HID_MAX_DESCRIPTOR_SIZE).
    static let maximumByteCount = 4096
    private static let fidoUsagePage: UInt32 = 0xF1D0
    private static let authenticatorUsage: UInt32 = 1

    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether the device says that it is a FIDO authenticator (CTAP 2.1, 11.2.8.1).
    var isFIDO: Bool {
        var position = 0
        var page: UInt32?
        while position < bytes.count {
            let prefix = bytes[position]
            // A long item says its length in its next byte.
            guard prefix != 0xFE else { return false }
            let count = prefix & 3 == 3 ? 4 : Int(prefix & 3)
            guard position + count < bytes.count else { return false }
            let value = bytes[position + 1..<position + 1 + count].reversed().reduce(0) { $0 << 8 | UInt32($1) }
            switch prefix & 0xFC {
            case 0x04: page = value
            case 0x08: return page == Self.fidoUsagePage && value == Self.authenticatorUsage
            default: break
            }
            position += 1 + count
        }
        return false
    }
}
