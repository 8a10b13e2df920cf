import CommandFailures
package import DoorSupport
import UnixSocket

/// Why a helper could not do its work, besides what Ostiary answers. None repeats what was read.
extension DoorFailure {
    /// A line that is no line of the protocol.
    package static func malformedInput(_ defect: String) -> DoorFailure {
        DoorFailure(
            -160, FailureClass("malformedInput", .failed),
            "The input cannot be used: \(defect). Nothing was done. Helpers are started by git or docker.")
    }

    package static let inputTooLarge = DoorFailure(
        -161, FailureClass("inputTooLarge", .failed),
        "The input has more than \(CredentialLimits.inputByteCount) bytes, so nothing was done. Use a shorter password or token."
    )

    static func inputUnreadable(_ error: SystemCallError) -> DoorFailure {
        DoorFailure(
            -162, FailureClass("inputUnreadable", .failed),
            "Standard input cannot be read (\(error)). Helpers are started by git or docker.")
    }

    static func outputUnwritable(_ error: SystemCallError) -> DoorFailure {
        DoorFailure(
            -163, FailureClass("outputUnwritable", .failed),
            "The answer cannot be written (\(error)), so the program that asked did not get it. Try again.")
    }

    /// The command line is none.
    package static func usage(_ words: String) -> DoorFailure {
        DoorFailure(-164, FailureClass("usage", .usage), words)
    }
}

/// Every limit of the helpers, with its reason.
package enum CredentialLimits {
    /// Tokens of the largest services have some thousand bytes, and a daemon's request carries more.
    package static let inputByteCount = 64 * 1024
    /// A host or path of a URL. Longer ones fit into no question.
    package static let nameByteCount = 1024
}
