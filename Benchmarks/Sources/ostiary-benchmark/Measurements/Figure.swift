/// One row of the table: the median and the 99th percentile of what was sampled.
struct Figure: Codable, Equatable {
    enum Unit: String, Codable {
        case microseconds = "us"
        case milliseconds = "ms"
        case megabytes = "MB"
        case perSecond = "1/s"
        case count = ""

        /// Of a unit of time.
        var nanoseconds: Double { self == .milliseconds ? 1_000_000 : 1_000 }
    }

    let unit: Unit
    let median: Double
    /// Of a throughput the 1st percentile: always the bad end.
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

/// The rows by the names that tables and JSON give them.
typealias Figures = [FigureName: Figure]

/// Every row. What each of them is: Documentation/benchmarks.md.
enum FigureName: String, Codable, CaseIterable, CodingKeyRepresentable {
    case roundTrip = "socket-round-trip"
    case bareSignature = "bare-signature"
    case signingServer = "signing-process"
    case authorizedSignature = "authorized-signature"
    case asyncSignature = "authorized-signature-async"
    case keySignature = "enclave-key-signature"
    case agentSignature = "ssh-agent-signature"
    case roundTripManyRights = "socket-round-trip-many-rights"
    case bareSignatureManyRights = "bare-signature-many-rights"
    case authorizedSignatureManyRights = "authorized-signature-many-rights"
    case signatureManyClients = "authorized-signature-many-clients"
    case throughputOneClient = "throughput-one-client"
    case throughputManyClients = "throughput-many-clients"
    case roundTripItems = "socket-round-trip-items"
    case findItem = "find-item"
    case secretServiceFind = "secret-service-find"
    case roundTripManyItems = "socket-round-trip-many-items"
    case findItemManyItems = "find-item-many-items"
    case bareCommit = "bare-commit"
    case addItem = "add-item"
    case addRateFirst = "add-rate-first-tenth"
    case addRateLast = "add-rate-last-tenth"
    case coldStart = "cold-start"
    case coldStartAfterRun = "cold-start-after-run"
    case idleMemory = "idle-memory"
    case idleMemoryAfterRun = "idle-memory-after-run"
    case sheetVisible = "sheet-visible"
    case fingerMatchToReply = "finger-match-to-reply"
    case idleWakeups = "idle-wakeups"
}
