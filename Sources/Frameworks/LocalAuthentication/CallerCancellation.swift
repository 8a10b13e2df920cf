import Cancellations

/// Carries the cancellation of a task from an async form to the completion form that it calls.
///
/// The async forms of classes that can be subclassed call the completion form, as the ones that Swift imports from
/// Objective-C do, so that a subclass which overrides the completion form changes both. Apple fixes the parameters of the
/// completion form, and a program's override may stand in between: no argument gets through, so a task-local value takes it.
final class CallerCancellation: Sendable {
    /// The cancellation of the async form that is calling, nil when a completion form was called directly.
    @TaskLocal static var current: CallerCancellation?

    private let task = Cancellation()

    /// Names what happens on cancellation; happens at once when the task is cancelled already.
    func onCancel(_ handler: @escaping @Sendable () -> Void) { task.whenCancelled(handler) }

    /// Calls a completion form and waits for it.
    nonisolated(nonsending) static func forwarding<Value: Sendable>(
        _ completionForm: (CheckedContinuation<Value, any Error>) -> Void
    ) async throws -> Value {
        let cancellation = CallerCancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                $current.withValue(cancellation) { completionForm(continuation) }
            }
        } onCancel: {
            cancellation.task.cancel()
        }
    }
}

extension CheckedContinuation where T == Void, E == any Error {
    /// Ends the wait as a completion with an optional error says.
    func resume(_ error: (any Error)?) {
        if let error { resume(throwing: error) } else { resume() }
    }
}
