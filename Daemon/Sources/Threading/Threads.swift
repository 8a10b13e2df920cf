import Foundation

/// Blocking threads with a stack of known size. The daemon blocks by design (sockets, prompts, disk), which the shared
/// thread pool must never do.
package enum Threads {
    /// The deepest use is an HPKE open.
    private static let stackByteCount = 512 * 1024

    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.name = name
        thread.stackSize = stackByteCount
        thread.start()
    }
}
