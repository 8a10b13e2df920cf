import Foundation
import Synchronization

/// Closing the open part and beginning another.
extension AuditLog {
    /// So much more is written before a part is tried to be closed again, in bytes.
    private static let retryByteCount = 256 * 1024

    func scheduleCut(time: UInt64) {
        syncQueue.async { [weak self] in self?.tryCut(time: time) }
    }

    private func tryCut(time: UInt64) {
        // A part that cannot be closed goes on: no record is refused for its size.
        do { try cut(time: time) } catch {
            contents.withLock { contents in
                _ = contents.withTail { tail in
                    tail.isCutScheduled = false
                    tail.nextCutPosition = tail.file.end + Self.retryByteCount
                }
            }
        }
    }

    /// Closes the open part as `audit.log.N` and begins another, which is anchored.
    ///
    /// - Parameter time: milliseconds since 1970.
    /// - Throws: ``AuditLogError/damaged`` if the part is not the one that was written, and what the anchor store and the sealer
    ///   throw. The part is still open then.
    package func cut(time: UInt64) throws {
        try anchoring.withLock { _ in
            // What the next header takes over from this one must have been verified, not only read.
            _ = try completed(contents.withLock { LogView(&$0) })
            let maker = NewLog(folder: folder, anchors: anchors, sealer: sealer)
            try contents.withLock { contents in
                let next = try contents.withTail { tail in try maker.make(following: &tail, time: time) }
                guard let next else { throw AuditLogError.damaged }
                contents.replaceTail(next)
            }
        }
    }
}
