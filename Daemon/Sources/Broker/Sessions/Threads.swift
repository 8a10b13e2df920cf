import Foundation

/// Blocking threads with a stack of known size. The daemon blocks by design (sockets, prompts, disk), which the shared
/// thread pool must never do.
enum Threads {
    static func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.name = name
        thread.stackSize = SessionLimits.stackByteCount
        thread.start()
    }
}
