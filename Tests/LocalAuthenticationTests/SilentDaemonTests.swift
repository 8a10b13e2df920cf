import Foundation
import OstiaryMessages
import OstiaryWire
import Testing
import UnixSocket

@testable import OstiaryClient

/// What listens at the socket and is no daemon that a program could use.
@Suite(.timeLimit(.minutes(10))) struct SilentDaemonTests {
    /// A socket where nobody is served yet.
    private final class Listener: Sendable {
        let location: DaemonLocation
        let socket: UnixSocket

        init() throws {
            let folder = "/tmp/ostiary-silent-\(UUID().uuidString.prefix(8))"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            location = DaemonLocation(runtimeDirectory: folder, stateDirectory: folder)
            socket = try UnixSocket.listen(at: location.socketPath)
        }

        deinit {
            socket.shutdown()
            try? FileManager.default.removeItem(atPath: PathName.folder(of: location.socketPath))
        }
    }

    /// Whole frames as daemons of these protocols send them: those before 2 wrote protobuf.
    @Test(arguments: [1, UInt8(ProtocolVersions.ofThisBuild.oldest) - 1, UInt8(WireLimits.protocolVersion) + 1, 127])
    func `a daemon of another protocol is named with its version, and told nothing`(version: UInt8) throws {
        let listener = try Listener()
        let (location, socket) = (listener.location, listener.socket)
        let (heard, isHeard) = (Locked<Result<WireRequest, any Error>?>(nil), DispatchSemaphore(value: 0))
        let daemon = Thread {
            let next = Result {
                let connection = try socket.accept()
                let greeting = [0, 0, 0, 20, 0, 0, 0, 0, 0x08, version, 0x12, 16] + [UInt8](repeating: 7, count: 16)
                try greeting.withUnsafeBytes { try connection.send($0) }
                var reader = FrameReader(socket: connection)
                return try reader.next(WireRequest.self).message
            }
            heard.update { $0 = next }
            isHeard.signal()
        }
        daemon.start()
        let error = #expect(throws: OstiaryError.self) { try DaemonConnection(to: location) }
        isHeard.wait()
        #expect(throws: FrameReadError.closed) { try heard.value?.get() }
        #expect(error?.code == .init(.versionMismatch))
        let advice =
            version < ProtocolVersions.ofThisBuild.oldest
            ? "The daemon is older: upgrade Ostiary, and restart the daemon."
            : "The program is older: upgrade it, or build it again with the Ostiary that is installed."
        #expect(error?.explanation == "The daemon speaks protocol \(version), this program 7 to 10. \(advice)")
    }

    /// A daemon that greets, and then answers as `serve` says: nil for nothing.
    private static func serve(
        _ listener: Listener, answering serve: @escaping @Sendable (WireRequest) -> WireReply.OneOf_Body?
    ) -> Locked<[WireRequest.OneOf_Body]> {
        let heard = Locked<[WireRequest.OneOf_Body]>([])
        let socket = listener.socket
        Thread {
            do {
                let connection = try socket.accept()
                try FrameWriter.send(
                    WireGreeting.with {
                        ($0.oldestVersion, $0.nonce) = (WireLimits.protocolVersion, Data(count: 16))
                    },
                    on: connection)
                var reader = FrameReader(socket: connection)
                while true {
                    let request = try reader.next(WireRequest.self).message
                    guard let body = request.body else { continue }
                    heard.update { $0.append(body) }
                    guard let answer = serve(request) else { continue }
                    try FrameWriter.send(WireReply.with { ($0.id, $0.body) = (request.id, answer) }, on: connection)
                }
            } catch {}  // The client has gone.
        }.start()
        return heard
    }

    private static func isHello(_ request: WireRequest) -> Bool {
        if case .hello? = request.body { true } else { false }
    }

    @Test func `a daemon that greets and then gives no sign of life is given up`() throws {
        let listener = try Listener()
        let heard = Self.serve(listener) { Self.isHello($0) ? .done(.init()) : nil }
        let connection = try DaemonConnection(
            to: listener.location, patience: AnswerPatience(silence: 0.05, silences: 4))
        let error = #expect(throws: OstiaryError.self) { _ = try connection.call(.status(.init())) }
        #expect(error?.code == .daemonUnavailable)
        #expect(error?.explanation.hasPrefix("The daemon gives no sign of life any more") == true)
        #expect(connection.isLost)
        let asked = heard.value.count { if case .heldGrants = $0 { true } else { false } }
        #expect(asked == 3, "it is asked after each silence but the last")
    }

    @Test func `a daemon that waits for a person and gives signs of life is waited for`() throws {
        let listener = try Listener()
        let signs = Locked(0)
        _ = Self.serve(listener) { request in
            if Self.isHello(request) { return .done(.init()) }
            guard case .heldGrants? = request.body else { return nil }
            var count = 0
            signs.update {
                $0 += 1; count = $0
            }
            // After many silences the person answers: the answer to the first request behind the hello, whose id is 2.
            return count < 20 ? .heldGrants(.init()) : nil
        }
        let connection = try DaemonConnection(
            to: listener.location, patience: AnswerPatience(silence: 0.02, silences: 3))
        let error = #expect(throws: OstiaryError.self) { _ = try connection.call(.status(.init())) }
        #expect(error?.code == .daemonUnavailable)
        #expect(signs.value >= 20, "far more than three silences")
    }

    @Test func `a question that the daemon needs goes along the second time, and the daemon is told so`() throws {
        let listener = try Listener()
        let heard = Self.serve(listener) { request in
            guard case .findItems(let find)? = request.body else { return .done(.init()) }
            guard find.use.question != nil else {
                return .failure(.with { $0.code = UInt32(WireFailureCode.questionNeeded.rawValue) })
            }
            return .items(.with { $0.items = [.with { $0.itemID = Data(count: 16) }] })
        }
        var interaction = Interaction(reason: "to test")
        interaction.offersTerminal = false
        let client = OstiaryClient(location: listener.location)
        try client.findItems(ItemSelection(itemClass: "genp"), use: ItemUse(interaction: interaction)) { _, _ in }
        let uses = heard.value.compactMap { body -> WireItemUse? in
            if case .findItems(let find) = body { find.use } else { nil }
        }
        #expect(uses.map(\.withholdsQuestion) == [true, false])
        #expect(uses.map(\.expectsQuestion) == [false, true])
    }

    @Test func `a daemon that does not greet is given up`() throws {
        let listener = try Listener()
        let location = listener.location
        let error = #expect(throws: OstiaryError.self) { try DaemonConnection(to: location, greetingSeconds: 1) }
        #expect(error?.code == .daemonUnavailable)
        #expect(error?.explanation.hasPrefix("The daemon does not answer") == true)
    }
}
