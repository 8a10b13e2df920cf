import Cancellations
import SecretItems
import Synchronization

/// The requests of the portal that are under way. Each is an object of the bus, by which the portal can take it back.
final class PortalRequests: Sendable {
    /// The name that desktops' settings of portals give this backend.
    static let name = "org.freedesktop.impl.portal.desktop.ostiary"
    static let path = "/org/freedesktop/portal/desktop"
    /// The name of the only program that may ask. Any program of the session can take it, so its file counts, too.
    static let frontend = "org.freedesktop.portal.Desktop"
    static let frontendFile = "xdg-desktop-portal"
    static let interface = "org.freedesktop.impl.portal.Secret"
    static let requestInterface = "org.freedesktop.impl.portal.Request"

    private struct Request: Sendable {
        let peer: String
        let cancellation: Cancellation
    }

    private let requests = Mutex<[String: Request]>([:])

    /// - Parameter handle: the path that the portal gave the request.
    /// - Returns: what ends the request; nil for a handle that is none, or in use.
    func begin(_ handle: String, of peer: String) -> Cancellation? {
        guard handle.utf8.starts(with: (Self.path + "/request/").utf8) else { return nil }
        return requests.withLock { requests in
            guard requests[handle] == nil, requests.count < Self.limit else { return nil }
            let request = Request(peer: peer, cancellation: Cancellation())
            requests[handle] = request
            return request.cancellation
        }
    }

    /// The portal asks for one secret of an application at a time.
    private static let limit = 64

    func finish(_ handle: String) { _ = requests.withLock { $0.removeValue(forKey: handle) } }

    func contains(_ handle: String) -> Bool { requests.withLock { $0[handle] != nil } }

    /// The portal takes a request back; false if it is not this connection's.
    func cancel(_ handle: String, of peer: String) -> Bool {
        let request = requests.withLock { $0[handle] }
        guard let request, request.peer == peer else { return false }
        request.cancellation.cancel()
        return true
    }

    /// The connection has ended.
    func forget(_ peer: String) {
        let ended = requests.withLock { requests in requests.values.filter { $0.peer == peer } }
        for request in ended { request.cancellation.cancel() }
    }

    /// The service ends.
    func end() {
        let all = requests.withLock { Array($0.values) }
        for request in all { request.cancellation.cancel() }
    }
}

/// An application in a sandbox, by the name under which the portal knows it.
struct ApplicationName: Equatable, Sendable {
    let text: String

    /// Nil for a name that no application has: reverse DNS names have letters, digits, dots, hyphens and underscores. The portal gives a
    /// program outside of any sandbox an empty one. Such a program has the Secret Service.
    init?(_ text: String) {
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy(Self.isPart) else { return nil }
        self.text = text
    }

    private static func isPart(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
