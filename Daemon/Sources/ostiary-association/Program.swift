import AssociationFiles
import CLinuxShims
import Glibc
import HelperProcesses

/// `ostiary-association`: asks one domain whether one program may use its credentials, and ends.
///
/// It reads the answer of a stranger's server, so it has nothing of the daemon's: no store, no socket but its channel, no
/// environment. Its only answer is one byte.
@main
struct Program {
    static func main() {
        guard ostiary_occupy_standard_descriptors() == 0 else { exit(1) }
        guard ostiary_forbid_dumps() == 0, ostiary_forbid_new_privileges() == 0 else { exit(1) }
        guard HelperStart.takeDescriptors() else { exit(1) }
        _ = fcntl(AssociationDescriptor.channel, F_SETFD, FD_CLOEXEC)
        guard let request = receive(), HelperStart.endsWithDaemon(on: AssociationDescriptor.channel) else { exit(1) }
        send(AssociationFetch(request).verdict())
        _exit(0)
    }

    private static func receive() -> AssociationRequest? {
        var bytes = [UInt8](repeating: 0, count: AssociationRequest.maximumByteCount + 1)
        var count = recv(AssociationDescriptor.channel, &bytes, bytes.count, 0)
        while count < 0, errno == EINTR { count = recv(AssociationDescriptor.channel, &bytes, bytes.count, 0) }
        guard count > 0 else { return nil }
        return AssociationRequest(decoding: Array(bytes[..<count]))
    }

    private static func send(_ verdict: AssociationVerdict) {
        var byte = verdict.rawValue
        while Glibc.send(AssociationDescriptor.channel, &byte, 1, CInt(MSG_NOSIGNAL)) < 0, errno == EINTR {}
    }
}
