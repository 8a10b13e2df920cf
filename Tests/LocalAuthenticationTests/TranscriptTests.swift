import Crypto
import Foundation
import OstiaryMessages
import SecretMemory
import Testing
import UnixSocket
import WireTranscripts

@testable import OstiaryClient

/// The client of today with daemons of former versions. Recorded bytes answer it, and it must send the recorded bytes.
@Suite(.timeLimit(.minutes(10))) struct TranscriptTests {
    @Test(arguments: WireTranscript.versions)
    func `the client speaks a former version with a daemon that knows no newer one`(version: UInt32) throws {
        let folder = "/tmp/ostiary-transcript-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let location = DaemonLocation(runtimeDirectory: folder, stateDirectory: folder)
        let listener = try UnixSocket.listen(at: location.socketPath)
        let (played, isPlayed) = (Locked<Result<Void, any Error>?>(nil), DispatchSemaphore(value: 0))
        Thread {
            let result = Result { try Self.play(version, listener.accept()) }
            played.update { $0 = result }
            isPlayed.signal()
        }.start()
        let spoken = Result { try Self.speak(version, with: OstiaryClient(location: location)) }
        isPlayed.wait()
        // A frame that is not the recorded one says more than its consequence.
        try played.value?.get()
        try spoken.get()
    }

    private static func play(_ version: UInt32, _ connection: UnixSocket) throws {
        var values: [String: [UInt8]] = [:]
        try WireTranscript.ofProtocol(version).play(.daemon, on: connection, values: &values)
    }

    private static func speak(_ version: UInt32, with client: OstiaryClient) throws {
        let answer = try client.call(.status(.init()))
        guard case .status(let status) = answer.body else { throw OstiaryClient.unexpected() }
        #expect(status.daemonVersion == "test" && status.enclaveKind == "software" && status.factors.count == 4)
        let missing = #expect(throws: OstiaryError.self) { _ = try find("none", client) }
        #expect(missing?.code == .init(.notFound))
        // Not a byte of a request that such a daemon would misread.
        for itemClass in version == 7 ? ["free", "genp"] : ["free"] {
            let selection = ItemSelection(itemClass: itemClass)
            let unsent = #expect(throws: OstiaryError.self) { try client.listItems(selection) }
            #expect(unsent?.code == .init(.versionMismatch))
        }
        let unsent = #expect(throws: OstiaryError.self) {
            try client.updateItems(ItemSelection(itemClass: "genp"), replacingFreeAttributes: true)
        }
        #expect(unsent?.code == .init(.versionMismatch))
        let right = try find("golden", client)
        // A context that goes away closes itself, and the transcript closes none.
        let context = AuthorizationContext(client: client)
        defer { withExtendedLifetime(context) {} }
        #expect(try signature(right.rightID, in: context) == Data([0x30, 6, 2, 1, 1, 2, 1, 1]))
        #expect(try secret(of: "n\u{E9}", client) == "secret")
        #expect(try secret(of: "bound", client) == "secret")
        guard version > 7 else { return }
        #expect(try client.listItems(ItemSelection(itemClass: "genp")).map(\.lock) == [.open, .needsProof])
        guard version > 8 else { return }
        #expect(try client.leases().leases.isEmpty)
    }

    private static func find(_ name: String, _ client: OstiaryClient) throws -> WireRight {
        let answer = try client.call(.findRight(.with { $0.identifier = name }))
        guard case .right(let right) = answer.body else { throw OstiaryClient.unexpected() }
        return right
    }

    /// On the desktop, so that no terminal of the test goes along.
    private static var interaction: Interaction {
        var interaction = Interaction(reason: "sign in")
        interaction.offersTerminal = false
        return interaction
    }

    private static func signature(_ right: Data, in context: AuthorizationContext) throws -> Data {
        try context.authorize(.right(id: right), interaction: interaction)
        return try context.sign(
            digest: Data(SHA256.hash(data: Data("challenge".utf8))), right: right,
            algorithm: "algid:sign:ECDSA:digest-X962:SHA256")
    }

    private static func secret(of account: String, _ client: OstiaryClient) throws -> String {
        let selection = ItemSelection(itemClass: "genp", attributes: ["acct": .text(account)])
        var found = ""
        try client.findItems(selection, returningData: true, use: ItemUse(interaction: interaction)) { _, data in
            switch data {
            case .some(let data): found = String(decoding: Data(exposing: data), as: UTF8.self)
            case .none: break
            }
        }
        return found
    }
}
