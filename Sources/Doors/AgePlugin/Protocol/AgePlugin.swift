import CommandFailures
package import DoorSupport
import Glibc
import OstiaryClient
package import UnixSocket

/// The state machines that age starts a plugin for (C2SP age-plugin, "State machines").
package enum StateMachine: String, Sendable, CaseIterable {
    case encryption = "recipient-v1"
    case decryption = "identity-v1"
}

/// The plugin's side of a conversation with age.
package enum AgePlugin {
    /// Carries out one session. Blocks as long as age and the person take.
    ///
    /// Whatever keeps a file from being encrypted or decrypted is said to age, which shows it. This throws where no conversation is
    /// possible.
    package static func run(_ machine: StateMachine, on stream: some StanzaStream) throws(DoorFailure) {
        do {
            switch machine {
            case .encryption: try RecipientSession.run(stream, LateClientKeys())
            case .decryption: try IdentitySession.run(stream, ClientKeys())
            }
        } catch let error as ConversationError { throw broken(error.explanation) } catch let error as SystemCallError {
            throw broken("Standard input or output cannot be used: \(error).")
        } catch { throw DoorFailure(any: error) }
    }

    /// The name of a state machine that this version knows.
    package static func machine(named name: String) throws(DoorFailure) -> StateMachine {
        guard let machine = StateMachine(rawValue: name) else {
            throw DoorFailure(
                -180, FailureClass("ageStateMachine", .failed),
                "The program that started the plugin wants a protocol that this version does not know. Use `age`, or a newer "
                    + "Ostiary.")
        }
        return machine
    }

    private static func broken(_ explanation: String) -> DoorFailure {
        DoorFailure(
            -179, FailureClass("ageConversation", .failed),
            "\(explanation) Nothing more was done. `age` starts this program; its other uses are in `age-plugin-ostiary --help`."
        )
    }
}

/// Speaks to the daemon only where an identity cannot be encrypted to without it.
private struct LateClientKeys: RecipientSource {
    func recipient(of identity: AgeIdentity) throws -> AgeRecipient {
        guard identity.latticeKey != nil else { return AgeRecipient(identity.point) }
        return try ClientKeys().recipient(of: identity)
    }
}

/// Standard input and output.
package struct StandardStream: StanzaStream {
    package init() {}

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemCallError) -> Int {
        while true {
            let count = unsafe Glibc.read(STDIN_FILENO, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else { throw SystemCallError("read", subject: "standard input") }
        }
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemCallError) {
        var offset = 0
        while offset < bytes.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset...])
            let count = unsafe Glibc.write(STDOUT_FILENO, rest.baseAddress, rest.count)
            if count < 0 {
                guard errno == EINTR else { throw SystemCallError("write", subject: "standard output") }
                continue
            }
            offset += count
        }
    }
}
