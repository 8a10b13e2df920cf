import CExtendedAttributes
import Glibc
package import UnixSocket

/// The users that may use a device, by its owner and its access list (acl(5)). Groups do not count: udev gives a device to the
/// person at the seat by an entry for that user.
package struct DeviceAccess {
    private let device: AccessedFile

    /// The device that has this path now.
    package init(_ path: String) { device = .path(path) }

    /// An open device, which must stay open while it is asked about.
    package init(_ descriptor: borrowing Descriptor) { device = .open(descriptor.number) }

    /// Whether the user may read from the device and write to it.
    ///
    /// - Parameter userID: nil for the user of this process: then the kernel decides when the device is opened.
    package func allows(_ userID: UInt32?) -> Bool {
        guard let userID else { return true }
        guard let status = device.status else { return false }
        if status.st_uid == userID { return status.st_mode & (S_IRUSR | S_IWUSR) == S_IRUSR | S_IWUSR }
        guard let list = AccessList(of: device) else { return false }
        return list.allows(userID) ?? (status.st_mode & (S_IROTH | S_IWOTH) == S_IROTH | S_IWOTH)
    }
}

/// A file by its path, or an open one.
enum AccessedFile {
    case path(String)
    case open(CInt)

    /// Nil when the kernel does not tell.
    var status: stat? {
        var status = stat()
        let code =
            switch self {
            case .path(let path): unsafe stat(path, &status)
            case .open(let number): unsafe fstat(number, &status)
            }
        return code == 0 ? status : nil
    }

    /// Reads an extended attribute (xattr(7)).
    ///
    /// - Returns: the number of its bytes; -1 with `errno`.
    func attribute(_ name: String, into bytes: inout [UInt8]) -> Int {
        let count = bytes.count
        return switch self {
        case .path(let path): unsafe getxattr(path, name, &bytes, count)
        case .open(let number): unsafe fgetxattr(number, name, &bytes, count)
        }
    }
}

/// The entries of an access list for users, as the kernel stores them (linux/posix_acl_xattr.h).
struct AccessList {
    private static let name = "system.posix_acl_access"
    private static let headerByteCount = 4
    private static let entryByteCount = 8
    private static let readAndWrite: UInt16 = 6
    private static let user: UInt16 = 0x02
    private static let mask: UInt16 = 0x10

    private var permissions: [UInt32: UInt16] = [:]
    private var limit: UInt16 = 7

    /// The list of a file; without entries if it has none. Nil when it cannot be read.
    init?(of file: AccessedFile) {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = file.attribute(Self.name, into: &bytes)
        guard count >= 0 else {
            guard errno == ENODATA || errno == ENOTSUP else { return nil }
            self.init()
            return
        }
        self.init(Array(bytes[..<count]))
    }

    private init() {}

    /// Nil for bytes that are no list of version 2.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.headerByteCount, Self.number(bytes[..<4]) == 2,
            (bytes.count - Self.headerByteCount).isMultiple(of: Self.entryByteCount)
        else { return nil }
        for start in stride(from: Self.headerByteCount, to: bytes.count, by: Self.entryByteCount) {
            let entry = bytes[start..<start + Self.entryByteCount]
            let tag = UInt16(Self.number(entry.prefix(2)))
            let permission = UInt16(Self.number(entry.dropFirst(2).prefix(2)))
            if tag == Self.user { permissions[Self.number(entry.suffix(4))] = permission }
            if tag == Self.mask { limit = permission }
        }
    }

    /// Little-endian, on every machine.
    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Whether the user may read and write; nil when no entry is for this user.
    func allows(_ userID: UInt32) -> Bool? {
        permissions[userID].map { $0 & limit & Self.readAndWrite == Self.readAndWrite }
    }
}
