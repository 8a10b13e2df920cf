public import Foundation
public import Hummingbird
import HTTPTypes
import RelyingParty

/// A cookie with random bytes, which only the browser that got it sends. No script of a page reads it.
///
/// No page of another site makes a browser send it. A page of another origin of the same site does, such as one at another port:
/// ``OriginMiddleware`` refuses the requests of such a page.
public struct BrowserCookie: Sendable {
    private let name: String
    private let isSecure: Bool
    private let lifetime: Int?

    /// - Parameters:
    ///   - name: letters and hyphens. With TLS the cookie is called `__Host-` and this, so that no other host sets it.
    ///   - isSecure: whether the site has TLS. Only a site on localhost may do without.
    ///   - lifetime: in seconds; nil for a cookie that ends with the browser.
    public init(name: String, isSecure: Bool = true, lifetime: Int? = nil) {
        self.name = isSecure ? "__Host-" + name : name
        self.isSecure = isSecure
        self.lifetime = lifetime
    }

    /// The value that the browser sends; nil for none, for several, and for one that is no base64url.
    ///
    /// The name counts byte by byte. Browsers let other hosts of the domain set a cookie whose name begins with a rare blank and
    /// goes on with `__Host-`; Hummingbird leaves such blanks out. Two cookies of one name come from two places, and nobody
    /// knows which of them this site set.
    public func value(in request: Request) -> Data? {
        let prefix = Array("\(name)=".utf8)
        let values = request.headers[values: .cookie].flatMap { $0.utf8.split(separator: UInt8(ascii: ";")) }
            .map { $0.drop { $0 == UInt8(ascii: " ") } }.filter { $0.starts(with: prefix) }
        guard values.count == 1, let text = values.first.flatMap({ String($0.dropFirst(prefix.count)) }) else {
            return nil
        }
        return Data(base64URLEncoded: text)
    }

    public func set(_ value: Data, in response: inout Response) {
        response.setCookie(cookie(value.base64URLEncoded, lifetime: lifetime))
    }

    public func remove(in response: inout Response) { response.setCookie(cookie("", lifetime: 0)) }

    private func cookie(_ value: String, lifetime: Int?) -> Cookie {
        Cookie(
            name: name, value: value, maxAge: lifetime, path: "/", secure: isSecure, httpOnly: true, sameSite: .strict)
    }

    /// A new value: 32 random bytes.
    public static func newValue() -> Data {
        var generator = SystemRandomNumberGenerator()
        return Data((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }
}
