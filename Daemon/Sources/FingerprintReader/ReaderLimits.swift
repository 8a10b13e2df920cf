/// How long fprintd may take.
struct ReaderLimits: Sendable {
    /// For an answer. Claiming opens the device, which takes real readers up to seconds; the bus may have to start fprintd.
    var answer: Duration = .seconds(10)
    /// For stopping and releasing together. The evaluation waits a second for a sensor that it stopped. When this is over the
    /// connection is closed, and fprintd then stops and releases by itself.
    var ending: Duration = .milliseconds(800)
}
