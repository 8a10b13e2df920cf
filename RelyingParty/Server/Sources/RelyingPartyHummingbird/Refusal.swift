import Foundation
public import HTTPTypes
public import Hummingbird
import NIOCore
public import RelyingParty

/// An answer that says no, in words for the person and with a name for programs.
public struct Refusal: Error, Sendable, Equatable {
    public let status: HTTPResponse.Status
    /// Such as `challenge-not-open`.
    public let code: String
    /// What happened and what to do.
    public let message: String

    public init(_ status: HTTPResponse.Status, code: String, message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    public static let signedOut = Self(
        .unauthorized, code: "signed-out", message: "Nobody is signed in. Sign in first.")
    public static let foreignOrigin = Self(
        .forbidden, code: "foreign-origin",
        message: "Another page asked for this. Open this site's page, and try there.")
    static let failure = Self(
        .internalServerError, code: "failure", message: "This site made an error. Try again in some minutes.")

    public init(_ error: CeremonyError) { self.init(.forbidden, code: error.code, message: error.explanation) }

    public init(_ error: CeremonyJSONError) { self.init(.badRequest, code: error.code, message: error.explanation) }

    /// A refusal that knows a status only. The words of other errors are for programmers.
    init(_ status: HTTPResponse.Status) {
        switch status {
        case .notFound: self.init(status, code: "not-found", message: "There is no such page.")
        case .contentTooLarge:
            self.init(status, code: "too-large", message: "What the browser sent is too large for this site.")
        case let status where status.kind == .clientError:
            self.init(status, code: "not-understood", message: "This site does not understand what the browser sent.")
        default: self = .failure
        }
    }

    private struct Content: Encodable {
        struct Details: Encodable {
            let code, message: String
        }

        let error: Details
    }

    /// The refusal as JSON: `{"error":{"code":"…","message":"…"}}`.
    public func json() throws -> Response {
        let content = Content(error: .init(code: code, message: message))
        return Response(
            status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(content))))
    }
}
