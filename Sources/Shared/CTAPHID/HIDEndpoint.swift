/// The state of the HID side of an authenticator: which channel is heard, and what came of its message. Pure.
public struct HIDEndpoint: Sendable {
    /// What to do after a report.
    public enum Action: Sendable, Equatable {
        case send([[UInt8]])
        /// Run a command of CTAP and ``finish(_:with:)``.
        case run(HIDRequest)
        /// End the running command. It answers by itself.
        case cancel
        /// End the running command, whose answer nobody waits for, and send.
        case abort([[UInt8]])
    }

    private enum State: Sendable {
        case idle
        case receiving(Message)
        case running(HIDRequest)
    }

    private struct Message: Sendable {
        let channel: UInt32
        let command: HIDReport.Command
        let count: Int
        var bytes: [UInt8]
        var nextSequence: UInt8 = 0
        var lastReport: Duration
    }

    /// Between two reports of one message.
    private static let patience = Duration.milliseconds(500)
    /// CBOR, but no messages of U2F.
    private static let capabilities: UInt8 = 0x04 | 0x08
    private static let protocolVersion: UInt8 = 2

    private var state = State.idle
    /// Channels are counted; a number up to this one was given.
    private var lastChannel: UInt32 = 0
    private var runCount: UInt64 = 0

    public init() {}

    /// Takes one report.
    ///
    /// - Parameter now: the time since any fixed moment.
    public mutating func receive(_ report: [UInt8], at now: Duration) -> Action? {
        guard report.count == HIDReport.byteCount else { return nil }
        let channel = HIDReport.channel(of: report)
        switch HIDReport.incoming(report) {
        case .first(let command, let count, let payload):
            return begin(channel, command, count, payload, at: now)
        case .next(let sequence, let payload): return proceed(channel, sequence, payload, at: now)
        }
    }

    /// Gives up a message whose next report does not come.
    public mutating func expire(at now: Duration) -> Action? {
        guard case .receiving(let message) = state, now - message.lastReport > Self.patience else { return nil }
        state = .idle
        return error(.timeout, message.channel)
    }

    /// The reports of an answer; none if the command was aborted since.
    public mutating func finish(_ request: HIDRequest, with answer: [UInt8]) -> [[UInt8]] {
        guard case .running(let running) = state, running == request else { return [] }
        state = .idle
        return HIDReport.reports(request.channel, .cbor, answer)
    }

    /// What says that a command still runs; nil if none does.
    ///
    /// - Parameter needsUser: whether it waits for the user.
    public func keepalive(needsUser: Bool) -> [[UInt8]]? {
        guard case .running(let request) = state else { return nil }
        return HIDReport.reports(request.channel, .keepalive, [needsUser ? 2 : 1])
    }

    private mutating func begin(
        _ channel: UInt32, _ number: UInt8, _ count: Int, _ payload: ArraySlice<UInt8>, at now: Duration
    ) -> Action? {
        let command = HIDReport.Command(rawValue: number)
        if command == .initialize { return initialize(channel, count, payload) }
        guard 1...max(lastChannel, 1) ~= channel, lastChannel > 0 else { return error(.invalidChannel, channel) }
        switch state {
        case .receiving(let message):
            guard message.channel == channel else { return error(.channelBusy, channel) }
            state = .idle
            return error(.invalidSequence, channel)
        case .running(let request):
            if command == .cancel { return request.channel == channel ? .cancel : nil }
            return error(.channelBusy, channel)
        case .idle:
            if command == .cancel { return nil }
            return accept(channel, command, count, payload, at: now)
        }
    }

    private mutating func accept(
        _ channel: UInt32, _ command: HIDReport.Command?, _ count: Int, _ payload: ArraySlice<UInt8>, at now: Duration
    ) -> Action? {
        guard let command, command == .ping || command == .cbor else { return error(.invalidCommand, channel) }
        guard count <= HIDReport.messageByteCount, command == .ping || count > 0 else {
            return error(.invalidLength, channel)
        }
        let message = Message(
            channel: channel, command: command, count: count, bytes: Array(payload.prefix(count)), lastReport: now)
        return complete(message)
    }

    private mutating func proceed(
        _ channel: UInt32, _ sequence: UInt8, _ payload: ArraySlice<UInt8>, at now: Duration
    ) -> Action? {
        // Reports of a message that was refused are not answered one by one.
        guard case .receiving(var message) = state, message.channel == channel else { return nil }
        guard sequence == message.nextSequence else {
            state = .idle
            return error(.invalidSequence, channel)
        }
        message.bytes += payload.prefix(message.count - message.bytes.count)
        message.nextSequence += 1
        message.lastReport = now
        return complete(message)
    }

    /// Acts on a message that is there as a whole.
    private mutating func complete(_ message: Message) -> Action? {
        guard message.bytes.count == message.count else {
            state = .receiving(message)
            return nil
        }
        guard message.command == .cbor else {
            state = .idle
            return .send(HIDReport.reports(message.channel, .ping, message.bytes))
        }
        runCount += 1
        let request = HIDRequest(channel: message.channel, number: runCount, bytes: message.bytes)
        state = .running(request)
        return .run(request)
    }

    private mutating func initialize(_ channel: UInt32, _ count: Int, _ nonce: ArraySlice<UInt8>) -> Action? {
        guard count == 8 else { return error(.invalidLength, channel) }
        if channel == HIDReport.broadcastChannel {
            guard lastChannel < HIDReport.broadcastChannel - 1 else { return error(.channelBusy, channel) }
            lastChannel += 1
            return .send(initialization(on: channel, nonce, given: lastChannel))
        }
        guard channel > 0, channel <= lastChannel else { return error(.invalidChannel, channel) }
        let reports = initialization(on: channel, nonce, given: channel)
        switch state {
        case .running(let request) where request.channel == channel:
            state = .idle
            return .abort(reports)
        case .receiving(let message) where message.channel == channel:
            state = .idle
            return .send(reports)
        case .running, .receiving: return error(.channelBusy, channel)
        case .idle: return .send(reports)
        }
    }

    private func initialization(
        on channel: UInt32, _ nonce: ArraySlice<UInt8>, given: UInt32
    ) -> [[UInt8]] {
        let address = (0..<4).map { UInt8(truncatingIfNeeded: given >> (24 - $0 * 8)) }
        let version: [UInt8] = [Self.protocolVersion, 0, 1, 0, Self.capabilities]
        return HIDReport.reports(channel, .initialize, nonce.prefix(8) + address + version)
    }

    private func error(_ code: HIDReport.ErrorCode, _ channel: UInt32) -> Action {
        .send(HIDReport.reports(channel, .error, [code.rawValue]))
    }
}

/// A command that came in whole.
public struct HIDRequest: Sendable, Equatable {
    /// Of one client of the device.
    public let channel: UInt32
    /// Tells it from other commands of the channel.
    let number: UInt64
    public let bytes: [UInt8]
}
