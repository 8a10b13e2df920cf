import Foundation
import Glibc
public import PromptProtocol
import UnixSocket

/// Watches for the events that end a waiting prompt: the daemon, a signal, the clock.
public struct PromptWatch: ~Copyable {
    private let control: CInt
    private let signals: Descriptor
    private let timeLimit: Duration
    private var deadline: ContinuousClock.Instant

    init(control: CInt, signals: consuming Descriptor, timeLimit: Duration) {
        self.control = control
        self.signals = signals
        self.timeLimit = timeLimit
        deadline = .now.advanced(by: timeLimit)
    }

    /// How long the person may still take to answer.
    public var timeLeft: Duration { max(.zero, ContinuousClock.Instant.now.duration(to: deadline)) }

    /// The question is put again, with its whole time limit.
    public mutating func restart() { deadline = .now.advanced(by: timeLimit) }

    public enum Event: Equatable, Sendable {
        /// The daemon has another text for a sensor.
        case updated(PromptUpdate)
        /// The answer was wrong, and the daemon puts the question again.
        case again(PromptQuestion)
        /// Something can be read.
        case readable
        /// Nothing more will come: the terminal hung up, the dialog ended.
        case closed
        /// Nothing came within the time that was asked for.
        case quiet
        case timedOut
        /// The daemon closed the control channel, or a signal asks to end.
        case ended
    }

    /// Readable when there is something else than the descriptor of a ``wait(for:patience:)``.
    public var descriptors: [CInt] { [control, signals.number] }

    /// Waits until `descriptor` is readable or one of the other things happens; no longer than `patience`, if given. With a
    /// negative descriptor it waits for the other things only.
    public borrowing func wait(for descriptor: CInt, patience: Duration? = nil) -> Event {
        let patienceEnd = patience.map { ContinuousClock.Instant.now.advanced(by: $0) }
        while true {
            let end = min(deadline, patienceEnd ?? deadline)
            var polled = [
                pollfd(fd: control, events: Int16(POLLIN), revents: 0),
                pollfd(fd: signals.number, events: Int16(POLLIN), revents: 0),
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            ]
            let result = unsafe poll(&polled, nfds_t(polled.count), Self.milliseconds(until: end))
            if result < 0 {
                guard errno == EINTR else { return .ended }
                continue
            }
            if polled[1].revents != 0 { return .ended }
            if polled[0].revents != 0 {
                switch readControl() {
                case .message(.update(let update)): return .updated(update)
                case .message(.again(let question)): return .again(question)
                case .nothing: continue
                case .closed: return .ended
                }
            }
            if polled[2].revents & Int16(POLLIN) != 0 { return .readable }
            if polled[2].revents != 0 { return .closed }
            if ContinuousClock.Instant.now >= deadline { return .timedOut }
            if let patienceEnd, ContinuousClock.Instant.now >= patienceEnd { return .quiet }
        }
    }

    private enum Control { case message(PromptControl), nothing, closed }

    /// One message of the daemon. What cannot be read as one is passed over; an error ends the prompt, as the end of
    /// the channel does.
    private borrowing func readControl() -> Control {
        var bytes = [UInt8](repeating: 0, count: PromptControl.maximumByteCount)
        let count = unsafe recv(control, &bytes, bytes.count, CInt(MSG_DONTWAIT))
        if count < 0, errno == EINTR || errno == EAGAIN { return .nothing }
        guard count > 0 else { return .closed }
        guard let message = try? PromptControl(decoding: Data(bytes[..<count])) else { return .nothing }
        return .message(message)
    }

    /// Rounded up, so that a wait does not end just before its time; in steps of at most a minute.
    private static func milliseconds(until end: ContinuousClock.Instant) -> CInt {
        let left = ContinuousClock.Instant.now.duration(to: end)
        guard left > .zero else { return 0 }
        let (seconds, attoseconds) = left.components
        guard seconds < 60 else { return 60_000 }
        return CInt(seconds) * 1000 + CInt(attoseconds / 1_000_000_000_000_000) + 1
    }
}
