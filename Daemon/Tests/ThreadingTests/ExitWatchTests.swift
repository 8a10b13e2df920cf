import CLinuxShims
import Dispatch
import Foundation
import Synchronization
import Testing
import Threading
import UnixSocket

@Suite("A watch on processes")
struct ExitWatchTests {
    /// A process that lives until it is ended.
    private final class Sleeper {
        let process = Process()
        let descriptor: SharedDescriptor

        init() throws {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/sleep")
            process.arguments = ["3600"]
            try process.run()
            let number = ostiary_open_process(process.processIdentifier)
            descriptor = SharedDescriptor(Descriptor(owning: number))
        }

        func end() {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }

        deinit { end() }
    }

    @Test func `tells of the process that ended, once, and of no other`() throws {
        let (first, second) = (try Sleeper(), try Sleeper())
        let (told, other) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let watches = [
            ExitWatch.shared.watch(first.descriptor) { told.signal() },
            ExitWatch.shared.watch(second.descriptor) { other.signal() },
        ]
        #expect(!watches.contains(nil))
        first.end()
        told.wait()
        #expect(told.wait(timeout: .now() + 0.1) == .timedOut)
        #expect(other.wait(timeout: .now()) == .timedOut)
        for watch in watches { ExitWatch.shared.cancel(try #require(watch)) }
    }

    @Test func `tells at once of a process that has ended`() throws {
        let sleeper = try Sleeper()
        sleeper.end()
        let told = DispatchSemaphore(value: 0)
        let watch = try #require(ExitWatch.shared.watch(sleeper.descriptor) { told.signal() })
        told.wait()
        ExitWatch.shared.cancel(watch)
    }

    @Test func `is silent after its cancellation`() throws {
        let (cancelled, kept) = (try Sleeper(), try Sleeper())
        let (told, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        ExitWatch.shared.cancel(try #require(ExitWatch.shared.watch(cancelled.descriptor) { told.signal() }))
        let watch = try #require(ExitWatch.shared.watch(kept.descriptor) { done.signal() })
        cancelled.end()
        kept.end()
        done.wait()
        #expect(told.wait(timeout: .now()) == .timedOut)
        ExitWatch.shared.cancel(watch)
    }

    @Test func `what cannot be watched is not watched`() {
        // A regular file cannot be watched (epoll_ctl(2), EPERM).
        let file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
        #expect(ExitWatch.shared.watch(SharedDescriptor(Descriptor(owning: file))) {} == nil)
    }
}
