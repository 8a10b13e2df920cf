public import SimulatorMessages

/// The person at a simulated device, who does what a test says, in this order, when the next questions come.
///
/// ```swift
/// device.person.touchesUnknownFinger().touches(.rightIndex)   // one miss, then a match
/// ```
///
/// The actions are a list for all questions to come. A question takes actions from it until it has ended: a wrong finger leaves it
/// open, so the next action is done at the same question; a wrong passcode ends it, and the next question takes the next
/// action. A question that finds the list empty, or an action that does not fit, ends at once: the program's call fails with
/// `LAError.notInteractive`, the simulator names the question on standard error, and ``SimulatedDevice/end()`` throws.
///
/// The calls block for a message to the simulator. They do not throw; a simulator that has ended makes the program's calls fail.
public struct SimulatedPerson: Sendable {
    let simulator: SimulatorProcess

    /// Touches the reader; with a finger that is not enrolled this is a failed try.
    @discardableResult
    public func touches(_ finger: SimulatedFinger, times: Int = 1) -> SimulatedPerson {
        does(Array(repeating: .touches(finger), count: times))
    }

    /// Touches the reader with a finger that nobody enrolled.
    @discardableResult
    public func touchesUnknownFinger(times: Int = 1) -> SimulatedPerson {
        does(Array(repeating: .touches(nil), count: times))
    }

    /// Touches the security key, when it waits.
    @discardableResult
    public func touchesSecurityKey() -> SimulatedPerson { does([.touchesSecurityKey]) }

    /// Types a passcode or an application password, the right one or a wrong one.
    @discardableResult
    public func enters(_ text: String) -> SimulatedPerson { does([.enters(text)]) }

    /// Agrees to a warning.
    @discardableResult
    public func confirms() -> SimulatedPerson { does([.confirms]) }

    /// Cancels the question.
    @discardableResult
    public func cancels() -> SimulatedPerson { does([.cancels]) }

    /// Chooses the fallback of the question (`localizedFallbackTitle`).
    @discardableResult
    public func choosesFallback() -> SimulatedPerson { does([.choosesFallback]) }

    /// Does nothing for this time; nil waits until the question's time is over. The simulated clock moves, and the test does
    /// not wait.
    @discardableResult
    public func waits(_ duration: Duration? = nil) -> SimulatedPerson { does([.waits(duration)]) }

    /// Pulls the reader's plug while the question is visible.
    @discardableResult
    public func unplugsReader() -> SimulatedPerson { does([.unplugsReader]) }

    private func does(_ actions: [PersonAction]) -> SimulatedPerson {
        // Without a simulator no question comes that would need the actions.
        try? simulator.tell(.script(actions, reason: nil))
        return self
    }
}
