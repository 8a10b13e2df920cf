import Foundation
import Glibc
import OstiaryMessages
import OstiaryWire
import Refusals
import SecretMemory
import Synchronization
import UnixSocket

/// A program whose owner could not be opened. It is greeted, and its answer to the greeting is refused with the reason: a closed
/// connection would say nothing.
private struct RefusedCaller {
    let socket: UnixSocket
    let refusal: Refusal

    /// Returns when the program has its answer, or has had its time to greet.
    func run() throws {
        try socket.attachSenderCredentials()
        try socket.setSendTimeout(seconds: SessionLimits.sendSeconds)
        let nonce = Data(exposing: SecretBytes(random: WireLimits.nonceByteCount))
        try FrameWriter.send(WireGreeting(.ofThisBuild, random: nonce), on: socket)
        var reader = FrameReader(
            socket: socket, expecting: try socket.peerCredentials(),
            // The program may pass its file, which nobody looks at.
            handshakeSeconds: Double(SessionLimits.refusedHandshakeSeconds), takesFile: true)
        let version = ProtocolVersions.ofThisBuild.oldest
        reader.read(in: version)
        let request = try reader.next(WireRequest.self, bodyByteCount: SessionLimits.greetingByteCount).message
        let reply = WireReply.with {
            $0.id = request.id
            $0.body = .failure(refusal.message)
        }
        try FrameWriter.send(reply, in: version, on: socket)
        socket.shutdown()
    }
}

/// The refused programs that are being told just now. They are few, since each holds the place of a connection and a thread, and costs
/// its user nothing.
final class RefusedCallers: Sendable {
    private struct State {
        var sockets: [ObjectIdentifier: UnixSocket] = [:]
        var isStopped = false
    }

    private let state = Mutex(State())

    /// Tells the program at `socket` the reason, if there is a place for it. Returns when that is done or its time is over.
    func tell(_ refusal: Refusal, on socket: UnixSocket) {
        guard takePlace(socket) else { return }
        defer { leavePlace(socket) }
        // The daemon reports why the program was refused, not how the connection to it failed.
        try? RefusedCaller(socket: socket, refusal: refusal).run()
    }

    /// Ends the connections of refused programs, and tells no further program its refusal.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            for socket in state.sockets.values { socket.shutdown() }
        }
    }

    private func takePlace(_ socket: UnixSocket) -> Bool {
        state.withLock { state in
            guard !state.isStopped, state.sockets.count < SessionLimits.refusedCallerCount else { return false }
            state.sockets[ObjectIdentifier(socket)] = socket
            return true
        }
    }

    private func leavePlace(_ socket: UnixSocket) {
        _ = state.withLock { $0.sockets.removeValue(forKey: ObjectIdentifier(socket)) }
    }
}
