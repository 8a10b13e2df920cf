public import Foundation
import LoopbackCallback

extension ASWebAuthenticationSession {
    /// Where a page ends (Apple's `ASWebAuthenticationSession.Callback`).
    public struct Callback: Sendable {
        enum Kind: Equatable, Sendable {
            case scheme(String)
            case https(host: String, path: String)
            case loopback(port: UInt16, path: String)
        }

        let kind: Kind

        /// An address of this scheme. Refused by the session, but for `http` with a `redirect_uri` of 127.0.0.1.
        public static func customScheme(_ customScheme: String) -> Callback { Callback(kind: .scheme(customScheme)) }

        /// An address of a web site. Refused by the session.
        public static func https(host: String, path: String) -> Callback {
            Callback(kind: .https(host: host, path: path))
        }

        /// Ostiary's own: `http://127.0.0.1:PORT/PATH` of this machine. The port must be free while the session runs.
        ///
        /// - Parameter path: with percent encoding or without; a slash at the end counts.
        public static func loopback(port: UInt16, path: String) -> Callback {
            let path = path.removingPercentEncoding ?? path
            return Callback(kind: .loopback(port: port, path: path.hasPrefix("/") ? path : "/" + path))
        }

        /// Whether an address ends the session.
        public func matchesURL(_ url: URL) -> Bool {
            switch kind {
            case .scheme(let scheme): url.scheme?.lowercased() == scheme.lowercased()
            case .https(let host, let path):
                url.scheme?.lowercased() == "https" && url.host?.lowercased() == host.lowercased()
                    && ExpectedRequest.path(of: url) == path
            case .loopback(let port, let path):
                url.scheme?.lowercased() == "http" && url.host == "127.0.0.1" && url.port == Int(port)
                    && ExpectedRequest.path(of: url) == path
            }
        }

        /// The same, with the place on this machine that the page names for the scheme `http`.
        func resolved(for page: URL) -> Callback {
            guard case .scheme(let scheme) = kind, scheme.lowercased() == "http",
                let items = URLComponents(url: page, resolvingAgainstBaseURL: false)?.queryItems
            else { return self }
            let places = items.filter { $0.name == "redirect_uri" }.map { $0.value.flatMap(URL.init(string:)) }
            guard places.count == 1, let place = places[0], place.scheme?.lowercased() == "http",
                place.host == "127.0.0.1", let port = place.port.flatMap(UInt16.init(exactly:)), port > 0
            else { return self }
            return Callback(kind: .loopback(port: port, path: ExpectedRequest.path(of: place)))
        }
    }
}
