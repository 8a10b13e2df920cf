import Glibc
public import UnixSocket

/// Why this machine cannot be shown as a security key. The description says what to do.
public enum PasskeyDeviceError: Error, Equatable, Sendable, CustomStringConvertible {
    /// There is no `/dev/uhid`: the kernel's module was never loaded.
    case moduleNotLoaded
    case notPermitted
    /// `/dev/uhid` is there, and the kernel has nothing behind it.
    case notSupported
    /// The kernel took the device away.
    case ended
    case failed(SystemCallError)

    init(openingFailedWith error: SystemCallError) {
        self =
            switch error.code {
            case ENOENT: .moduleNotLoaded
            case EACCES, EPERM: .notPermitted
            case ENODEV, ENXIO: .notSupported
            default: .failed(error)
            }
    }

    public var description: String {
        switch self {
        case .moduleNotLoaded:
            "There is no \(UHIDDevice.path): the kernel's module uhid is not loaded. Load it with `sudo modprobe uhid`. A line "
                + "`uhid` in /etc/modules-load.d/uhid.conf loads it at each start."
        case .notPermitted:
            "You may not open \(UHIDDevice.path). Join the group that may: `sudo usermod -aG ostiary-hid USER`, and log in again. "
                + "The installed udev rule 70-ostiary-hid.rules gives the group this right."
        case .notSupported:
            "\(UHIDDevice.path) is there, but this kernel has no uhid behind it. Install the kernel's module uhid, or a kernel "
                + "that was built with CONFIG_UHID."
        case .ended: "The kernel took the device away. Start `ostiary passkey serve` again."
        case .failed(let error): "The kernel refused to make or use the device (\(error))."
        }
    }
}
