import Glibc
import OstiaryMessages
import Owners
import ProcessFacts
import Refusals
import UnixSocket
import Vault

@testable import Authenticators
@testable import Broker
@testable import Callers

extension BrokerFixture {
    /// What a request that came over `connection` asks with.
    func asking(
        on connection: UnixSocket, _ cancellation: RequestCancellation = RequestCancellation()
    ) throws -> Asking {
        // The broker and the test are one process, so the other end of a connection is this program.
        let caller = try CallerProcess(
            connectedTo: connection, owner: account.id.ownerID,
            applications: account.applications, facts: KernelFacts())
        return Asking(
            caller: caller, terminal: nil, question: try QuestionStyle(.with { $0.reason = "test" }),
            cancellation: cancellation)
    }
}
