package import DoorSupport
import OstiaryMessages
import Synchronization

/// What a client would lose with its connection, the least first.
package enum ClientNeed: Int, Comparable, Sendable {
    case nothing
    /// The person may be asked once more for a key that the client has used.
    case grants
    /// A call of its program would fail.
    case answers

    package static func < (left: ClientNeed, right: ClientNeed) -> Bool { left.rawValue < right.rawValue }
}

/// A client for as long as it has a place.
package protocol PlacedClient: AnyObject, Sendable {
    var need: ClientNeed { get }
    var lastMessage: ContinuousClock.Instant { get }
    /// Ends its connection. Waits for nothing.
    func sendAway()
}

/// The file that a process executes, for shares. Processes that have ended or may not be looked at count as one program.
package struct ProgramFile: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    package init(device: UInt64, inode: UInt64) { (self.device, self.inode) = (device, inode) }
}

/// The clients that the daemon knows of this door, which has places for some only.
///
/// A program keeps its connection as long as it runs, and most programs that have loaded the module use no key for hours. So a client
/// that needs nothing is sent away for one that comes: its module connects again, and the daemon looks at its program then, as at each
/// connection. Naming it again on the same connection would be worse: it can execute another program meanwhile, which the question would name.
package final class ClientPlaces: Sendable {
    private struct Place {
        let client: any PlacedClient
        let program: ProgramFile?
    }

    private let places = Mutex<[ObjectIdentifier: Place]>([:])
    private let limits: (ofProgram: Int, total: Int)

    package init(ofProgram: Int = PKCS11Limits.clients.ofProgram, total: Int = PKCS11Limits.clients.total) {
        limits = (ofProgram, total)
    }

    /// Gives the client a place here and, with `begin`, one in the daemon.
    ///
    /// - Parameter begin: names the client to the daemon. It is called again when somebody has made room for the client.
    /// - Throws: `pkcs11Full` when all others need their places; what `begin` throws.
    package func enter(
        _ client: any PlacedClient, of program: ProgramFile?, _ begin: () throws(DoorFailure) -> Void
    ) throws(DoorFailure) {
        guard take(Place(client: client, program: program)) else { throw .noPlace }
        do throws(DoorFailure) { try makingRoom(for: client, of: program, begin) } catch {
            leave(client)
            throw error
        }
    }

    /// The client has ended, or was sent away.
    package func leave(_ client: any PlacedClient) { places.withLock { $0[ObjectIdentifier(client)] = nil } }

    private func take(_ place: Place) -> Bool {
        let (hasPlace, leaving) = places.withLock { places -> (Bool, (any PlacedClient)?) in
            let ofProgram = places.values.filter { $0.program == place.program }
            let isShareFull = ofProgram.count >= limits.ofProgram
            var leaving: (any PlacedClient)?
            if isShareFull || places.count >= limits.total {
                leaving = Self.leastInNeed(of: isShareFull ? ofProgram : Array(places.values))
                guard let leaving else { return (false, nil) }
                places[ObjectIdentifier(leaving)] = nil
            }
            places[ObjectIdentifier(place.client)] = place
            return (true, leaving)
        }
        leaving?.sendAway()
        return hasPlace
    }

    /// The daemon counts the clients of all doors, so it can be full before this door is.
    private func makingRoom(
        for client: any PlacedClient, of program: ProgramFile?, _ begin: () throws(DoorFailure) -> Void
    ) throws(DoorFailure) {
        for _ in 0..<PKCS11Limits.replacedClientCount {
            do throws(DoorFailure) { return try begin() } catch {
                guard error.code == WireFailureCode.tooMany.rawValue,
                    replace(for: client, of: program, alone: error.cause == Self.shareIsFull)
                else { throw error }
            }
        }
        try begin()
    }

    /// The daemon's cause where a program has its share of clients, at all doors together.
    private static let shareIsFull = "door.too-many-clients-of-program"

    /// Sends another client away: one of the same program, or else any.
    ///
    /// - Parameter isAlone: whether only one of the same program makes room. Otherwise a program that has its share at other doors would have
    ///   all others sent away, and their grants end.
    private func replace(for client: any PlacedClient, of program: ProgramFile?, alone isAlone: Bool) -> Bool {
        let leaving = places.withLock { places -> (any PlacedClient)? in
            let others = places.values.filter { $0.client !== client }
            let leaving =
                Self.leastInNeed(of: others.filter { $0.program == program })
                ?? (isAlone ? nil : Self.leastInNeed(of: others))
            if let leaving { places[ObjectIdentifier(leaving)] = nil }
            return leaving
        }
        leaving?.sendAway()
        return leaving != nil
    }

    /// Of those that need the least the one that has been silent for the longest time. Nil when each waits for an answer.
    private static func leastInNeed(of places: [Place]) -> (any PlacedClient)? {
        let candidates = places.map { (client: $0.client, need: $0.client.need, time: $0.client.lastMessage) }
        return candidates.filter { $0.need < .answers }.min { ($0.need, $0.time) < ($1.need, $1.time) }?.client
    }
}
