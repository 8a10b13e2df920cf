/// Which connection owns a well-known name of the bus, followed as that changes.
///
/// A signal counts as the service's only if it comes from the connection that owns the name now: see
/// ``isSender(of:)``.
public struct ServiceOwner {
    /// The well-known name, for example `org.freedesktop.login1`.
    public let service: String
    /// The unique name of the connection that owns it; nil while none does.
    public private(set) var connection: String?

    /// Finds the owner, and asks for the changes. Starts no service. Blocks for the answers of the bus.
    public init(of service: String, on bus: Bus) throws(BusError) {
        self.service = service
        // Before the owner is asked for: no change of it gets lost.
        try bus.receive(Self.changes(of: service))
        do {
            connection = try bus.call(BusDriver.name, BusDriver.path, BusDriver.name, "GetNameOwner", service)
                .readText()
        } catch  where error.isNameWithoutOwner { connection = nil }
    }

    /// An owner that the caller has found out.
    public init(of service: String, connection: String?) {
        self.service = service
        self.connection = connection
    }

    /// The match for the changes of a name's owner.
    public static func changes(of service: String) -> SignalMatch {
        SignalMatch(BusDriver.name, BusDriver.nameOwnerChanged, from: BusDriver.name, firstArgument: service)
    }

    /// Whether the message came from the connection that owns the name now.
    public func isSender(of message: BusMessage) -> Bool { connection != nil && message.sender == connection }

    /// Takes the new owner from a message in which the bus tells it; returns whether it was such a message.
    public mutating func follow(_ message: BusMessage) throws(BusError) -> Bool {
        // The bus's own name is no connection's: nobody else can be this sender.
        guard message.sender == BusDriver.name, message.isSignal(BusDriver.name, BusDriver.nameOwnerChanged) else {
            return false
        }
        let (name, _, next) = (try message.readText(), try message.readText(), try message.readText())
        guard name == service else { return false }
        connection = next.isEmpty ? nil : next
        return true
    }
}
