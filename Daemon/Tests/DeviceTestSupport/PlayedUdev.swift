import TerminalTestSupport

/// udev as a test plays it, in a network namespace of the program under test: no other program of the machine hears it, and the
/// program hears no device of the machine. This takes root.
public enum PlayedUdev {
    /// Executes what follows in such a namespace. The file there is how libsystemd finds out that udev runs.
    public static let wrapper = [
        "/usr/bin/unshare", "--mount", "--net", "/bin/sh", "-c",
        "mount -t tmpfs tmpfs /run && mkdir /run/udev && : > /run/udev/control && exec \"$@\"", "sh",
    ]

    public static let isPossible =
        (try? SpawnedProcess(wrapper[0], Array(wrapper.dropFirst()) + ["/bin/true"]).wait()) == .exited(0)

    /// What is announced.
    public struct Announcement: Sendable {
        let action: String
        let subsystem: String
        let deviceType: String

        public init(_ action: String, subsystem: String = "usb", deviceType: String = "usb_device") {
            (self.action, self.subsystem, self.deviceType) = (action, subsystem, deviceType)
        }
    }

    /// Announces this to the program; returns when the last one was sent.
    ///
    /// - Parameters:
    ///   - processID: a process that ``wrapper`` executed.
    ///   - count: how often.
    ///   - pause: seconds before each further time.
    public static func announce(
        _ announcement: Announcement, to processID: Int32, count: Int = 1, pause: Double = 0
    ) throws {
        let sender = try SpawnedProcess(
            "/usr/bin/nsenter",
            [
                "--target", "\(processID)", "--net", "/usr/bin/python3", "-c", script, announcement.action,
                announcement.subsystem, announcement.deviceType, "\(count)", "\(pause)",
            ])
        guard sender.wait() == .exited(0) else { throw NotSent() }
    }

    public struct NotSent: Error {}

    /// Sends what udev sends to the programs that listen: a header with hashes for the kernel's filter, then the properties.
    private static let script = #"""
        import socket, struct, sys, time

        def murmur_hash_2(text):
            data, mask, factor = text.encode(), 0xFFFFFFFF, 0x5BD1E995
            value = len(data)
            while len(data) >= 4:
                part = int.from_bytes(data[:4], "little") * factor & mask
                part = (part ^ part >> 24) * factor & mask
                value = value * factor & mask ^ part
                data = data[4:]
            if data:
                value = (value ^ int.from_bytes(data, "little")) * factor & mask
            value = (value ^ value >> 13) * factor & mask
            return value ^ value >> 15

        action, subsystem, device_type = sys.argv[1:4]
        udev_group = 2
        sender = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)  # NETLINK_KOBJECT_UEVENT
        for number in range(int(sys.argv[4])):
            if number:
                time.sleep(float(sys.argv[5]))
            fields = {"ACTION": action, "DEVPATH": "/devices/played/usb1/1-1", "SUBSYSTEM": subsystem,
                      "DEVTYPE": device_type, "SEQNUM": str(number + 1)}
            properties = b"".join(f"{key}={value}\0".encode() for key, value in fields.items())
            header = (b"libudev\0" + struct.pack(">I", 0xFEEDCAFE) + struct.pack("=III", 40, 40, len(properties))
                      + struct.pack(">IIII", murmur_hash_2(subsystem), murmur_hash_2(device_type), 0, 0))
            sender.sendto(header + properties, (0, udev_group))
        """#
}
