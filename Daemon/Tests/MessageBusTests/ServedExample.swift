import MessageBus
import SecretMemory
import Synchronization
import SystemBusTestSupport

/// Objects of a test's own on its private bus.
final class ServedExample: Sendable {
    static let name = "org.example.Service"
    static let interface = "org.example.Service1"
    static let prefix = "/org/example"
    static let path = "/org/example/one"

    private struct State {
        var held: [BusCall] = []
        var label = "first"
        var peersThatLeft: [String] = []
        var endings: [BusError?] = []
    }

    private let state = Mutex(State())

    /// Calls of `Hold`, which wait for their answers.
    var held: [BusCall] { state.withLock { $0.held } }
    var peersThatLeft: [String] { state.withLock { $0.peersThatLeft } }
    /// How the connection ended: one value, once it did.
    var endings: [BusError?] { state.withLock { $0.endings } }

    var label: String {
        get { state.withLock { $0.label } }
        set { state.withLock { $0.label = newValue } }
    }

    /// Serves the objects; without a well-known name.
    func serve(on bus: PrivateBus, _ limits: ServingLimits = ServingLimits()) throws -> BusServer {
        try BusServer(
            .address(bus.address), thread: "ostiary-test",
            serving: ServedObjects(at: Self.prefix, interfaces: [made()], paths: { [Self.path] }), limits: limits,
            peerLeft: { [self] peer in state.withLock { $0.peersThatLeft.append(peer) } },
            ended: { [self] failure in state.withLock { $0.endings.append(failure) } })
    }

    /// The same with ``name``.
    func serveByName(on bus: PrivateBus, _ limits: ServingLimits = ServingLimits()) throws -> BusServer {
        let server = try serve(on: bus, limits)
        try server.requestName(Self.name)
        return server
    }

    // MARK: the interface

    private func made() -> ServedInterface {
        ServedInterface(
            Self.interface,
            methods: [
                Self.echo, hold, Self.caller, Self.refuse, Self.forget, Self.twice, Self.wrongTypes, Self.describe,
                Self.reverse, Self.idle,
            ],
            properties: [labelProperty, Self.versionProperty, Self.brokenProperty],
            signals: [ServedSignal("Said", "s")]
        ) { $0.hasSuffix("/one") }
    }

    private static let echo = ServedMethod("Echo", "s", returns: "s") { (call, arguments) throws(BusFault) in
        let text = try arguments.readString()
        call.answer { (values) throws(BusFault) in try values.append(text) }
    }

    private var hold: ServedMethod {
        ServedMethod("Hold", returns: "s") { [self] (call, _) throws(BusFault) in
            state.withLock { $0.held.append(call) }
        }
    }

    private static let caller = ServedMethod("Caller", returns: "sui") { (call, _) throws(BusFault) in
        let caller = call.caller
        call.answer { (values) throws(BusFault) in
            try values.append(caller.name)
            try values.append(caller.userID)
            try values.append(caller.processID ?? 0)
        }
    }

    private static let refuse = ServedMethod("Refuse") { (_, _) throws(BusFault) in
        throw BusFault("org.example.Refused", "No.")
    }

    private static let forget = ServedMethod("Forget") { (_, _) throws(BusFault) in }

    private static let twice = ServedMethod("Twice", returns: "s") { (call, _) throws(BusFault) in
        call.answer { (values) throws(BusFault) in try values.append("first") }
        call.refuse(BusFault("org.example.Second", "No."))
    }

    private static let wrongTypes = ServedMethod("WrongTypes", returns: "s") { (call, _) throws(BusFault) in
        call.answer { (values) throws(BusFault) in try values.append(UInt32(1)) }
    }

    /// The entries of a dictionary of variants, as text in their order.
    private static let describe = ServedMethod("Describe", "oa{sv}", returns: "s") {
        (call, arguments) throws(BusFault) in
        let path = try arguments.readObjectPath()
        var words = [path]
        try arguments.readArray(of: "{sv}") { (arguments) throws(BusFault) in
            try arguments.readDictionaryEntry(of: "sv") { (arguments) throws(BusFault) in
                let key = try arguments.readString()
                words += [key, try ServedExample.word(&arguments)]
            }
        }
        let text = words.joined(separator: " ")
        call.answer { (values) throws(BusFault) in try values.append(text) }
    }

    private static func word(_ arguments: inout BusArguments) throws(BusFault) -> String {
        switch try arguments.variantContents() {
        case "s":
            return try arguments.readVariant(of: "s") { (value) throws(BusFault) in try value.readString() }
        case "b":
            let flag = try arguments.readVariant(of: "b") { (value) throws(BusFault) in try value.readBool() }
            return "\(flag)"
        case "(ut)":
            return try arguments.readVariant(of: "(ut)") { (value) throws(BusFault) in
                try value.readStructure(of: "ut") { (value) throws(BusFault) in
                    let numbers = (try value.readNumber(UInt32.self), try value.readNumber(UInt64.self))
                    return "\(numbers.0)/\(numbers.1)"
                }
            }
        default: throw .invalidArguments
        }
    }

    /// Takes and returns a structure with a secret in it.
    private static let reverse = ServedMethod("Reverse", "(oay)", returns: "(oay)") {
        (call, arguments) throws(BusFault) in
        let secret = try arguments.readStructure(of: "oay") { (values) throws(BusFault) in
            _ = try values.readObjectPath()
            return HeldSecret(try values.readSecret())
        }
        call.answer { (values) throws(BusFault) in
            try values.appendStructure(of: "oay") { (values) throws(BusFault) in
                try values.append(objectPath: "/reversed")
                try values.append(secret: secret.reversed())
            }
        }
    }

    /// Reads nothing of the elements of an array.
    private static let idle = ServedMethod("Idle", "as") { (call, arguments) throws(BusFault) in
        try arguments.readArray(of: "s") { (_) throws(BusFault) in }
        call.answer()
    }

    // MARK: properties

    private var labelProperty: ServedProperty {
        ServedProperty(
            "Label", "s",
            write: { [self] (call, arguments) throws(BusFault) in
                label = try arguments.readString()
                call.answer()
            },
            read: { [self] (_, value) throws(BusFault) in try value.append(label) })
    }

    private static let versionProperty = ServedProperty("Version", "u", changes: .never) {
        (_, value) throws(BusFault) in try value.append(UInt32(7))
    }

    private static let brokenProperty = ServedProperty("Broken", "s", changes: .withoutValue) {
        (_, _) throws(BusFault) in throw BusFault("org.example.Broken", "No.")
    }
}

/// A secret that a closure keeps.
private final class HeldSecret: Sendable {
    private let bytes: SecretBytes

    init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

    func reversed() -> SecretBytes {
        var result = SecretBytes(zeroed: bytes.count)
        bytes.withUnsafeBytes { source in
            result.withUnsafeMutableBytes { $0.copyBytes(from: source.reversed()) }
        }
        return result
    }
}
