/// How long fprintd may take.
struct ReaderLimits: Sendable {
    /// The time for an answer. Claiming opens the device, which takes real readers up to seconds, and the bus may have
    /// to start fprintd.
    var answer: Duration = .seconds(10)
    /// The time for an answer about the state of the readers.
    var look: Duration = .seconds(4)
    /// The time for a permission to change fingers: polkit may ask the person for a password.
    var permission: Duration = .seconds(120)
    /// The time in which fprintd forgets an unplugged reader.
    var forgetting: Duration = .milliseconds(300)
    /// The time for stopping a cancelled or failed action, and again for releasing. An evaluation waits three seconds for a
    /// sensor that it stopped. After this time the connection is closed, and fprintd then stops and releases by itself.
    var ending: Duration = .milliseconds(800)

    /// The limits of a question about the reader's state.
    var looking: ReaderLimits {
        var limits = self
        limits.answer = min(answer, look)
        return limits
    }
}

/// When fprintd is asked again after USB devices came or went.
package enum ReaderChange {
    /// The time without another device. fprintd lists a new reader when its driver has opened it once, and forgets one that is gone
    /// a moment later.
    package static let rest: Duration = .seconds(1)
    /// The time after the first device, however many follow.
    package static let longest: Duration = .seconds(5)
}
