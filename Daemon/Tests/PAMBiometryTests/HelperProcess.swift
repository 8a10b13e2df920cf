import Glibc
import HelperProcesses
import PAMProtocol
import PAMTestSupport
import PromptProtocol
import StoreTestSupport
import TerminalTestSupport
import UnixSocket

/// A running `ostiary-pam`, from the daemon's side of its channel, with nothing between.
final class HelperProcess {
    let process: SpawnedProcess
    private var channel: SharedDescriptor?

    /// - Parameters:
    ///   - request: the bytes of the request; nil for none.
    ///   - userID: as whom it runs; nil for the test's user.
    init(_ request: [UInt8]?, environment: [String] = ["PATH=/usr/bin:/bin"], asUser userID: UInt32? = nil) throws {
        let ends = try ChannelEnds()
        let wrapper = userID.map { ["/usr/bin/setpriv", "--reuid=\($0)", "--regid=\($0)", "--clear-groups"] } ?? []
        let command = wrapper + [Build.program("ostiary-pam")]
        process = try SpawnedProcess(
            command[0], Array(command.dropFirst()), environment: environment,
            descriptors: [-1, -1, -1, ends.program.number])
        channel = SharedDescriptor(ends.daemon)
        if let request { send(request) }
    }

    convenience init(
        _ services: PAMServices, service: String = "face", of user: String? = nil, asUser userID: UInt32? = nil
    ) throws {
        let request = PAMRequest(service: service, folder: services.folder.path, user: user, trustedUserID: getuid())
        try self.init(request.bytes, asUser: userID)
    }

    func send(_ bytes: [UInt8]) {
        guard let channel else { return }
        _ = Glibc.send(channel.number, bytes, bytes.count, CInt(MSG_NOSIGNAL))
    }

    /// The bytes of the next message; nil at the end, or after 20 seconds.
    func nextMessage() -> [UInt8]? {
        guard let channel else { return nil }
        var polled = pollfd(fd: channel.number, events: Int16(POLLIN), revents: 0)
        guard poll(&polled, 1, 20_000) == 1 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = recv(channel.number, &bytes, bytes.count, 0)
        return count > 0 ? Array(bytes[..<count]) : nil
    }

    /// All reports until it ends; nil for one that cannot be read.
    func reports() -> [PAMReport?] {
        var reports: [PAMReport?] = []
        while let message = nextMessage() { reports.append(PAMReport(decoding: message)) }
        return reports
    }

    /// Closes the daemon's end.
    func hangUp() { channel = nil }
}
