import Foundation
import OstiaryMessages
import Testing

/// Programs that watch the environment of the real daemon in large numbers.
@Suite("Many watches", .serialized, .timeLimit(.minutes(10)))
struct WatchTests {
    private let daemon: DaemonProcess

    init() throws { daemon = try DaemonProcess(in: DaemonFolders()) }

    @Test func `sixty of one program are refused politely, and the daemon serves on`() throws {
        let known = try environment(of: daemon.client())
        var waiting: [(client: RawClient, id: UInt64)] = []
        for _ in 0..<60 {
            let client = try daemon.client()
            waiting.append((client, try client.send(.environment(.with { $0.known = known }))))
            // Not all at once: requests that are still being looked at are limited too.
            _ = try environment(of: client)
        }
        // One after the other is refused, until as many wait as may.
        while waiting.count > 32 {
            guard let index = waiting.firstIndex(where: { $0.client.hasAnswer(within: 1) }) else {
                // A refusal that came together with another answer is read with the next one.
                for (client, _) in waiting { _ = try environment(of: client) }
                continue
            }
            let (client, id) = waiting.remove(at: index)
            let answer = try client.answer(to: id)
            #expect(answer.refusal == .tooMany)
            // A refused one goes on, and may ask without waiting.
            #expect(try environment(of: client) == known)
        }
        #expect(try daemon.client().status().mode == .userForTests)
        for (client, _) in waiting { #expect(!client.hasAnswer(within: 0)) }
    }

    private func environment(of client: RawClient) throws -> WireEnvironment {
        guard case .environment(let state)? = try client.ask(.environment(.init())).body else {
            throw RawClient.UnexpectedAnswer()
        }
        return state
    }
}
