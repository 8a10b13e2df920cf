import Glibc

/// Where a TPM is, and who shares it.
public struct TPMLocation: Equatable, Sendable {
    /// The kernel's TPM with its resource manager. It keeps the objects of each program apart.
    public static let device = TPMLocation("device:/dev/tpmrm0")

    /// The configuration for the loader of tpm2-tss: `device:/dev/tpmrm0`, `swtpm:host=127.0.0.1,port=2321`.
    let configuration: String
    /// Whether the key in use and the sessions stay in the chip between two requests, so that a signature is one
    /// command. Without a resource manager they would take the few slots from all other programs.
    let keepsLoaded: Bool
    /// How many keys in use may have connections of their own, beside the one of the common connection. A chip without a
    /// resource manager has no room for them, and a socket of swtpm takes one connection at a time.
    let keyConnectionLimit: Int

    /// - Parameter configuration: comes from the daemon's configuration, never from its environment: it names a
    ///   library that is loaded.
    public init(_ configuration: String) {
        let isManaged = configuration.hasPrefix("device:/dev/tpmrm")
        self.init(configuration, keepsLoaded: isManaged, keyConnectionLimit: isManaged ? 4 : 0)
    }

    /// - Parameter keepsLoaded: as if there were a resource manager.
    package init(_ configuration: String, keepsLoaded: Bool, keyConnectionLimit: Int = 0) {
        self.configuration = configuration
        self.keepsLoaded = keepsLoaded
        self.keyConnectionLimit = keyConnectionLimit
    }
}

extension TPMLocation {
    /// The path of a device of the kernel; nil for a TPM that is no device.
    public var devicePath: String? {
        let prefix = "device:"
        return configuration.hasPrefix(prefix) ? String(configuration.dropFirst(prefix.count)) : nil
    }

    /// The group whose members may open the device. Each of them can destroy the chip's contents. Nil without such a group, or
    /// without a device.
    public var deviceGroup: String? {
        guard let path = devicePath else { return nil }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & 0o060 == 0o060 else { return nil }
        guard let entry = getgrgid(status.st_gid), let name = entry.pointee.gr_name else { return "\(status.st_gid)" }
        return String(cString: name)
    }

    /// Why a device of the kernel cannot be used.
    public enum Obstacle: Equatable, Sendable {
        /// There is no such device.
        case absent(String)
        /// This user may not open it.
        case notPermitted(String)
        /// Another program holds a device that takes one program at a time.
        case inUse(String)
    }

    /// The obstacle in the way of opening the device now; nil when there is none, when it is none of these, and for a TPM
    /// that is no device. tpm2-tss does not tell them apart.
    public var obstacle: Obstacle? {
        guard let path = devicePath else { return nil }
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor < 0 else {
            close(descriptor)
            return nil
        }
        return switch errno {
        case ENOENT, ENODEV, ENXIO, ENOTDIR: .absent(path)
        case EACCES, EPERM: .notPermitted(path)
        case EBUSY: .inUse(path)
        default: nil
        }
    }
}
