import Crypto
import Glibc
import SecretMemory
import TemplateAnswers
import UnixSocket

/// Reads the request, answers it, and answers again after each change, until the caller hangs up.
struct CallerConnection {
    private let socket: UnixSocket

    init(_ socket: UnixSocket) throws(SystemCallError) {
        self.socket = socket
        try socket.setReceiveTimeout(seconds: HelperLimits.requestSeconds)
        // Do not wait for ever for a caller that does not read its answers.
        try socket.setSendTimeout(seconds: HelperLimits.requestSeconds)
    }

    func serve(_ folder: TemplateFolder) throws {
        guard let key = try readKey() else { return }
        var told: TemplateAnswer?
        while true {
            let (answer, changes) = try folder.stableAnswer(key)
            if answer != told {
                told = answer
                unsafe try answer.bytes.withUnsafeBytes { unsafe try socket.send($0) }
            }
            guard try waits(for: changes) else { return }
        }
    }

    /// Nil when the caller did not send the whole request in time.
    private func readKey() throws -> SymmetricKey? {
        let deadline = ContinuousClock.now.advanced(by: .seconds(HelperLimits.requestSeconds))
        var key = SecretBytes(zeroed: TemplateRequest.byteCount)
        var count = 0
        while count < key.count {
            guard ContinuousClock.now < deadline else { return nil }
            let received = unsafe try key.withUnsafeMutableBytes { buffer throws(SystemCallError) in
                unsafe try socket.receive(
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]), expecting: []
                ).count
            }
            guard received > 0 else { return nil }
            count += received
        }
        return SymmetricKey(key)
    }

    /// Waits until the folder has changed. False when the caller hung up or sent more than a request. Also false when
    /// nothing changed for so long that another caller may need the place.
    private func waits(for changes: FolderChanges) throws -> Bool {
        var polled = [
            pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: changes.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            let count = unsafe poll(&polled, 2, HelperLimits.idleMilliseconds)
            guard count != 0 else { return false }
            guard count > 0 || errno == EINTR else { throw SystemCallError("poll") }
            if polled[0].revents != 0 { return false }
            guard polled[1].revents != 0 else { continue }
            // Wait a moment, so that all parts of the same change have happened.
            return unsafe poll(&polled, 1, HelperLimits.settlingMilliseconds) == 0
        }
    }
}
