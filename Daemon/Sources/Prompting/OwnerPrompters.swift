public import ProcessFacts
public import PromptProtocol
import Synchronization

/// A ``ProcessPrompter`` for each user, made at the first question to this user and forgotten with the user's account. So the display,
/// the buses and the held sheet of one user serve no question to another.
public final class OwnerPrompters: PlacingPrompter {
    public let hasTrustedPlace: Bool
    private let make: @Sendable (_ userID: UInt32) -> ProcessPrompter
    private let prompters = Mutex<[UInt32: ProcessPrompter]>([:])

    /// - Parameters:
    ///   - hasTrustedPlace: whether these prompters have one.
    ///   - make: makes the prompter of a user.
    public init(
        withTrustedPlace hasTrustedPlace: Bool = false,
        _ make: @escaping @Sendable (_ userID: UInt32) -> ProcessPrompter
    ) {
        (self.hasTrustedPlace, self.make) = (hasTrustedPlace, make)
    }

    /// The prompter that asks this user.
    public func prompter(of userID: UInt32) -> ProcessPrompter {
        prompters.withLock { prompters in
            if let made = prompters[userID] { return made }
            let new = make(userID)
            prompters[userID] = new
            return new
        }
    }

    public func place(
        _ question: PromptQuestion, for caller: PromptCaller
    ) -> Result<PlacedQuestion, PromptUnavailability> {
        prompter(of: caller.userID).place(question, for: caller)
    }

    public func placeRefusal(ofProcess processID: Int32, of userID: UInt32) -> PlaceRefusal? {
        prompter(of: userID).placeRefusal(ofProcess: processID, of: userID)
    }

    public func sensorRefusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal? {
        prompter(of: userID).sensorRefusal(ofProcess: processID, of: userID)
    }

    public func laterSensorRefusal(ofProcess processID: Int32, of userID: UInt32) -> () -> SensorRefusal? {
        prompter(of: userID).laterSensorRefusal(ofProcess: processID, of: userID)
    }

    public func forget(_ userID: UInt32) { prompters.withLock { $0[userID] = nil } }
}
