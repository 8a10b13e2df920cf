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
            file: try LogFile.create(folder.replacement, bytes: header), key: SealKey(epochSeed: seed),
            head: start.head, count: 0, epoch: epoch, checkpoints: [start], anchored: (0, epoch))
        try tail.append(payload: first.payload)
        try LogFile.sync(tail.file.descriptor)
        try folder.syncNames()
        let snapshot = tail.snapshot()
        try anchors.save(snapshot.anchor(sealedBy: sealer))
        try folder.installReplacement()
        tail.syncedCount = tail.count
        tail.anchored = (tail.count, epoch)
        return tail
    }
}
