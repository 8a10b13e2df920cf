import MessageBus
import Synchronization

extension SecretService {
    /// The objects of the Secret Service.
    func servedObjects() -> ServedObjects {
        ServedObjects(
            at: "/org/freedesktop",
            interfaces: [
                serviceInterface(), collectionInterface(), itemInterface(), sessionInterface(), promptInterface(),
            ],
            paths: {
                [
                    ServedPath.root, ServedPath.collection(.login).text, ServedPath.collection(.session).text,
                    ServedPath.alias(.standard).text,
                ]
            })
    }

    /// The portal's, which are on a connection of their own.
    func portalObjects() -> ServedObjects {
        ServedObjects(
            at: "/org/freedesktop", interfaces: [portalInterface(), portalRequestInterface()],
            paths: { [PortalRequests.path] })
    }

    /// A method whose arguments are read on the bus's thread, and whose work another thread does.
    ///
    /// - Parameters:
    ///   - read: reads the arguments.
    ///   - work: does it, and answers the call unless it throws.
    func method<Arguments: Sendable>(
        _ name: String, _ inputs: String = "", returns outputs: String = "", usesStore: Bool = true,
        reading read: @escaping @Sendable (inout BusArguments) throws(BusFault) -> Arguments,
        _ work: @escaping @Sendable (BusCall, ServiceClient, Arguments) throws(BusFault) -> Void
    ) -> ServedMethod {
        ServedMethod(name, inputs, returns: outputs) { [self] (call, arguments) throws(BusFault) in
            let given = try read(&arguments)
            try run(call, usesStore: usesStore) { (client) throws(BusFault) in try work(call, client, given) }
        }
    }
}

extension SecretService {
    /// The same for work that may need several turns.
    func methodInTurns<Arguments: Sendable>(
        _ name: String, _ inputs: String, returns outputs: String,
        reading read: @escaping @Sendable (inout BusArguments) throws(BusFault) -> Arguments,
        _ work: @escaping @Sendable (BusCall, ServiceClient, Arguments) throws(BusFault) -> TurnStep?
    ) -> ServedMethod {
        ServedMethod(name, inputs, returns: outputs) { [self] (call, arguments) throws(BusFault) in
            let given = try read(&arguments)
            try runInTurns(call) { (client) throws(BusFault) in try work(call, client, given) }
        }
    }
}

/// The arguments of a method that takes none.
struct NoArguments: Sendable {
    static func read(_ arguments: inout BusArguments) throws(BusFault) -> NoArguments { NoArguments() }
}
