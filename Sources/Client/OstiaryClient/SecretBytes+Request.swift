package import Foundation
import OstiaryMessages
package import SecretMemory

extension SecretBytes {
    /// The bytes that go to the daemon with a request, as its tail. Data that no frame carries is refused with
    /// `tooLarge` before it is copied, so that a program cannot choose how much memory for secrets is taken.
    package init(sending data: Data) throws(OstiaryError) {
        guard data.count <= WireLimits.tailByteCount else { throw .tooLargeRequest }
        self.init(data)
    }
}

extension OstiaryError {
    static let tooLargeRequest = OstiaryError(
        .init(.tooLarge), "The request is larger than \(WireLimits.tailByteCount) bytes; use a smaller input.")
}
