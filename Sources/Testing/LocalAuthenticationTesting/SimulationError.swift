public import SimulatorMessages

/// Why a simulated device cannot be used, or what was wrong with its script.
public enum SimulationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// `ostiary-simulator` is nowhere; the places where it was looked for.
    case simulatorNotFound([String])
    /// It did not start, in its own words.
    case notStarted(String)
    /// It was built from other sources than this library.
    case otherVersion
    /// It has ended, or the device was ended.
    case ended
    /// Another device was not ended in time. There is one at a time in a process.
    case occupied
    /// The simulator did not do what it was told, in its own words.
    case refused(String)
    /// No passcode is set, and the call needs one.
    case passcodeNotSet
    /// Questions that no script answered.
    case unscripted([SimulatedQuestion])
    /// The rest of a script that nobody asked for.
    case unused([PersonAction])

    public var description: String {
        switch self {
        case .simulatorNotFound(let paths):
            "ostiary-simulator was not found (looked for \(paths.joined(separator: ", "))). Build it in a clone of Ostiary: "
                + "script/swift-in Daemon build --product ostiary-simulator. Then set \(SimulatorProgram.variable) to "
                + "its path, .build/debug/ostiary-simulator in that clone, or pass the path to SimulatedDevice."
        case .notStarted(let words): "The simulator did not start. \(words)"
        case .otherVersion:
            "The simulator speaks another version than this library. Build both from the same sources."
        case .ended: "The simulated device has ended."
        case .occupied:
            "Another simulated device is in use in this process and was not ended. End it first: a process has one at a time."
        case .refused(let words): words
        case .passcodeNotSet: "The simulated device has no passcode; call setPasscode first."
        case .unscripted(let questions):
            "Nobody answered: \(questions.map(\.description).joined(separator: "; ")). Say before the call what the person "
                + "does, for example device.person.touches(.rightIndex)."
        case .unused(let actions):
            "Nobody asked for: \(actions.map(\.description).joined(separator: ", ")). Fewer questions came than the script "
                + "answers."
        }
    }
}
