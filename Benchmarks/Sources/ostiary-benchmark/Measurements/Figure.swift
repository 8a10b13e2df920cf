/// One row of the table: the median and the 99th percentile of the samples.
struct Figure: Codable, Equatable {
    enum Unit: String, Codable {
        case microseconds = "us"
        case milliseconds = "ms"
        case megabytes = "MB"
        case perSecond = "1/s"
        case count = ""

        /// For a unit of time.
        var nanoseconds: Double { self == .milliseconds ? 1_000_000 : 1_000 }
    }

    let unit: Unit
    let median: Double
    /// For a throughput it is the 1st percentile: always the bad end.
    let p99: Double
    let sampleCount: Int

    /// - Precondition: at least one sample.
    init(_ samples: [Double], unit: Unit) {
        precondition(!samples.isEmpty, "nothing was sampled")
        let sorted = unit == .perSecond ? samples.sorted(by: >) : samples.sorted()
        self.unit = unit
        median = Self.percentile(50, of: sorted)
        p99 = Self.percentile(99, of: sorted)
        sampleCount = samples.count
    }

    /// By nearest rank.
    private static func percentile(_ percent: Int, of sorted: [Double]) -> Double {
        sorted[max((sorted.count * percent + 99) / 100, 1) - 1]
    }
}
