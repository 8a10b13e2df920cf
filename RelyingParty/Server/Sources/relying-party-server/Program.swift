import ArgumentParser
import Foundation
import Hummingbird
import RelyingParty
import RelyingPartySQLite

/// A small site where people register passkeys and security keys, and sign in with them.
@main struct Program: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relying-party-server",
        abstract: "Serves a page where a browser registers passkeys and security keys and signs in with them.",
        discussion: "Exit codes: 0 ended by a signal, 1 failed, 64 usage.")

    @Option(help: "The port on this machine. Browsers accept WebAuthn without TLS on localhost only.")
    var port = 8080

    @Option(help: "The SQLite file of credentials; accounts lie beside it. Without it both end with the program.")
    var store: String?

    func validate() throws {
        guard (1...65535).contains(port) else { throw ValidationError("A port is a number from 1 to 65535.") }
    }

    func run() async throws {
        let origin = "http://localhost:\(port)"
        let credentials =
            try store.map { try SQLiteStore(path: $0) } ?? SQLiteStore(inMemoryWithMaximumChallengeCount: 200_000)
        let server = WebAuthnServer(
            verifier: WebAuthnVerifier(relyingPartyIdentifier: "localhost", origins: [origin]), name: "Example",
            challenges: credentials, credentials: credentials)
        let accounts = try Accounts(
            path: store.map { $0 + "-accounts" }, lifetime: TimeInterval(server.lifetime.components.seconds))
        let application = Application(
            router: Site(server: server, accounts: accounts).router,
            configuration: ApplicationConfiguration(address: .hostname("localhost", port: port)),
            onServerRunning: { _ in print("Open \(origin) in a browser. Ctrl-C ends the server.") })
        try await application.runService()
    }
}
