import CLinuxShims
import DetachedThreads
import Dispatch
import Foundation
import Synchronization
import Testing
import Threading
import UnixSocket

/// What happens where pthread_create(3) gives no thread. It is refused at the seam here; `DaemonTests` has the system refuse it.
@Suite("A shortage of threads") struct ThreadShortageTests {
    private func refused<Result>(_ body: () throws -> Result) rethrows -> Result {
        try DetachedThread.$areRefused.withValue(true, operation: body)
    }

    @Test func `a refused thread is an error, and its work is never done`() {
        let work = DispatchSemaphore(value: 0)
        #expect(throws: ThreadShortage()) { try refused { try Threads.start("test") { work.signal() } } }
        let next = DispatchSemaphore(value: 0)
        #expect(throws: Never.self) { try Threads.start("test") { next.signal() } }
        next.wait()
        #expect(work.wait(timeout: .now()) == .timedOut)
    }

    @Test func `work that must not be lost is done when the next thread starts, in its order`() throws {
        let order = Mutex<[Int]>([])
        let done = DispatchSemaphore(value: 0)
        refused {
            for number in 1...3 {
                Threads.startEventually("test") {
                    order.withLock { $0.append(number) }
                    done.signal()
                }
            }
        }
        try Threads.start("test") {}
        for _ in 1...3 { done.wait() }
        #expect(order.withLock { Set($0) } == [1, 2, 3])
    }

    @Test func `without another thread too, once it is prepared`() throws {
        try Threads.prepare()
        let done = DispatchSemaphore(value: 0)
        refused { Threads.startEventually("test") { done.signal() } }
        done.wait()
    }

    @Test func `a work thread keeps its work until there is a thread`() throws {
        let thread = WorkThread(name: "test")
        let order = Mutex<[Int]>([])
        refused { thread.run { order.withLock { $0.append(1) } } }
        thread.run { order.withLock { $0.append(2) } }
        try Threads.start("test") {}
        thread.finish()
        #expect(order.withLock { $0 } == [1, 2])
    }

    @Test func `a watch without a thread is refused, and the next one tells of an end`() throws {
        let watch = ExitWatch()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/sleep")
        process.arguments = ["3600"]
        try process.run()
        let descriptor = SharedDescriptor(Descriptor(owning: ostiary_open_process(process.processIdentifier)))
        let told = DispatchSemaphore(value: 0)
        #expect(refused { watch.watch(descriptor) { told.signal() } } == nil)
        let id = watch.watch(descriptor) { told.signal() }
        #expect(id != nil)
        kill(process.processIdentifier, SIGKILL)
        told.wait()
        process.waitUntilExit()
    }
}
