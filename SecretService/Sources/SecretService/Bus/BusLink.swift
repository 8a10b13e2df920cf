import MessageBus
import SecretItems
import Synchronization
import UnixSocket

/// The interfaces of the Secret Service.
enum SecretInterface {
    static let service = "org.freedesktop.Secret.Service"
    static let collection = "org.freedesktop.Secret.Collection"
    static let item = "org.freedesktop.Secret.Item"
    static let session = "org.freedesktop.Secret.Session"
    static let prompt = "org.freedesktop.Secret.Prompt"
    static let properties = "org.freedesktop.DBus.Properties"
}

/// The service's connection to the bus, as the service itself uses it. Before it is there, and when it is gone, nothing is sent.
final class BusLink: Sendable {
    private struct State {
        var server: BusServer?
        var portal: BusServer?
        var isClosed = false
    }

    private let state = Mutex(State())

    private var server: BusServer? { state.withLock { $0.server } }

    func set(_ server: BusServer) { keep(server) { $0.server = server } }

    /// The connection on which the portal asks. Nothing else is sent on it.
    func set(portal server: BusServer) { keep(server) { $0.portal = server } }

    private func keep(_ server: BusServer, _ put: (inout State) -> Void) {
        let isClosed = state.withLock { state in
            if !state.isClosed { put(&state) }
            return state.isClosed
        }
        if isClosed { server.close() }
    }

    /// Ends the connections, after what was sent before. One that comes later ends at once.
    func close() {
        let (server, portal) = state.withLock { state in
            state.isClosed = true
            return (state.server.take(), state.portal.take())
        }
        server?.close()
        portal?.close()
    }

    // MARK: the others on the bus

    /// A pidfd of a caller's process; nil if it has ended. Waits for the bus.
    func process(of caller: BusCaller) throws(StoreRefusal) -> SharedDescriptor? {
        guard let server else { return nil }
        do throws(BusError) { return try server.process(of: caller) } catch {
            guard !error.isShortage else { throw .tooMuch(BusFault.shortOfDescriptors.message) }
            throw .noClient("The bus does not say which process the program is: \(error).")
        }
    }

    /// Whether a connection has a well-known name now. Waits for the bus.
    func isOwner(_ peer: String, of name: String) -> Bool {
        // A bus that does not answer says no.
        do throws(BusError) { return try server?.owner(of: name) == peer } catch { return false }
    }

    // MARK: signals

    /// A signal about one object, whose path is its only value.
    func emit(_ member: String, of interface: String, at path: String, about object: String) {
        server?.emit(member, of: interface, at: path) { (values) throws(BusFault) in
            try values.append(objectPath: object)
        }
    }

    /// Tells that properties of an object changed.
    ///
    /// - Parameters:
    ///   - invalidated: those whose values are not told.
    ///   - peer: the only receiver; nil for all that asked the bus for it.
    func announce(
        _ interface: String, at path: String, _ changed: PropertyValues, invalidated: [String] = [],
        to peer: String? = nil
    ) {
        server?.emit("PropertiesChanged", of: SecretInterface.properties, at: path, to: peer) {
            (values) throws(BusFault) in
            try values.append(interface)
            try changed.write(to: &values)
            try values.appendArray(of: "s") { (values) throws(BusFault) in
                for name in invalidated { try values.append(name) }
            }
        }
    }

    /// Tells a program the result of its prompt.
    func complete(_ prompt: UInt64, of peer: String, isDismissed: Bool, _ result: BusValue) {
        server?.emit("Completed", of: SecretInterface.prompt, at: ServedPath.prompt(prompt).text, to: peer) {
            (values) throws(BusFault) in
            try values.append(isDismissed)
            try result.writeVariant(to: &values)
        }
    }
}
