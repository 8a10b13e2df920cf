/// How long fprintd may take.
struct ReaderLimits: Sendable {
    /// For an answer. Claiming opens the device, which takes real readers up to seconds; the bus may have to start
    /// fprintd.
    var answer: Duration = .seconds(10)
    /// For a permission to change fingers: polkit may ask the person for a password.
    var permission: Duration = .seconds(120)
    /// For forgetting a reader that was unplugged.
    var forgetting: Duration = .milliseconds(300)
    /// For stopping what was cancelled or failed, and again for releasing. An evaluation waits a second for a sensor
    /// that it stopped. When this is over the connection is closed, and fprintd then stops and releases by itself.
    var ending: Duration = .milliseconds(800)
}
