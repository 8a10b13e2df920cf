package import Foundation

/// The request that ends a sign-in.
package struct ExpectedRequest: Sendable {
    package enum Verdict: Equatable, Sendable {
        /// The request, with its whole address.
        case expected(URL)
        /// A request of the path that does not bring the page's `state`: of another sign-in, or forged.
        case foreignState
        /// Any other request.
        case other
    }

    /// Without percent encoding; a slash at the end counts.
    private let path: String
    /// The values of `state` in the page's address; a request brings one of them. None if the page has no `state`.
    private let states: [[UInt8]]

    /// - Parameters:
    ///   - path: without percent encoding.
    ///   - page: the address that the browser opens.
    package init(path: String, from page: URL) {
        self.path = path
        states = Self.states(of: URLComponents(url: page, resolvingAgainstBaseURL: false))
    }

    /// The path of an address without percent encoding. Foundation's `URL.path` leaves out a slash at the end.
    package static func path(of url: URL) -> String {
        let path = URLComponents(url: url, resolvingAgainstBaseURL: false)?.path ?? ""
        return path.isEmpty ? "/" : path
    }

    /// - Parameters:
    ///   - target: of the request's first line (RFC 9112, section 3.2.1).
    ///   - port: of 127.0.0.1, where the request came to.
    package func verdict(on target: some StringProtocol, port: UInt16) -> Verdict {
        // Anything else before the path would belong to the host: `@other.example/`.
        guard target.hasPrefix("/"), let url = URL(string: "http://127.0.0.1:\(port)\(target)"),
            let components = URLComponents(url: url, resolvingAgainstBaseURL: false), components.host == "127.0.0.1",
            components.port == Int(port), components.user == nil, Self.path(of: url) == path
        else { return .other }
        guard !states.isEmpty else { return .expected(url) }
        let given = Self.states(of: components)
        return given.count == 1 && states.contains(given[0]) ? .expected(url) : .foreignState
    }

    /// The values of `state`. A plus sign and a blank are the same: some write a blank as `+`, and some write `+` as it is.
    private static func states(of components: URLComponents?) -> [[UInt8]] {
        (components?.queryItems ?? []).filter { $0.name == "state" }
            .map { ($0.value ?? "").utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 } }
    }
}
