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
        return zip(rows, times).map { Figure(name: $0.name, $1.sorted()) }
    }

    private static func microseconds(_ call: () throws -> Void) rethrows -> Double {
        let duration = try ContinuousClock().measure(call)
        return duration / .microseconds(1)
    }
}

/// What the calls of a row took, in microseconds.
struct Figure: Codable {
    let name: String
    let median: Double
    /// The 99th percentile.
    let p99: Double

    /// - Parameter times: sorted, at least one.
    init(name: String, _ times: [Double]) {
        self.name = name
        median = times[times.count / 2]
        p99 = times[min(times.count * 99 / 100, times.count - 1)]
    }
}

struct Report {
    let figures: [Figure]

    /// At most this many times the bare loop's median.
    private static let limit = 1.25

    private func median(_ name: String) -> Double { figures.first { $0.name == name }?.median ?? .nan }
    private var ratio: Double { median("chip-signature") / median("chip-bare-signature") }

    var text: String {
        let rows = figures.map { figure in
            figure.name.padding(toLength: 30, withPad: " ", startingAt: 0)
                + String(format: "%10.1f %10.1f us", figure.median, figure.p99)
        }
        let verdict = ratio <= Self.limit ? "met" : "missed"
        let goal = String(format: "chip signature / bare loop: %.2f, at most %.2f: ", ratio, Self.limit) + verdict
        let head = "row".padding(toLength: 30, withPad: " ", startingAt: 0) + "    median        p99"
        return ([head] + rows + [goal]).joined(separator: "\n")
    }

    var json: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return try encoder.encode(figures)
        }
    }
}
