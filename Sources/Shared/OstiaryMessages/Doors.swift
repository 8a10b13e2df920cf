// Programs that act for others. A request may name the client that it is made for.

/// The client that a door makes a request for. The descriptors that travel with the request identify it, and all of them are named
/// here.
public struct WireOnBehalf: WireMessage, FieldList {
    /// The kinds of the passed descriptors, in their order. No kind comes twice.
    public var descriptors: [WirePassedKind] = []
    /// The door's name for the client; shown as the door's word. At most ``WireLimits/clientLabelByteCount`` bytes of UTF-8.
    public var label = ""

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&descriptors)
        coder.field(&label)
    }
}

/// The kinds of descriptors that travel with a request for a client.
public enum WirePassedKind: WireNumber, WireValue {
    case unspecified
    /// The door's end of the connection that the client made.
    case socket
    /// A pidfd of the client's process.
    case process
    /// The client's terminal, as its own file.
    case terminal
    case UNRECOGNIZED(Int)

    public init(rawValue: Int) {
        switch rawValue {
        case 0: self = .unspecified
        case 1: self = .socket
        case 2: self = .process
        case 3: self = .terminal
        default: self = .UNRECOGNIZED(rawValue)
        }
    }

    public var rawValue: Int {
        switch self {
        case .unspecified: 0
        case .socket: 1
        case .process: 2
        case .terminal: 3
        case .UNRECOGNIZED(let number): number
        }
    }
}
