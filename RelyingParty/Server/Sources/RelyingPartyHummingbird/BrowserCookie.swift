public import Foundation
public import Hummingbird
import RelyingParty

/// A cookie with random bytes, which only the browser that got it sends. No script of a page reads it, and no other site's page
/// makes a browser send it.
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

    /// The value that the browser sends; nil for none, and for one that is no base64url.
    public func value(in request: Request) -> Data? {
        request.cookies[name].flatMap { Data(base64URLEncoded: $0.value) }
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
