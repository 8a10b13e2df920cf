import SecretMemory

/// Makes a file that takes the log's place: a first log, a replacement, or the next part. The new file is complete
/// before the anchor names it, and moves into place afterwards. So after an interruption, opening finds either the
/// former log or the new file.
struct NewLog {
    let folder: LogFolder
    let anchors: any AnchorStore
    let sealer: any LogKeySealer

    func make(first: LogRecord.Content, epoch: UInt32, seed: borrowing SecretBytes) throws -> ChainTail {
        var tail = try anchoredFile(LogHeader(), first: first, epoch: epoch, key: SealKey(epochSeed: seed))
        try folder.installReplacement()
        tail.hasLostSync = false
        return tail
    }

    /// Makes the part that follows `former`, and closes `former`.
    ///
    /// - Throws: ``AuditLogError/exists`` if the name of the closed part is taken. After any error, `former` goes on.
    func make(following former: inout ChainTail, time: UInt64) throws -> ChainTail {
        let number = former.header.number
        guard number <= LogFormat.maximumPartCount, try folder.isFree(part: number) else { throw AuditLogError.exists }
        if former.hasLostSync { throw AuditLogError.notDurable }
        // The last record must end the file: cut reserved space and the rest of a failed write.
        try former.file.truncate(to: former.file.end)
        try LogFile.sync(former.file.source.descriptor)
        let header = LogHeader(
            following: former.header, closedAt: ClosedPart(count: former.count, head: former.head))
        var tail = try anchoredFile(
            header, first: .partStart(number: UInt32(header.number), time: time), epoch: former.epoch,
            key: former.nextKey())
        do {
            try folder.closePart(number)
            tail.hasLostSync = false
        } catch {
            // The anchor names the new file already, so the next opening puts the names right. Until then, the log
            // takes no records.
        }
        return tail
    }

    /// Makes a file with one record beside the log and moves the anchor there. The file takes no further records until
    /// it is in place.
    private func anchoredFile(
        _ header: LogHeader, first: LogRecord.Content, epoch: UInt32, key: consuming SealKey
    ) throws -> ChainTail {
        try folder.removeReplacement()
        let start = header.start
        var tail = ChainTail(
            file: try LogFile.create(folder.replacement, bytes: header.bytes), header: header, key: key, end: start,
            epoch: epoch, index: LogIndex(base: start), anchored: (0, epoch))
        let storeGeneration = anchors.storeGeneration
        try tail.append(first, storeGeneration: storeGeneration)
        try LogFile.sync(tail.file.source.descriptor)
        try folder.syncNames()
        let snapshot = tail.snapshot(storeGeneration: storeGeneration)
        try anchors.save(snapshot.anchor(sealedBy: sealer))
        tail.syncedCount = tail.count
        tail.anchored = (tail.count, epoch)
        tail.hasLostSync = true
        return tail
    }
}

extension ChainTail {
    /// Appends a record that the log itself makes.
    mutating func append(_ content: LogRecord.Content, storeGeneration: UInt64) throws(AuditLogError) {
        let payload = LogPayload(content, storeGeneration: storeGeneration)
        try RecordBuffer.with(payload) { (record) throws(AuditLogError) in try append(&record) }
    }
}
