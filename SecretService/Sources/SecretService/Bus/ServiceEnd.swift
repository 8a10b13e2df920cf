import MessageBus
import Synchronization

/// Why the service does not begin: words for the person.
public struct ServiceStartFailure: Error, Equatable, Sendable {
    public let words: String

    init(words: String) { self.words = words }

    init(_ error: BusError) {
        words =
            error.isUntrustedBus
            ? "The session's bus is run by \(error.call), which executes no dbus-daemon or dbus-broker of root's, or is in another PID "
                + "namespace than the service. It could name any program as the one that asks. Look at that process, and start the service "
                + "on the session's own bus."
            : "The session's bus cannot be used (\(error)). Start the service in a session that has one."
    }
}

/// How the service ended.
public enum ServiceEnd: Equatable, Sendable {
    /// It was closed.
    case closed
    /// The bus has ended, as that of a session does when the person logs out.
    case busEnded
    /// A connection to the bus was lost, and the bus goes on: words for the person.
    case lost(String)

    init(_ failure: BusError?) {
        switch failure {
        case nil: self = .closed
        case .some(let failure) where failure.isEndOfBus: self = .busEnded
        case .some(let failure):
            self = .lost(
                "The connection to the session's bus was lost (\(failure)). The collection session and the locks of this service are gone. "
                    + "The bus starts the service again when a program asks.")
        }
    }
}

/// The ends of several connections, of which the service's is the last. The first one tells the reason: the others are closed then.
final class ConnectionEnds: Sendable {
    private struct State {
        var count: Int
        var end: ServiceEnd?
    }

    private let state: Mutex<State>

    init(count: Int) { state = Mutex(State(count: count)) }

    /// Notes the end of a connection; returns the service's when it was the last one.
    func add(_ failure: BusError?) -> ServiceEnd? {
        state.withLock { state in
            state.count -= 1
            // A bus that ends may be noticed on one connection while the other one is closed already.
            if state.end == nil || state.end == .closed { state.end = ServiceEnd(failure) }
            return state.count == 0 ? state.end : nil
        }
    }
}
