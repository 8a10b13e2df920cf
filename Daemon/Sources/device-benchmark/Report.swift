import Foundation

/// The durations of a row's calls, in microseconds.
struct Figure: Codable {
    let name: String
    let median: Double
    /// The 99th percentile.
    let p99: Double

    /// - Parameter times: at least one.
    init(_ name: String, _ times: [Double]) {
        let times = times.sorted()
        self.name = name
        median = times[times.count / 2]
        p99 = times[min(times.count * 99 / 100, times.count - 1)]
    }
}

struct Goal {
    let text: String

    init(_ name: String, _ value: Double, atMost limit: Double) {
        text = String(format: "\(name): %.2f, at most %.2f: ", value, limit) + (value <= limit ? "met" : "missed")
    }
}

struct Report {
    let figures: [Figure]
    let goals: [Goal]

    var text: String {
        let rows = figures.map { figure in
            figure.name.padding(toLength: 30, withPad: " ", startingAt: 0)
                + String(format: "%10.1f %10.1f us", figure.median, figure.p99)
        }
        let head = "row".padding(toLength: 30, withPad: " ", startingAt: 0) + "    median        p99"
        return ([head] + rows + goals.map(\.text)).joined(separator: "\n")
    }

    var json: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return try encoder.encode(figures)
        }
    }
}
