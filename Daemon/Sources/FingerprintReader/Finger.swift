/// A finger, by fprintd's name for it.
public enum Finger: String, CaseIterable, Sendable {
    case leftThumb = "left-thumb"
    case leftIndex = "left-index-finger"
    case leftMiddle = "left-middle-finger"
    case leftRing = "left-ring-finger"
    case leftLittle = "left-little-finger"
    case rightThumb = "right-thumb"
    case rightIndex = "right-index-finger"
    case rightMiddle = "right-middle-finger"
    case rightRing = "right-ring-finger"
    case rightLittle = "right-little-finger"

    /// The name for people, for example `right index finger`.
    public var title: String { rawValue.replacing("-", with: " ") }
}
