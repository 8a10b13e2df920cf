import ArgumentParser
import Dispatch
import MessageBus
import SecretItems
import SecretService
import Synchronization

/// `ostiary-secrets serve`: what the bus starts.
struct Serve: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serve programs on the session's bus.",
        discussion: """
            The bus is that of DBUS_SESSION_BUS_ADDRESS, or else $XDG_RUNTIME_DIR/bus. Another program that has the name \
            org.freedesktop.secrets keeps it; then only the portal's secrets are served. The bus has to be a dbus-daemon or dbus-broker of \
            root's.

            It ends with the bus, or by SIGTERM, SIGINT or SIGHUP (0), and when its connection is lost while the bus goes on (1).
            """)

    @Flag(help: "Serve the portal's secrets alone, and leave org.freedesktop.secrets to the keyring that there is.")
    var portal = false

    func run() throws {
        // Only one thread runs until this has returned.
        let ended = Ending()
        SecretService.raiseDescriptorLimit()
        let service = SecretService { SecretsProgram.note($0) }
        do throws(StoreRefusal) { try SecretsProgram.whenEnded { service.close() } } catch {
            throw Self.failure(error.description)
        }
        do throws(ServiceStartFailure) {
            try service.start(on: .session, portalAlone: portal) { ended.give($0) }
        } catch { throw Self.failure(error.words) }
        SecretsProgram.settle()
        // The bus starts the next service when a program asks again.
        switch ended.take() {
        case .closed: return
        case .busEnded: SecretsProgram.note("The session's bus has ended, and the service with it.")
        case .lost(let words): throw Self.failure(words)
        }
    }

    /// The end of the service, which another thread tells.
    private final class Ending: Sendable {
        private let end = Mutex(ServiceEnd.closed)
        private let given = DispatchSemaphore(value: 0)

        func give(_ end: ServiceEnd) {
            self.end.withLock { $0 = end }
            given.signal()
        }

        func take() -> ServiceEnd {
            given.wait()
            return end.withLock { $0 }
        }
    }

    private static func failure(_ words: String) -> ExitCode { ExitCode(SecretsProgram.fail(words)) }
}
