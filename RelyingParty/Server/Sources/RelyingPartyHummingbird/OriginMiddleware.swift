import HTTPTypes
public import Hummingbird
public import RelyingParty

/// Refuses requests that a page of another origin makes a browser send.
///
/// `SameSite=Strict` keeps the pages of other sites away, and no more. A page at another port, or under another name of the same
/// domain, belongs to the same site: its requests bring the cookie along. A request whose content is plain text is sent
/// without a question to this site. So each method but GET, HEAD and OPTIONS needs one of these:
///
/// - `Origin` is one of ``WebAuthnVerifier/origins``, byte by byte. Browsers send it with each such method, and no page can
///   change it.
/// - There is no `Origin`, and `Sec-Fetch-Site` is `same-origin` or `none`, which says that the person asked, and no page.
/// - There is neither of them and no cookie, as programs that are no browsers ask. Without a cookie nobody is signed in, so a
///   page gains nothing by such a request. With a cookie it may come from a browser so old that it says nothing of the page
///   that asked: it is refused.
///
/// ```swift
/// router.add(middleware: RefusalMiddleware())
/// router.add(middleware: OriginMiddleware(verifier: server.verifier))
/// router.add(middleware: SignInMiddleware(sessions: sessions, cookie: cookie))
/// ```
///
/// A GET must not change anything. A WebSocket begins with a GET and needs a check of its own. Browsers send certificates of TLS and
/// passwords of HTTP by themselves, as they send cookies, and nothing here looks for those. A page with the referrer policy
/// `no-referrer` sends its forms with the origin `null`, which is refused.
public struct OriginMiddleware<Context: RequestContext>: RouterMiddleware {
    private let verifier: WebAuthnVerifier

    /// - Parameter verifier: the one that sign-ins are verified with. Its origins are those of the site's pages.
    public init(verifier: WebAuthnVerifier) { self.verifier = verifier }

    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard Self.changesNothing(request.method) || isOfThisSite(request.headers) else { throw Refusal.foreignOrigin }
        return try await next(request, context)
    }

    private static func changesNothing(_ method: HTTPRequest.Method) -> Bool {
        [.get, .head, .options].contains(method)
    }

    private func isOfThisSite(_ headers: HTTPFields) -> Bool {
        // Two headers of one name become one value with a comma, which is no origin.
        if let origin = headers[.origin] { return verifier.allows(origin: origin) }
        guard let fetchSite = HTTPField.Name("Sec-Fetch-Site") else { return false }
        if let site = headers[fetchSite] { return site == "same-origin" || site == "none" }
        return headers[.cookie] == nil
    }
}
