import CommandFailures
package import DoorSupport

/// The failures of the agent: numbers from -165 to -174.
package enum AgentFailure {
    static let messageLength = -165
    static let protocolClass = FailureClass("agentProtocol", .failed)

    /// The arguments of the program do not go together.
    package static func usage(_ explanation: String) -> DoorFailure {
        DoorFailure(-166, FailureClass("usage", .usage), explanation)
    }

    /// There is no agent to end, or it cannot be ended.
    package static func noAgent(_ explanation: String) -> DoorFailure {
        DoorFailure(-167, FailureClass("agentMissing", .failed), explanation)
    }

    /// The socket, or the process that serves it, cannot be made.
    package static func notStarted(_ explanation: String) -> DoorFailure {
        DoorFailure(-168, FailureClass("agentNotStarted", .failed), explanation)
    }
}
