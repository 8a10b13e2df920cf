import Opening
import Owners
package import Sessions
package import UnixSocket

extension Server {
    /// Begins to listen for the programs that the broker answers, at `path`, which must not exist.
    ///
    /// - Parameter owners: the users of the programs that come through this socket; nil for the users whom the store serves.
    package convenience init(listeningAt path: String, broker: Broker, owners: OwnerLookup? = nil) throws {
        try self.init(
            listeningAt: path, services: broker.services, handler: broker,
            owners: owners ?? OwnerLookup(broker.configuration.serves))
    }

    /// Accepts programs that the broker answers at a socket that outlives the daemon.
    package convenience init(inheriting socket: UnixSocket, broker: Broker, owners: OwnerLookup) throws {
        try self.init(inheriting: socket, services: broker.services, handler: broker, owners: owners)
    }
}
