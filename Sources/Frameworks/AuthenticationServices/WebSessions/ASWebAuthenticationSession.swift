public import Foundation
import LoopbackCallback

/// Signs in at a web page in the person's browser (Apple's `ASWebAuthenticationSession`).
///
/// On Linux a page gets back to the program by a redirect to a port of this machine: register `http://127.0.0.1:PORT/PATH` with the
/// service, and name it with ``Callback/loopback(port:path:)``; or use the scheme `http`, and the address is taken from
/// `redirect_uri` of the page. The browser is opened with `xdg-open`.
///
/// A custom scheme and an `https` callback are refused: ``start()`` returns false, and the completion gets
/// ``ASWebAuthenticationSessionError/presentationContextInvalid`` with the reason. Nothing here could bring such an address to a
/// program that runs.
///
/// Connections of other users' programs are refused. If the page's address has a `state`, only a return with the same `state` ends the
/// session. Any program of the same user can still send one, so use PKCE (RFC 8252, section 8). Others see the page's address among
/// the arguments of the browser's processes: put no secret into it.
///
/// A session waits until the page returns or ``cancel()`` ends it, because no browser tells that its person has given up. Set a time
/// limit of your own.
open class ASWebAuthenticationSession: NSObject, @unchecked Sendable {
    // SAFETY: (@unchecked) `lock` guards every change. The completion is called once, on the main queue.

    public typealias CompletionHandler = (URL?, (any Error)?) -> Void

    private enum Stage { case new, running, ended }

    /// The page that is opened.
    private let url: URL
    private let callback: Callback
    private let browser: Browser
    private let lock = NSLock()
    private var completion: CompletionHandler?
    private var stage = Stage.new
    private var listener: CallbackListener?
    private weak var heldProvider: (any ASWebAuthenticationPresentationContextProviding)?
    private var isEphemeral = false
    private var headers: [String: String]?

    /// - Parameters:
    ///   - url: the page; `http` or `https`.
    ///   - callbackURLScheme: `http`, if the page's `redirect_uri` is one of 127.0.0.1 with a port; every other one is refused.
    ///   - completionHandler: called once, on the main queue, with the address that the page ended at, or an
    ///     ``ASWebAuthenticationSessionError``.
    public convenience init(
        url URL: URL, callbackURLScheme: String?, completionHandler: @escaping CompletionHandler
    ) {
        self.init(url: URL, callback: .customScheme(callbackURLScheme ?? ""), completionHandler: completionHandler)
    }

    public convenience init(url URL: URL, callback: Callback, completionHandler: @escaping CompletionHandler) {
        self.init(url: URL, callback: callback, browser: Browser(), completionHandler: completionHandler)
    }

    init(url: URL, callback: Callback, browser: Browser, completionHandler: @escaping CompletionHandler) {
        self.url = url
        self.callback = callback.resolved(for: url)
        self.browser = browser
        completion = completionHandler
    }

    /// Kept; the browser has a window of its own, so it is never asked.
    public var presentationContextProvider: (any ASWebAuthenticationPresentationContextProviding)? {
        get { lock.withLock { heldProvider } }
        set { lock.withLock { heldProvider = newValue } }
    }

    /// Kept without effect: the person's own browser is opened as it is.
    public var prefersEphemeralWebBrowserSession: Bool {
        get { lock.withLock { isEphemeral } }
        set { lock.withLock { isEphemeral = newValue } }
    }

    /// Header fields for the page. A browser that is opened with an address takes none, so a session with some is refused.
    public var additionalHeaderFields: [String: String]? {
        get { lock.withLock { headers } }
        set { lock.withLock { headers = newValue } }
    }

    /// Whether ``start()`` would try.
    public var canStart: Bool { lock.withLock { stage == .new && obstacle == nil } }

    /// Listens for the redirect and opens the browser. False if that is not possible; the completion then gets the reason. A session
    /// starts once.
    @discardableResult
    open func start() -> Bool {
        let (isNew, obstacle) = lock.withLock { () -> (Bool, String?) in
            guard stage == .new else { return (false, nil) }
            stage = .running
            return (true, self.obstacle)
        }
        guard isNew else { return false }
        guard obstacle == nil, case .loopback(let port, let path) = callback.kind else {
            end(.failure(.presentationContextInvalid, obstacle ?? ""))
            return false
        }
        do throws(CallbackListener.Failure) { try listen(on: port, path) } catch {
            let reason = NSError(domain: NSPOSIXErrorDomain, code: Int(error.code)).localizedDescription
            let what =
                error.step == "thread"
                ? "Nothing can wait for the page's return" : "Port \(port) of 127.0.0.1 cannot be used"
            end(.failure(.presentationContextInvalid, "\(what): \(reason)"))
            return false
        }
        browser.open(url) { [self] problem in
            if let problem { end(.failure(.presentationContextInvalid, problem)) }
        }
        return true
    }

    /// Ends the session; the completion gets ``ASWebAuthenticationSessionError/canceledLogin``. The page stays open. Without effect
    /// on one that has not started or has ended.
    open func cancel() {
        guard lock.withLock({ stage == .running }) else { return }
        end(.failure(.canceledLogin, "The program cancelled the sign-in."))
    }

    private func listen(on port: UInt16, _ path: String) throws(CallbackListener.Failure) {
        let listener = try CallbackListener(port: port)
        lock.withLock { self.listener = listener }
        try listener.wait(for: ExpectedRequest(path: path, from: url)) { [self] url in end(.success(url)) }
    }

    /// Why the session cannot start; nil if nothing is in its way.
    private var obstacle: String? {
        guard ["http", "https"].contains(url.scheme?.lowercased()), url.host?.isEmpty == false else {
            return "Only pages of http and https are opened."
        }
        guard headers?.isEmpty ?? true else { return "The browser takes no additional header fields." }
        guard case .loopback = callback.kind else {
            return "On Linux a page returns to the program by a redirect to http://127.0.0.1 with a port: "
                + "register such an address with the service and use Callback.loopback(port:path:)."
        }
        return nil
    }

    private enum Outcome {
        case success(URL)
        case failure(ASWebAuthenticationSessionError.Code, String)
    }

    /// Tells the completion, the first time.
    private func end(_ outcome: Outcome) {
        let (completion, listener) = lock.withLock { () -> (CompletionHandler?, CallbackListener?) in
            defer { (self.completion, self.listener, stage) = (nil, nil, .ended) }
            return (self.completion, self.listener)
        }
        listener?.stop()
        guard let completion else { return }
        nonisolated(unsafe) let handler = completion
        DispatchQueue.main.async {
            switch outcome {
            case .success(let url): unsafe handler(url, nil)
            case .failure(let code, let reason):
                unsafe handler(
                    nil, ASWebAuthenticationSessionError(code, userInfo: [NSLocalizedDescriptionKey: reason]))
            }
        }
    }
}

/// Names the window of a session (Apple's protocol of the same name). Nothing here needs one, so it is never asked.
@MainActor
public protocol ASWebAuthenticationPresentationContextProviding: NSObjectProtocol {
    func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor
}
