public import Cancellations
import Dispatch
import Synchronization

/// Serves one authenticator over reports. The owner of the reports hands in each one that came and calls ``tick()`` in between.
/// A thread of this server sends answers, too.
public final class HIDServer: Sendable {
    /// Answers one command. Blocks while the user is asked. What a command leaves for the next ones, such as the rest of a list,
    /// belongs to its channel.
    public typealias Responder = @Sendable (HIDRequest, Cancellation) -> [UInt8]

    /// How often to call ``tick()``. A client takes an authenticator that is silent for longer for dead.
    public static let interval = Duration.milliseconds(100)

    private struct State {
        var endpoint = HIDEndpoint()
        var cancellation: Cancellation?
    }

    private let state = Mutex(State())
    /// One command at a time. It may wait for a person.
    private let commands = DispatchQueue(label: "ostiary.ctaphid.commands")
    private let cancellations = DispatchQueue(label: "ostiary.ctaphid.cancellations")
    private let send: @Sendable ([[UInt8]]) -> Void
    private let respond: Responder
    private let needsUser: @Sendable () -> Bool

    /// - Parameters:
    ///   - send: sends reports, one after the other. It must not call back.
    ///   - needsUser: whether the running command waits for the user.
    public init(
        send: @escaping @Sendable ([[UInt8]]) -> Void, needsUser: @escaping @Sendable () -> Bool,
        respond: @escaping Responder
    ) {
        self.send = send
        self.needsUser = needsUser
        self.respond = respond
    }

    /// Takes a report of 64 bytes. Waits for nothing but the sending of an answer.
    public func receive(_ report: [UInt8]) {
        state.withLock { state in act(on: state.endpoint.receive(report, at: Self.now), &state) }
    }

    /// Says that a command still runs, and gives up a message that stays incomplete.
    public func tick() {
        let waits = needsUser()
        state.withLock { state in
            act(on: state.endpoint.expire(at: Self.now), &state)
            if let reports = state.endpoint.keepalive(needsUser: waits) { send(reports) }
        }
    }

    /// Ends the running command, and waits until it ended.
    public func stop() {
        state.withLock { $0.cancellation }?.cancel()
        commands.sync {}
    }

    private func act(on action: HIDEndpoint.Action?, _ state: inout State) {
        switch action {
        case nil: break
        case .send(let reports): send(reports)
        case .cancel: cancel(state)
        case .abort(let reports):
            cancel(state)
            send(reports)
        case .run(let request):
            let cancellation = Cancellation()
            state.cancellation = cancellation
            commands.async { [self] in
                let answer = respond(request, cancellation)
                self.state.withLock { send($0.endpoint.finish(request, with: answer)) }
            }
        }
    }

    /// Handlers of a cancellation may take locks of their own, so they run apart.
    private func cancel(_ state: State) {
        guard let cancellation = state.cancellation else { return }
        cancellations.async { cancellation.cancel() }
    }

    private static var now: Duration { .nanoseconds(Int64(clamping: DispatchTime.now().uptimeNanoseconds)) }
}
