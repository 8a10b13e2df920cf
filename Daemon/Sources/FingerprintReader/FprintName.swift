import SystemBus

/// The names of fprintd's interface (`net.reactivated.Fprint.Manager.xml`, `….Device.xml`).
enum FprintName {
    static let service = "net.reactivated.Fprint"
    static let managerPath = "/net/reactivated/Fprint/Manager"
    static let manager = "net.reactivated.Fprint.Manager"
    static let device = "net.reactivated.Fprint.Device"
    static let properties = "org.freedesktop.DBus.Properties"
    /// The user who calls, in the place of a user's name.
    static let callingUser = ""
    /// Every enrolled finger where the reader can tell them apart by itself, else the first one.
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
        case bus + "ServiceUnknown", bus + "TimedOut": self = .withoutService
        case let name where name.hasPrefix(bus + "Spawn."): self = .withoutService
        // The connection itself failed, in whatever call.
        case "": self = .withoutBus
        default: self = .unexpected(error.description)
        }
    }
}
