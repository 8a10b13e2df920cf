import CTAPHID
import SeededRandomness
import Testing

/// The state behind the frames: whose turn it is, and whose answer counts.
@Suite("The frames of a security key") struct HIDEndpointTests {
    private var endpoint = HIDEndpoint()

    private static func report(_ channel: UInt32, _ command: UInt8, _ count: Int, _ payload: [UInt8]) -> [UInt8] {
        let head = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: channel >> $0) }
        let bytes = head + [command | 0x80, UInt8(count >> 8), UInt8(count & 0xFF)] + payload
        return bytes + [UInt8](repeating: 0, count: HIDReport.byteCount - bytes.count)
    }

    private static let nonce: [UInt8] = Array(1...8)
    private static func initialization(_ channel: UInt32 = .max) -> [UInt8] { report(channel, 0x06, 8, nonce) }
    private static func command(_ channel: UInt32) -> [UInt8] { report(channel, 0x10, 1, [4]) }

    /// The first channels that are given.
    private mutating func open(_ count: Int) { for _ in 1...count { _ = receive(Self.initialization()) } }

    private mutating func receive(_ report: [UInt8], at now: Duration = .zero) -> HIDEndpoint.Action? {
        endpoint.receive(report, at: now)
    }

    private mutating func run(_ channel: UInt32) throws -> HIDRequest {
        guard case .run(let request)? = receive(Self.command(channel)) else { throw NotRun() }
        return request
    }

    private struct NotRun: Error {}

    private static func error(_ code: UInt8, _ channel: UInt32) -> HIDEndpoint.Action {
        .send([report(channel, 0x3F, 1, [code])])
    }

    @Test mutating func `an answer after a new beginning reaches nobody`() throws {
        open(1)
        let former = try run(1)
        guard case .abort? = receive(Self.initialization(1)) else {
            Issue.record("the command goes on")
            return
        }
        #expect(endpoint.finish(former, with: [0]).isEmpty)
        let next = try run(1)
        #expect(endpoint.finish(former, with: [0]).isEmpty)
        #expect(endpoint.finish(next, with: [0]) == [Self.report(1, 0x10, 1, [0])])
        #expect(endpoint.finish(next, with: [0]).isEmpty)
    }

    @Test mutating func `only its own client ends a command`() throws {
        open(2)
        _ = try run(1)
        #expect(receive(Self.report(2, 0x11, 0, [])) == nil)
        #expect(receive(Self.command(2)) == Self.error(0x06, 2))
        #expect(receive(Self.initialization(2)) == Self.error(0x06, 2))
        #expect(receive(Self.report(1, 0x11, 0, [])) == .cancel)
    }

    @Test mutating func `a channel that nobody was given is none`() {
        #expect(receive(Self.command(1)) == Self.error(0x0B, 1))
        open(1)
        for channel: UInt32 in [0, 2, .max] {
            #expect(receive(Self.command(channel)) == Self.error(0x0B, channel))
        }
        #expect(receive(Self.initialization(2)) == Self.error(0x0B, 2))
    }

    @Test mutating func `a message that stays incomplete is given up, and not sooner`() {
        open(1)
        #expect(receive(Self.report(1, 0x10, 100, [UInt8](repeating: 1, count: 57))) == nil)
        #expect(endpoint.expire(at: .milliseconds(500)) == nil)
        #expect(endpoint.expire(at: .milliseconds(501)) == Self.error(0x05, 1))
        #expect(endpoint.expire(at: .seconds(9)) == nil)
    }

    @Test mutating func `random reports are answered with whole reports, or not at all`() {
        var generator = SeededGenerator(seed: 1)
        open(3)
        for turn in 0..<20_000 {
            var report = (0..<HIDReport.byteCount).map { _ in UInt8.random(in: 0...255, using: &generator) }
            // Mostly a channel that exists, so that more than its number is looked at.
            if turn % 8 > 0 { report.replaceSubrange(0..<4, with: [0, 0, 0, UInt8(turn % 5)]) }
            let action = receive(report, at: .milliseconds(turn))
            if case .send(let reports)? = action { #expect(reports.allSatisfy { $0.count == HIDReport.byteCount }) }
            if case .run(let request)? = action {
                #expect(1...HIDReport.messageByteCount ~= request.bytes.count)
                if turn.isMultiple(of: 2) { _ = endpoint.finish(request, with: [0]) }
            }
            _ = endpoint.expire(at: .milliseconds(turn))
        }
    }
}
