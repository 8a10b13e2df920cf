import MessageBus

/// The names of fprintd's interface (`net.reactivated.Fprint.Manager.xml`, `….Device.xml`).
enum FprintName {
    static let service = "net.reactivated.Fprint"
    static let managerPath = "/net/reactivated/Fprint/Manager"
    static let manager = "net.reactivated.Fprint.Manager"
    static let device = "net.reactivated.Fprint.Device"
    static let properties = "org.freedesktop.DBus.Properties"
    /// Stands for the calling user in place of a name.
    static let callingUser = ""
    /// Every enrolled finger if the reader can tell them apart, otherwise the first one.
    static let anyFinger = "any"
}

extension ReaderFailure {
    /// The meaning of an error of the bus or of fprintd.
    init(_ error: BusError) {
        let fprint = FprintName.service + ".Error."
        let bus = "org.freedesktop.DBus.Error."
        switch error.name {
        case fprint + "NoSuchDevice": self = .withoutReader
        case fprint + "PermissionDenied": self = .denied
        case fprint + "NoEnrolledPrints": self = .nothingEnrolled
        case fprint + "AlreadyInUse": self = .busy
        case bus + "UnknownObject", bus + "UnknownMethod": self = .disconnected
        case bus + "NameHasNoOwner", bus + "NoReply": self = .serviceEnded
        case bus + "ServiceUnknown", bus + "Spawn.ServiceNotFound": self = .withoutService
        case bus + "TimedOut": self = .serviceNotStarted
        // The bus started it, or had systemd do it.
        case let name where name.hasPrefix(bus + "Spawn.") || name.hasPrefix("org.freedesktop.systemd1."):
            self = .serviceNotStarted
        // The connection itself failed, during any call.
        case "": self = .withoutBus
        default: self = .unexpected(error.description)
        }
    }
}
