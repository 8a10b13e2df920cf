import Glibc
import HelperProcesses
import TemplateAnswers
import UnixSocket

/// A connection to `ostiary-templates`, which reports the templates once and after each change.
final class TemplatesConnection: Sendable {
    private let socket: UnixSocket

    /// Why there is no connection.
    enum Failure: Error {
        case absent, untrusted, silent

        var enrolledSet: EnrolledSet {
            switch self {
            case .absent: .absent
            case .untrusted: .untrusted
            case .silent: .silent
            }
        }
    }

    /// Connects to a socket behind which the service manager starts a helper, and sends the request. Anybody may connect there, so the
    /// helper proves nothing but its socket.
    ///
    /// - Parameters:
    ///   - request: the bytes of a ``TemplateRequest``.
    ///   - serverUserID: the user who must have made the socket. systemd makes it, as root.
    static func open(
        _ socketPath: String, request: [UInt8], serverUserID: UInt32
    ) throws(Failure) -> TemplatesConnection {
        precondition(request.count == TemplateRequest.byteCount, "a request has a fixed size")
        let connection = TemplatesConnection(try connect(to: socketPath, serverUserID))
        do { try connection.send(request) } catch { throw .silent }
        return connection
    }

    private init(_ socket: UnixSocket) { self.socket = socket }

    private static func connect(to path: String, _ serverUserID: UInt32) throws(Failure) -> UnixSocket {
        do throws(HelperUnavailability) {
            return try HelperSocket.connect(to: path, CInt(SOCK_STREAM.rawValue), listener: [serverUserID])
        } catch {
            switch error {
            case .absent: throw .absent
            case .foreignListener: throw .untrusted
            default: throw .silent
            }
        }
    }

    private func send(_ request: [UInt8]) throws {
        unsafe try request.withUnsafeBytes { unsafe try socket.send($0) }
    }

    /// Waits for the next answer; nil after ``end()``, or when the helper has ended.
    ///
    /// - Parameter deadline: nil for no limit.
    func next(until deadline: ContinuousClock.Instant? = nil) throws(Failure) -> TemplateAnswer? {
        var bytes: [UInt8] = []
        while bytes.count < TemplateAnswer.byteCount {
            guard waits(until: deadline) else { throw .silent }
            var part = [UInt8](repeating: 0, count: TemplateAnswer.byteCount - bytes.count)
            let count: Int
            do {
                count = unsafe try part.withUnsafeMutableBytes {
                    unsafe try socket.receive(into: $0, expecting: []).count
                }
            } catch {
                return nil
            }
            guard count > 0 else { return nil }
            bytes += part[..<count]
        }
        guard let answer = TemplateAnswer(decoding: bytes) else { throw .silent }
        return answer
    }

    /// Waits until something can be read or the other side has hung up; false at the deadline.
    private func waits(until deadline: ContinuousClock.Instant?) -> Bool {
        while true {
            var milliseconds: CInt = -1
            if let deadline {
                let left = (deadline - ContinuousClock.now) / .milliseconds(1)
                guard left > 0 else { return false }
                milliseconds = CInt(clamping: Int64(min(left, 1e9).rounded(.up)))
            }
            var polled = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
            let count = unsafe poll(&polled, 1, milliseconds)
            if count > 0 { return true }
            guard count == 0 || errno == EINTR else { return false }
        }
    }

    /// Ends the wait of another thread.
    func end() { socket.shutdown() }
}

extension EnrolledSet {
    init(_ answer: TemplateAnswer) {
        switch answer {
        case .enrolled(let digest): self = .digest(digest)
        case .none: self = .none
        case .unreadable: self = .unreadable
        case .refused: self = .refused
        }
    }
}

/// How long the helper may take.
public enum TemplatesLimits {
    /// The time for the first answer: a busy machine takes seconds to start the helper.
    public static let answer: Duration = .seconds(15)
    /// The first and the longest delay before a missing, ended or refusing helper is tried again. The delay doubles.
    static let firstDelay: Duration = .seconds(1)
    static let longestDelay: Duration = .seconds(60)
    /// The time between two questions whether a user's changes are to be followed. The helper ends a connection without changes after ten
    /// minutes, so they are followed for so long after the user has left.
    static let look: Duration = .seconds(60)
}
