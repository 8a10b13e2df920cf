import Glibc
import Testing
import UnixSocket

@testable import DoorSupport

/// A door that has no more descriptors.
@Suite struct DescriptorShortageTests {
    /// It would be served without its terminal, or under the words that it has ended.
    @Test func `a sender that cannot be looked at is not taken for one that has ended`() async {
        await #expect(processExitsWith: .success) {
            guard let held = ClientProcess.hold(getpid()) else { exit(2) }
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            while open("/dev/null", O_RDONLY) >= 0 {}
            do throws(DoorFailure) {
                _ = try SenderProcess(held)
                exit(3)
            } catch { exit(error == .full && error.code == -158 ? 0 : 4) }
        }
    }

    @Test func `a process that is not there is none, and one that is there is found`() throws {
        #expect(try ClientProcess.found(0) == nil)
        #expect(try ClientProcess.found(getpid())?.id == getpid())
    }
}
