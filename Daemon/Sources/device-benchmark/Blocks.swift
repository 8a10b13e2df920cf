import Foundation

/// Measures rows in turn, block by block, so that a disturbance affects all of them.
struct Blocks {
    let count: Int
    /// Calls of a row in one block.
    let calls: Int

    typealias Row = (name: String, call: () throws -> Void)

    func measure(_ rows: [Row]) throws -> [Figure] {
        var times = [[Double]](repeating: [], count: rows.count)
        for block in 0...count {
            for (index, row) in rows.enumerated() {
                let measured = try (0..<calls).map { _ in try Self.microseconds(row.call) }
                if block > 0 { times[index] += measured }  // The first block warms up.
            }
        }
        return zip(rows, times).map { Figure($0.name, $1) }
    }

    private static func microseconds(_ call: () throws -> Void) rethrows -> Double {
        let duration = try ContinuousClock().measure(call)
        return duration / .microseconds(1)
    }
}
