import DoorSupport
import Foundation
import Glibc
package import OstiaryClient
import SSHFormats
import SecretMemory
package import UnixSocket

/// Serves the clients of an agent, each on a thread of its own.
package struct AgentServer: Sendable {
    /// What an agent does beside the keys that programs add.
    package struct Options: Sendable {
        /// Whether Ostiary's keys are shown and used.
        package var usesStore = true
        /// The socket of another agent; nil for none.
        package var upstream: String?

        package init() {}
    }

    private let core: AgentCore
    private let options: Options
    private let ostiary: OstiaryClient

    package init(_ core: AgentCore, _ options: Options, ostiary: OstiaryClient = .shared) {
        (self.core, self.options, self.ostiary) = (core, options, ostiary)
    }

    /// Answers one connection until it ends. Blocks.
    package func serve(_ socket: UnixSocket) {
        do throws(DoorFailure) {
            let client = try ServedClient(accepted: socket, ostiary: ostiary)
            defer { client.leave() }
            let held = try begin(client)
            var session = AgentSession(
                core, held: held, upstream: upstream(client), clientMayForward: Self.mayForward(client),
                cancellation: client.cancellation)
            while let message = try Self.nextMessage(of: client) {
                let answer = session.answer(message.number, message.contents)
                try client.write(SecretBytes(answer.bytes))
            }
        } catch { core.note("A client was sent away: \(error)") }
    }

    /// Names the client to Ostiary before anything of it is read, because Ostiary takes it for the program that it runs then.
    private func begin(_ client: ServedClient) throws(DoorFailure) -> (any KeyHolding)? {
        guard options.usesStore else { return nil }
        do {
            try client.begin()
            return KeysOfOstiary(of: client)
        } catch {
            // Keys that programs added, and those of another agent, need no Ostiary.
            core.note("Ostiary's keys are not there for a client: \(error)")
            return nil
        }
    }

    /// As the daemon tells it for its own keys: ssh serves a forwarded agent, and an old one binds nothing.
    private static func mayForward(_ client: ServedClient) -> Bool {
        client.programName.map { $0 == "ssh" } ?? true
    }

    private func upstream(_ client: ServedClient) -> UpstreamAgent? {
        options.upstream.map { UpstreamAgent(path: $0, cancellation: client.cancellation) }
    }

    private struct Message: ~Copyable {
        let number: UInt8
        let contents: SecretBytes
    }

    /// The next message; nil when the client has closed the connection.
    private static func nextMessage(of client: ServedClient) throws(DoorFailure) -> Message? {
        guard let head = try client.read(4) else { return nil }
        let count = unsafe head.withUnsafeBytes { bytes in unsafe bytes.reduce(0) { $0 << 8 | Int($1) } }
        guard (1...SSHLimits.messageByteCount).contains(count) else {
            throw DoorFailure(
                AgentFailure.messageLength, AgentFailure.protocolClass,
                "A client sent a message of \(count) bytes, and an agent takes at most \(SSHLimits.messageByteCount).")
        }
        guard let body = try client.read(count) else { return nil }
        let number = unsafe body.withUnsafeBytes { unsafe $0[0] }
        return unsafe Message(
            number: number,
            contents: body.withUnsafeBytes { bytes in
                unsafe SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes.dropFirst()))
            })
    }
}
