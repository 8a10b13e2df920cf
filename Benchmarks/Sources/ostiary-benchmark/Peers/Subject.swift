import AccessControl
import ArgumentParser
import Crypto
import Foundation
import OstiaryClient
import OstiaryMessages

/// The process that is measured: the client of everything, with a controlling terminal on which the daemon can ask.
struct Subject: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "subject", shouldDisplay: false)

    @Option var terminal: String
    /// Of the daemon with the rights.
    @Option var folder: String
    /// Of a daemon whose store lies in memory: a hundred thousand items are then stored in a minute.
    @Option var itemsFolder: String
    /// Of a daemon whose store lies on the disk, for adding items.
    @Option var addingFolder: String
    @Option var echoSocket: String
    @Option var signingSocket: String
    @Option var agentSocket: String
    @Option var agentKey: String
    @Flag var quick = false

    private static let digest = SHA256.hash(data: Data("what is signed over and over".utf8))

    /// Writes the figures to standard output as JSON.
    func run() async throws {
        try ControllingTerminal.take(terminal)
        let client = newClient()
        try client.passcode(.set, interaction: Interaction(reason: "measure signatures"))
        let right = try client.createRight(AuthorizedKey.rightName, accessControl: try Self.accessControl())
        let key = try AuthorizedKey(right, on: client, digest: Self.digest)
        try key.verify(Self.digest)

        var figures = try await measureSingle(key)
        figures.merge(try await measureAdding()) { $1 }
        try storeRights(on: client)
        figures.merge(try await measureManyRights(key)) { $1 }
        figures.merge(try measureManyClients(right, alone: key)) { $1 }
        figures.merge(try await measureFinding()) { $1 }
        FileHandle.standardOutput.write(try JSONEncoder().encode(figures))
    }

    var plan: Plan { quick ? .quick : .full }

    private func newClient() -> OstiaryClient { DaemonFolders(path: folder).newClient() }

    private static func accessControl() throws -> AccessControl {
        AccessControl(availability: .whenUnlocked, using: try Requirement(Rule(parsing: "passcode")))
    }

    // MARK: stages

    private func measureSingle(_ key: AuthorizedKey) async throws -> Figures {
        let floor = try EchoClient(connectingTo: echoSocket)
        let server = try EchoClient(connectingTo: signingSocket)
        let bare = P256.Signing.PrivateKey()
        DaemonFolders(path: folder).useForKeychain()
        let enclaveKey = try await EnclaveKey(digest: Self.digest)
        let agent = try AgentClient(
            connectingTo: agentSocket, publicKeyPath: agentKey, message: Data(Self.digest))
        try agent.sign()
        try agent.verifyLast()
        return try await Blocks(plan: plan).measure([
            Row(.roundTrip) { try floor.roundTrip() },
            Row(.bareSignature) { _ = try bare.signature(for: Self.digest).derRepresentation },
            Row(.signingServer) { try server.roundTrip() },
            Row(.authorizedSignature) { try key.sign() },
            Row(suspending: .asyncSignature) { try await key.signAsync() },
            Row(.keySignature) { try enclaveKey.sign() },
            Row(.agentSignature) { try agent.sign() },
        ])
    }

    private func storeRights(on client: OstiaryClient) throws {
        let accessControl = try Self.accessControl()
        for number in 1..<plan.storedRights {
            _ = try client.createRight("right \(number)", accessControl: accessControl)
        }
    }

    private func measureManyRights(_ key: AuthorizedKey) async throws -> Figures {
        let floor = try EchoClient(connectingTo: echoSocket)
        let bare = P256.Signing.PrivateKey()
        return try await Blocks(plan: plan).measure([
            Row(.roundTripManyRights) { try floor.roundTrip() },
            Row(.bareSignatureManyRights) { _ = try bare.signature(for: Self.digest).derRepresentation },
            Row(.authorizedSignatureManyRights) { try key.sign() },
        ])
    }

    /// As many signatures by one client as by all together, in turn.
    private func measureManyClients(_ right: StoredRight, alone: AuthorizedKey) throws -> Figures {
        let keys = try (0..<plan.clients).map { _ in try AuthorizedKey(right, on: newClient(), digest: Self.digest) }
        let one = Crowd([{ try alone.sign() }], callsEach: plan.sharedCalls)
        let many = Crowd(keys.map { key in { try key.sign() } }, callsEach: plan.sharedCalls / plan.clients)
        var (ofOne, ofMany): ([Double], [Double]) = ([], [])
        _ = try (one.round(), many.round())  // To warm up.
        for _ in 0..<plan.blocks {
            ofOne.append(try one.round())
            ofMany.append(try many.round())
        }
        return [
            .throughputOneClient: Figure(ofOne, unit: .perSecond),
            .throughputManyClients: Figure(ofMany, unit: .perSecond),
            .signatureManyClients: many.samples.figure(.microseconds),
        ]
    }
}
