import BrokerTestSupport
import Glibc
import OstiaryWire
import Refusals
import UnixSocket

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
            connectedTo: connection, expectedUser: geteuid(), applications: account.applications)
        return Asking(
            caller: caller, terminal: nil, question: try QuestionStyle(.with { $0.reason = "test" }),
            cancellation: cancellation)
    }
}
