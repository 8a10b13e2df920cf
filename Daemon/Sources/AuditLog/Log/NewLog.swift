import SecretMemory

/// Makes a log that takes the place of another, or of none. Whenever it is interrupted, opening finds either what was there
/// before or the new log: the replacement is complete before the anchor names it, and put into place after that.
struct NewLog {
    let folder: LogFolder
    let anchors: any AnchorStore
    let sealer: any LogKeySealer

    func make(first: LogRecord.Content, epoch: UInt32, seed: borrowing SecretBytes) throws -> ChainTail {
        try folder.removeReplacement()
        let header = LogFormat.newHeader()
        let start = Checkpoint(
            index: 0, position: LogFormat.headerByteCount, head: HashChain.initialHead(header: header))
        var tail = ChainTail(
            file: try LogFile.create(folder.replacement, bytes: header), key: SealKey(epochSeed: seed), end: start,
            epoch: epoch, index: LogIndex(base: start), anchored: (0, epoch))
        let storeGeneration = anchors.storeGeneration
        try tail.append(first, storeGeneration: storeGeneration)
        try LogFile.sync(tail.file.source.descriptor)
        try folder.syncNames()
        let snapshot = tail.snapshot(storeGeneration: storeGeneration)
        try anchors.save(snapshot.anchor(sealedBy: sealer))
        try folder.installReplacement()
        tail.syncedCount = tail.count
        tail.anchored = (tail.count, epoch)
        return tail
    }
}

extension ChainTail {
    /// Appends a record of the log itself.
    mutating func append(_ content: LogRecord.Content, storeGeneration: UInt64) throws(AuditLogError) {
        let payload = LogPayload(content, storeGeneration: storeGeneration)
        try RecordBuffer.with(payload) { (record) throws(AuditLogError) in try append(&record) }
    }
}
