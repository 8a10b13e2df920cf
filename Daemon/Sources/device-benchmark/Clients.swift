import Foundation
import StoreTestSupport

/// Threads that use the chip at the same time. Each asks again as soon as it has its answer.
struct Clients {
    static let count = 32

    let figure: Figure
    /// The mean of all waits, in microseconds.
    let mean: Double
    /// The mean wait of the client that waited longest.
    let slowest: Double

    /// - Parameter calls: of each client. The first ones, while not all clients are there, and the last ones do not count.
    static func measure(each calls: Int, _ call: @escaping @Sendable () throws -> Void) throws -> Clients {
        let waits = try concurrently(count) { _ in
            try (0..<calls).map { _ in try ContinuousClock().measure(call) / .microseconds(1) }
        }.map { try $0.get().dropFirst(calls / 10).dropLast(calls / 10) }
        let means = waits.map { $0.reduce(0, +) / Double($0.count) }
        return Clients(
            figure: Figure("chip-signature-of-\(count)", waits.flatMap { $0 }),
            mean: means.reduce(0, +) / Double(count), slowest: means.max() ?? .infinity)
    }
}
