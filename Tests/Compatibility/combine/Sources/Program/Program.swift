import Foundation
import GRDB
import Names
import Yams

// What these packages do where they found Combine, and what they did before.

/// A value that a database publishes.
func published() throws -> Int? {
    let queue = try DatabaseQueue()
    var (value, ended): (Int?, Bool) = (nil, false)
    let subscription = queue.readPublisher { try Int.fetchOne($0, sql: "SELECT 7") }
        .receive(on: ImmediateScheduler.shared)
        .sink(receiveCompletion: { _ in ended = true }, receiveValue: { value = $0 })
    let deadline = Date(timeIntervalSinceNow: 30)
    while !ended, Date() < deadline { RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.01)) }
    withExtendedLifetime(subscription) {}
    return value
}

/// Yams makes its decoder one of Combine's.
func decoded() throws -> [String]? {
    var list: [String]?
    let subscription = Just(Data("- a".utf8)).decode(type: [String].self, decoder: YAMLDecoder())
        .sink(receiveCompletion: { _ in }, receiveValue: { list = $0 })
    withExtendedLifetime(subscription) {}
    return list
}

@main struct Program {
    /// GRDB or Yams does not publish.
    private struct Silent: Error {}

    static func main() throws {
        guard try published() == 7, try decoded() == ["a"] else { throw Silent() }
        print("beside Combine: as before")
    }
}
