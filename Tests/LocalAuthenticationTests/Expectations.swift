import Foundation
import LocalAuthentication
import Testing

/// The error that `operation` throws, nil when it throws none.
func thrownError(_ operation: () async throws -> Void) async -> (any Error)? {
    do {
        try await operation()
        return nil
    } catch { return error }
}

/// Expects an error of `NSOSStatusErrorDomain`.
func expectStatus(
    _ status: OSStatus, _ error: (any Error)?, sourceLocation: SourceLocation = #_sourceLocation
) {
    guard let error else {
        Issue.record("nothing was thrown", sourceLocation: sourceLocation)
        return
    }
    let found = error as NSError
    #expect(found.domain == NSOSStatusErrorDomain, sourceLocation: sourceLocation)
    #expect(found.code == Int(status), sourceLocation: sourceLocation)
}

/// Expects an ``LAError`` with a code and, if given, a cause.
func expectAuthenticationError(
    _ code: LAError.Code, cause: String? = nil, _ error: (any Error)?, sourceLocation: SourceLocation = #_sourceLocation
) {
    guard let found = error as? LAError else {
        Issue.record("not an LAError: \(String(describing: error))", sourceLocation: sourceLocation)
        return
    }
    #expect(found.code == code, sourceLocation: sourceLocation)
    if let cause { #expect(found.cause == cause, sourceLocation: sourceLocation) }
}
