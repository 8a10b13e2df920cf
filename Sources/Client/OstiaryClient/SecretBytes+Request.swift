package import Foundation
import OstiaryWire
package import SecretMemory

extension SecretBytes {
    /// The bytes that go to the daemon with a request, as its tail. What no frame carries is refused with `tooLarge` before it
    /// is copied: memory for secrets is never taken by the size of what a program hands over.
    package init(sending data: Data) throws(OstiaryError) {
        guard data.count <= WireLimits.tailByteCount else { throw .tooLargeRequest }
        self.init(data)
    }
}

extension OstiaryError {
    static let tooLargeRequest = OstiaryError(
        .init(.tooLarge), "The request is larger than \(WireLimits.tailByteCount) bytes; use a smaller input.")
}
