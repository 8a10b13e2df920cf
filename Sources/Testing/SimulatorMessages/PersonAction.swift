/// An action of the simulated person while a question is visible.
public enum PersonAction: Codable, Equatable, Sendable, CustomStringConvertible {
    /// Touches the reader; nil for a finger that nobody enrolled.
    case touches(SimulatedFinger?)
    /// Touches the security key.
    case touchesSecurityKey
    /// Types a passcode or a password, and confirms it.
    case enters(String)
    /// Agrees to a warning.
    case confirms
    case cancels
    /// Chooses the other way that the question offers.
    case choosesFallback
    /// Does nothing for this time on the simulated clock; nil waits until the question's time is over.
    case waits(Duration?)
    /// Pulls the reader's plug.
    case unplugsReader

    /// The action in words. The typed text is left out.
    public var description: String {
        switch self {
        case .touches(let finger?): "touches \(finger.rawValue)"
        case .touches(nil): "touches a finger that is not enrolled"
        case .touchesSecurityKey: "touches the security key"
        case .enters: "enters a text"
        case .confirms: "confirms"
        case .cancels: "cancels"
        case .choosesFallback: "chooses the fallback"
        case .waits(let duration?): "waits \(duration)"
        case .waits(nil): "waits until the time is over"
        case .unplugsReader: "unplugs the reader"
        }
    }
}
