/// Objects that a connection serves, at a path and below it.
///
/// Which objects there are may change at any time; the closures say. They are called on the thread of the connection, as all
/// handlers are: they must not block for long, because nobody else is answered meanwhile.
public struct ServedObjects: Sendable {
    let prefix: String
    let interfaces: [ServedInterface]
    let paths: @Sendable () -> [String]

    /// - Parameters:
    ///   - prefix: an object path.
    ///   - paths: the objects that an introspection of their parents shows.
    public init(
        at prefix: String, interfaces: [ServedInterface], paths: @escaping @Sendable () -> [String] = { [] }
    ) {
        self.prefix = prefix
        self.interfaces = interfaces
        self.paths = paths
    }
}

/// An interface of served objects. sd-bus itself adds `Introspectable`, `Properties` and `Peer`.
public struct ServedInterface: Sendable {
    let name: String
    let methods: [ServedMethod]
    let properties: [ServedProperty]
    let signals: [ServedSignal]
    let readingLater: PropertyReading?
    let hasObject: @Sendable (_ path: String) -> Bool

    /// Answers a call that reads properties of an object: with a variant (`v`) for the property with this name, or for nil with all
    /// of the interface (`a{sv}`). It may answer later, as a method does.
    public typealias PropertyReading = @Sendable (_ call: BusCall, _ property: String?) throws(BusFault) -> Void

    /// - Parameters:
    ///   - readingLater: answers all readings of the properties, for an owner who has to ask somebody for the values. Such properties
    ///     are ``ServedProperty/readLater(_:_:changes:write:)``. Without it sd-bus asks each property at once.
    ///   - hasObject: whether there is an object at a path that has the interface.
    public init(
        _ name: String, methods: [ServedMethod] = [], properties: [ServedProperty] = [], signals: [ServedSignal] = [],
        readingLater: PropertyReading? = nil, hasObject: @escaping @Sendable (_ path: String) -> Bool
    ) {
        self.name = name
        self.methods = methods
        self.properties = properties
        self.signals = signals
        self.readingLater = readingLater
        self.hasObject = hasObject
    }
}

/// A method of a served interface. Only programs of the service's own user and of root can call it.
public struct ServedMethod: Sendable {
    /// Reads the arguments, and answers the call or keeps it. An error that it throws is the answer.
    public typealias Handler =
        @Sendable (_ call: BusCall, _ arguments: inout BusArguments) throws(BusFault) -> Void

    let name: String
    let inputs: String
    let outputs: String
    let handler: Handler

    /// - Parameters:
    ///   - inputs: the types of the arguments. sd-bus refuses other ones.
    ///   - outputs: the types of the answer's values.
    public init(_ name: String, _ inputs: String = "", returns outputs: String = "", handler: @escaping Handler) {
        self.name = name
        self.inputs = inputs
        self.outputs = outputs
        self.handler = handler
    }
}

/// A property of a served interface. Every program that the bus lets send messages can read it.
public struct ServedProperty: Sendable {
    /// How programs learn that it changed (``BusServer/announceChange(of:_:at:)``).
    public enum Change: Sendable {
        case never
        /// A signal holds the new value.
        case withValue
        /// A signal holds the property's name; programs ask for the value.
        case withoutValue
    }

    /// Writes the value that the object at `path` has now.
    public typealias Reading =
        @Sendable (_ path: String, _ value: inout BusWriter) throws(BusFault) -> Void

    let name: String
    let type: String
    let change: Change
    let read: Reading
    let write: ServedMethod.Handler?

    /// - Parameters:
    ///   - type: one complete type.
    ///   - write: takes a new value, as a method takes an argument of this type; nil if it cannot be set. One that can be set does
    ///     not stay as it is for ever.
    ///   - read: must answer at once.
    public init(
        _ name: String, _ type: String, changes change: Change = .withValue, write: ServedMethod.Handler? = nil,
        read: @escaping Reading
    ) {
        precondition(write == nil || change != .never, "a property that can be set can change")
        self.name = name
        self.type = type
        self.change = change
        self.write = write
        self.read = read
    }

    /// A property whose interface answers readings itself (``ServedInterface/PropertyReading``). ``BusServer/announceChange(of:_:at:)``
    /// does not know its value: emit `PropertiesChanged` with it instead.
    public static func readLater(
        _ name: String, _ type: String, changes change: Change = .withValue, write: ServedMethod.Handler? = nil
    ) -> ServedProperty {
        // sd-bus itself asks for it only where a program asks for the properties of all interfaces at once.
        ServedProperty(name, type, changes: change, write: write) { (_, _) throws(BusFault) in
            throw .failed("Ask for the properties of one interface.")
        }
    }
}

/// A signal of a served interface (``BusServer/emit(_:of:at:to:_:)``), for those who introspect it.
public struct ServedSignal: Sendable {
    let name: String
    let types: String

    public init(_ name: String, _ types: String = "") {
        self.name = name
        self.types = types
    }
}
