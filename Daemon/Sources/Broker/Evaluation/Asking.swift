import SecretMemory
import UnixSocket

/// On whose behalf a person is asked, and how.
struct Asking {
    let caller: CallerProcess
    let terminal: SharedDescriptor?
    let question: QuestionStyle
    let cancellation: RequestCancellation
    /// A password that the program gave the context beforehand.
    var applicationPassword: Credential?
}

/// Secret bytes in a class, so that values which are copied can hold them.
final class Credential: Sendable {
    let bytes: SecretBytes
    init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}
