import Foundation
import Synchronization
import Threading

/// Closing the open part and beginning the next one.
extension AuditLog {
    /// After a failed attempt, so many bytes are written before the next attempt to close the part.
    private static let retryByteCount = 256 * 1024

    func scheduleCut(time: UInt64) {
        syncThread.run { [weak self] in self?.tryCut(time: time) }
    }

    private func tryCut(time: UInt64) {
        // If a part cannot be closed, it goes on: the log refuses no record for its size.
        do { try cut(time: time) } catch {
            contents.withLock { contents in
                _ = contents.withTail { tail in
                    tail.isCutScheduled = false
                    tail.nextCutPosition = tail.file.end + Self.retryByteCount
                }
            }
        }
    }

    /// Closes the open part as `audit.log.N` and begins the next one, which is anchored.
    ///
    /// - Parameter time: milliseconds since 1970.
    /// - Throws: ``AuditLogError/damaged`` if the part was changed after it was written, and errors of the anchor store
    ///   and the sealer. The part is still open then.
    package func cut(time: UInt64) throws {
        try anchoring.withLock { _ in
            // The next header repeats this one's list of parts, so this header must be verified, not only read.
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
