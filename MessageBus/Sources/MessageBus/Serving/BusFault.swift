import Glibc

/// An error that a served object answers with, or a refusal of this module.
public struct BusFault: Error, Equatable, Sendable {
    /// Its D-Bus name, for example `org.freedesktop.DBus.Error.AccessDenied`.
    public let name: String
    /// Words for the caller's author. No secret, and nothing that the caller sent.
    public let message: String

    public init(_ name: String, _ message: String) {
        self.name = name
        self.message = message
    }

    private init(standard name: String, _ message: String) {
        self.init("org.freedesktop.DBus.Error." + name, message)
    }

    /// The arguments have another form than the method takes.
    public static let invalidArguments = BusFault(standard: "InvalidArgs", "The arguments have another form.")
    /// The caller may not do this.
    public static let accessDenied = BusFault(standard: "AccessDenied", "The caller may not do this.")
    /// The caller asked for more at a time than the service gives.
    public static let limitsExceeded = BusFault(standard: "LimitsExceeded", "The caller asks for too much at a time.")
    /// There is no such object.
    public static let unknownObject = BusFault(standard: "UnknownObject", "There is no such object.")
    /// The service dropped the call.
    public static let noReply = BusFault(standard: "NoReply", "The service did not answer.")

    /// The service failed.
    public static func failed(_ message: String) -> BusFault { BusFault(standard: "Failed", message) }

    /// The service has no descriptors left for the call.
    public static let shortOfDescriptors = BusFault(
        standard: "LimitsExceeded", "The service has as many open files as it may have. Try again later.")

    /// An error of sd-bus, which holds no secret, as the service's own.
    init(_ error: BusError) { self = error.isShortage ? .shortOfDescriptors : .failed(error.description) }

    /// An error that sd-bus met in a caller's arguments.
    init(inArguments error: BusError) {
        self = error.isShortage ? .shortOfDescriptors : error.code == EMSGSIZE ? .limitsExceeded : .invalidArguments
    }

    /// The result of a function of sd-bus, which is a negative `errno` when it failed.
    static func check(_ result: CInt, _ call: String) throws(BusFault) {
        guard result >= 0 else { throw BusFault(BusError(call, code: -result)) }
    }
}
