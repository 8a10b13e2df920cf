import Glibc
package import SecurityKeyProtocol
package import UnixSocket

/// Opens a security key by its name among the kernel's devices, and looks whether it is one.
package enum NamedKeyDevice {
    /// Opens the device, and checks the opened one: another device may have the name by now. Reads nothing of it.
    ///
    /// - Parameter userID: the user who must have access to it.
    /// - Throws: errors of ``KeyOpeningAnswer`` among others.
    package static func open(_ name: HIDRawName, for userID: UInt32) throws(SystemCallError) -> Descriptor {
        try open("/dev/" + name.text, for: userID)
    }

    static func open(_ path: String, for userID: UInt32) throws(SystemCallError) -> Descriptor {
        let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY
        let device = try Descriptor(unsafe Glibc.open(path, flags), from: "open", subject: path)
        guard try status(of: device, path).st_mode & S_IFMT == S_IFCHR else {
            throw SystemCallError("open", subject: path, code: KeyOpeningAnswer.noSecurityKey)
        }
        guard DeviceAccess(device).allows(userID) else {
            throw SystemCallError("open", subject: path, code: KeyOpeningAnswer.forbiddenToUser)
        }
        return device
    }

    /// Opens the kernel's copy of the device's report descriptor, by the number of the open device. The device itself has written it,
    /// so it is read where a hostile one can do no harm: ``isSecurityKey(_:)``.
    ///
    /// - Parameter records: the folder that has an entry for each device, by its number.
    package static func reportDescriptor(
        of device: borrowing Descriptor, in records: String = "/sys/dev/char"
    ) throws(SystemCallError) -> Descriptor {
        let number = UInt64(try status(of: device, "").st_rdev)
        // makedev(3): both halves are in two pieces.
        let major = number >> 8 & 0xFFF | number >> 32 & ~0xFFF
        let minor = number & 0xFF | number >> 12 & ~0xFF
        let path = "\(records)/\(major):\(minor)/device/report_descriptor"
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
        // Only devices of HID have one.
        guard descriptor >= 0 || (errno != ENOENT && errno != ENOTDIR) else {
            throw SystemCallError("open", subject: path, code: KeyOpeningAnswer.noSecurityKey)
        }
        return try Descriptor(descriptor, from: "open", subject: path)
    }

    private static func status(of device: borrowing Descriptor, _ path: String) throws(SystemCallError) -> stat {
        var status = stat()
        guard unsafe fstat(device.number, &status) == 0 else { throw SystemCallError("fstat", subject: path) }
        return status
    }

    /// Whether the report descriptor, an open file, says that the device is a security key. Makes no system call but read(2).
    package static func isSecurityKey(_ reportDescriptor: CInt) -> Bool {
        var bytes = [UInt8](repeating: 0, count: HIDReportDescriptor.maximumByteCount)
        var count = 0
        while count < bytes.count {
            let room = bytes.count - count
            let received = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe read(reportDescriptor, buffer.baseAddress! + count, room)
            }
            if received < 0, errno == EINTR { continue }
            guard received >= 0 else { return false }
            if received == 0 { break }
            count += received
        }
        return HIDReportDescriptor(Array(bytes[..<count])).isFIDO
    }
}
