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

    /// - Parameter root: fprintd's folder.
    func serve(_ root: String, within rights: CallerRights) throws {
        guard let (key, userID) = try readRequest() else { return }
        guard rights.include(userID) else { return try send(.refused) }
        let folder = TemplateFolder(at: root, ofUser: userID)
        var told: TemplateAnswer?
        while true {
            let (answer, changes) = try folder.stableAnswer(key)
            if answer != told {
                told = answer
                try send(answer)
            }
            guard try waits(for: changes) else { return }
        }
    }

    private func send(_ answer: TemplateAnswer) throws {
        unsafe try answer.bytes.withUnsafeBytes { unsafe try socket.send($0) }
    }

    /// The key, and the user whose templates are meant. Nil when the caller did not send the whole request in time.
    private func readRequest() throws -> (SymmetricKey, userID: UInt32)? {
        let deadline = ContinuousClock.now.advanced(by: .seconds(HelperLimits.requestSeconds))
        var key = SecretBytes(zeroed: TemplateRequest.keyByteCount)
        var user = [UInt8](repeating: 0, count: TemplateRequest.byteCount - TemplateRequest.keyByteCount)
        let hasKey = unsafe try key.withUnsafeMutableBytes { buffer throws(SystemCallError) in
            unsafe try fill(buffer, until: deadline)
        }
        guard hasKey, unsafe try user.withUnsafeMutableBytes({ unsafe try fill($0, until: deadline) }) else {
            return nil
        }
        return (SymmetricKey(key), TemplateRequest.userID(user))
    }

    private func fill(
        _ buffer: UnsafeMutableRawBufferPointer, until deadline: ContinuousClock.Instant
    ) throws(SystemCallError) -> Bool {
        var count = 0
        while count < buffer.count {
            guard ContinuousClock.now < deadline else { return false }
            let received = unsafe try socket.receive(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]), expecting: []
            ).count
            guard received > 0 else { return false }
            count += received
        }
        return true
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
