import CFIDO2
import CLinuxShims
import Glibc
import HelperProcesses
import SecurityKeyProtocol
import SystemCallFilter

/// `ostiary-fido`: speaks to one security key for the daemon, and ends with it.
///
/// It takes no arguments and learns only its starter from its environment. It is given its key as a descriptor, or opens the one that
/// the daemon names. Before it reads the first byte of the key it gives up everything but memory, clocks, and reading and writing
/// these two descriptors.
@main
struct Program {
    /// The system calls that the helper needs besides memory and clocks.
    static let systemCalls = ["read", "write", "poll", "ppoll", "recvfrom", "recvmsg", "sendmsg", "close"]

    static func main() {
        guard ostiary_occupy_standard_descriptors() == 0 else { exit(1) }
        guard ostiary_forbid_dumps() == 0, ostiary_forbid_new_privileges() == 0 else { exit(1) }
        guard HelperStart.takeDescriptors() else { exit(1) }
        // Before anything is opened, which could get the number of a given descriptor.
        let isCard = CardSocket.isThere
        var named: NamedKey?
        if !isCard, fcntl(SecurityKeyDescriptor.device, F_GETFD) < 0 {
            named = NamedKey.receive()
            guard named != nil else { exit(0) }
        }
        // Before glibc gives memory of a further heap back, it reads a file of /proc. The filter would end the process then.
        ostiary_limit_heaps(1)
        // A hostile key could otherwise make libfido2 ask for memory until the machine has none.
        var memory = rlimit(rlim_cur: 1 << 30, rlim_max: 1 << 30)
        guard setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &memory) == 0 else { exit(1) }
        // OpenSSL would read its configuration with its first use.
        guard OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG), nil) == 1 else { exit(1) }
        fido_init(0)
        let work = RequestQueue()
        let device = KeyDevice(isCard ? .nfc : .usb)
        guard work.startThread(with: device) else { exit(1) }
        // A key that answers nothing could hold a request, and with it this process, for ever.
        guard HelperStart.endsAfterDaemon(on: SecurityKeyDescriptor.channel, withGroup: false) else { exit(1) }
        guard SystemCallFilter(allowing: systemCalls).apply() else { exit(1) }
        if let named, !named.confirm() { _exit(0) }
        listen(work, device)
    }

    /// Takes requests until the daemon closes its end, or says something else.
    private static func listen(_ work: RequestQueue, _ device: KeyDevice) -> Never {
        while let frame = SecurityKeyFrame.receive(on: SecurityKeyDescriptor.channel) {
            guard let request = KeyRequest(decoding: frame.message) else { break }
            if request == .cancel {
                device.cancel { work.isBusy }
            } else {
                guard !work.isBusy else { break }
                device.prepare()
                guard work.take(request, secret: frame.takeSecret()) else { break }
            }
        }
        // The key would go on blinking.
        device.cancel { work.isBusy }
        for _ in 0..<10 where work.isBusy { usleep(50_000) }
        _exit(0)
    }
}
