public import Foundation
public import Hummingbird

/// The context of a request that may come from somebody who is signed in.
public protocol SignInRequestContext: RequestContext {
    /// The account of who is signed in; ``SignInMiddleware`` sets it.
    var account: Data? { get set }
}

/// Finds out who is signed in, by the cookie of the browser. Whose page asked is for ``OriginMiddleware`` to tell.
///
/// ```swift
/// let router = Router(context: MyContext.self)
/// router.add(middleware: RefusalMiddleware())
/// router.add(middleware: OriginMiddleware(verifier: server.verifier))
/// router.add(middleware: SignInMiddleware(sessions: sessions, cookie: cookie))
/// router.group("private").add(middleware: SignInMiddleware(sessions: sessions, cookie: cookie, isRequired: true))
/// ```
public struct SignInMiddleware<Context: SignInRequestContext>: RouterMiddleware {
    private let sessions: any SignInSessionStore
    private let cookie: BrowserCookie
    private let isRequired: Bool
    private let clock: @Sendable () -> Date

    /// - Parameter isRequired: whether requests of nobody are refused with ``Refusal/signedOut``.
    public init(
        sessions: any SignInSessionStore, cookie: BrowserCookie, isRequired: Bool = false,
        clock: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.sessions = sessions
        self.cookie = cookie
        self.isRequired = isRequired
        self.clock = clock
    }

    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.account = nil
        if let token = cookie.value(in: request) {
            context.account = try await sessions.account(token, at: clock())
        }
        guard context.account != nil || !isRequired else { throw Refusal.signedOut }
        return try await next(request, context)
    }
}
