import HTTPTypes
public import Hummingbird
import Logging
import RelyingParty

/// Turns errors into answers that a person understands. No name of a type, and nothing of the server's inside, leaves it; errors
/// that are the server's own are written to the log.
public struct RefusalMiddleware<Context: RequestContext>: RouterMiddleware {
    private let answer: @Sendable (Request, Refusal) throws -> Response
    private let refusal: @Sendable (any Error) -> Refusal?

    /// - Parameters:
    ///   - refusal: the refusal for an error that only the site knows; nil for one that it does not know.
    ///   - answer: the answer to a request that is refused: JSON, if nothing else is given.
    public init(
        refusal: @escaping @Sendable (any Error) -> Refusal? = { _ in nil },
        answer: @escaping @Sendable (Request, Refusal) throws -> Response = { _, refusal in try refusal.json() }
    ) {
        self.refusal = refusal
        self.answer = answer
    }

    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch {
            let known = refusal(error) ?? Self.refusal(error)
            if known == nil { context.logger.error("a request failed", metadata: ["error": "\(error)"]) }
            return try answer(request, known ?? .failure)
        }
    }

    private static func refusal(_ error: any Error) -> Refusal? {
        switch error {
        case let error as Refusal: error
        case let error as CeremonyError: Refusal(error)
        case let error as CeremonyJSONError: Refusal(error)
        case let error as any HTTPResponseError: Refusal(error.status)
        default: nil
        }
    }
}
