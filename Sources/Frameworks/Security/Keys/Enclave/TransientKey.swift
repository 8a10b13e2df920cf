import Dispatch
package import Foundation
import Synchronization

/// The end of an enclave key that no item stands for: when the last object that holds it goes, the key does, too, since nobody
/// could name it any more.
///
/// A key whose handle was read stays: the handle may be anywhere. So does the key of a program that ends before its objects;
/// it lies in the store until the owner removes it.
package final class TransientKey: Sendable {
    private let id: Data
    private let removal: @Sendable (Data) throws -> Void
    /// After a fork the objects of the other process live on.
    private let processID = ProcessInfo.processInfo.processIdentifier
    private let isKept = Mutex(false)

    /// A call to the daemon may take long; a thread that releases a key does not wait for it.
    private static let queue = DispatchQueue(label: "ostiary.transient-keys", qos: .utility)

    /// The end of a key that was just made and is no item.
    package init(_ id: Data, of service: any ItemService) {
        self.id = id
        removal = { try service.removeKey(id: $0) }
    }

    /// The key stays for good.
    package func keep() { isKept.withLock { $0 = true } }

    deinit {
        guard !isKept.withLock({ $0 }), ProcessInfo.processInfo.processIdentifier == processID else { return }
        let (id, removal) = (id, removal)
        // Nobody is left who could hear of a failure. The owner sees what stays.
        Self.queue.async { try? removal(id) }
    }
}
