package import Callers
package import OwnerKeys
package import Refusals
package import SecretMemory
package import UnixSocket

/// On whose behalf a person is asked, and how.
package struct Asking {
    package let caller: CallerProcess
    package let terminal: SharedDescriptor?
    /// The door's label for its client; empty without a door.
    package let clientLabel: String
    package let question: QuestionStyle
    package let cancellation: RequestCancellation
    /// A password that the program gave the context beforehand.
    package var applicationPassword: Credential?

    /// The program that waits for turns, and the cancellation of its wait.
    package var requester: StretchRequester {
        StretchRequester(program: caller.program.ofOwner, cancellation: cancellation)
    }

    package init(
        caller: CallerProcess, terminal: SharedDescriptor?, clientLabel: String = "", question: QuestionStyle,
        cancellation: RequestCancellation, applicationPassword: Credential? = nil
    ) {
        self.caller = caller
        self.terminal = terminal
        self.clientLabel = clientLabel
        self.question = question
        self.cancellation = cancellation
        self.applicationPassword = applicationPassword
    }
}

/// Secret bytes in a class, so that values which are copied can hold them.
package final class Credential: Sendable {
    package let bytes: SecretBytes
    private let place: ProgramQuota.Place?

    /// - Parameter place: what is counted for it as long as it exists; nil for what a person typed.
    package init(_ bytes: consuming SecretBytes, at place: ProgramQuota.Place? = nil) {
        self.bytes = bytes
        self.place = place
    }
}
