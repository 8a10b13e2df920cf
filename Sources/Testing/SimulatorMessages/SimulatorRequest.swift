/// An order of a test to the simulator. The shipped daemon knows none of these.
public enum SimulatorRequest: Codable, Equatable, Sendable {
    /// Adds to the script. With a reason, the actions are for the questions with this reason alone, which are not listed among
    /// the program's.
    case script([PersonAction], reason: String?)
    /// Forgets the actions that are left for the questions with this reason.
    case forgetScript(reason: String)
    /// Enrols a finger; an enrolled one is replaced by another finger under the same name.
    case enroll(SimulatedFinger)
    case delete(SimulatedFinger)
    case connectReader(Bool)
    /// Has a domain name the programs, by their application ids, that may use its credentials.
    case associate(domain: String, applications: [String])
    /// Moves the clock.
    case advance(Duration)
    /// Ends the daemon's part and starts it again on the same store.
    case restart
    case report
}

/// An answer of the simulator. The first one comes without a request.
public enum SimulatorAnswer: Codable, Equatable, Sendable {
    /// The daemon listens below this folder, which the simulator removes at its end.
    case ready(folder: String, version: Int)
    case done
    case report(SimulatorReport)
    /// It was not done, for this reason.
    case refused(String)

    /// The version of these messages.
    public static let version = 2
}

/// The events so far.
public struct SimulatorReport: Codable, Equatable, Sendable {
    /// The questions of programs, the oldest first. Only the last ``questionLimit`` are kept.
    public var questions: [SimulatedQuestion]
    /// The rest of the script.
    public var remaining: [PersonAction]

    public static let questionLimit = 200

    public init(questions: [SimulatedQuestion], remaining: [PersonAction]) {
        self.questions = questions
        self.remaining = remaining
    }
}

/// The folders of a simulator, below the one that it names.
public enum SimulatorFolders {
    public static func runtime(in folder: String) -> String { folder + "/run" }
    public static func state(in folder: String) -> String { folder + "/state" }
    public static func associations(in folder: String) -> String { folder + "/associations.d" }
}
