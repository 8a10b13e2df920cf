import Synchronization

/// The turn of one device: all of a process's calls go to one daemon, so there is one device at a time.
final class DeviceTurn: Sendable {
    private static let isTaken = Mutex(false)
    private let isOver = Mutex(false)

    private init() {}

    /// How long the tests before may take together.
    private static let patience: Duration = .seconds(300)
    private static let pause: Duration = .milliseconds(10)

    /// Waits until no other device is in use. Tests that run in parallel take turns here.
    static func take() async throws -> DeviceTurn {
        let deadline = ContinuousClock.now.advanced(by: patience)
        while !tryToTake() {
            guard ContinuousClock.now < deadline else { throw SimulationError.occupied }
            try await Task.sleep(for: pause)
        }
        return DeviceTurn()
    }

    private static func tryToTake() -> Bool {
        isTaken.withLock { isTaken in
            defer { isTaken = true }
            return !isTaken
        }
    }

    deinit { end() }

    /// Lets the next device begin. Only the first call counts.
    func end() {
        let isFirst = isOver.withLock { isOver in
            defer { isOver = true }
            return !isOver
        }
        if isFirst { Self.isTaken.withLock { $0 = false } }
    }
}
