import CanonicalEncoding
import ExactNames

/// This program does not write such a payload.
struct MalformedPayload: Error {}

/// The payload of a record: its content, the store's generation, and how its key relates to the key before. Layout:
/// `Documentation/formats/audit-log.md`.
struct LogPayload: Equatable, Sendable {
    var start: PayloadStart
    let content: LogRecord.Content

    init(_ content: LogRecord.Content, storeGeneration: UInt64, keyUse: KeyUse = .first) {
        start = PayloadStart(kind: content.kind, keyUse: keyUse, storeGeneration: storeGeneration)
        self.content = content
    }

    /// Accepts exactly the bytes that ``write(to:)`` writes.
    init(bytes: [UInt8]) throws(MalformedPayload) {
        guard let start = PayloadStart(bytes) else { throw MalformedPayload() }
        self.start = start
        do {
            var reader = CanonicalReader(Array(bytes[PayloadStart.byteCount...]))
            content = try LogRecord.Content(start.kind, from: &reader)
            try reader.finish()
        } catch {
            throw MalformedPayload()
        }
        guard self.bytes == bytes else { throw MalformedPayload() }
    }

    /// How many bytes ``write(to:)`` writes.
    var byteCount: Int { PayloadStart.byteCount + content.byteCount }

    func write(to writer: inout PayloadWriter) {
        start.write(to: &writer)
        content.write(to: &writer)
    }

    var bytes: [UInt8] {
        let count = byteCount
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            var writer = unsafe PayloadWriter(UnsafeMutableRawBufferPointer(buffer))
            write(to: &writer)
            initializedCount = writer.count
        }
    }
}

/// How the key of a record relates to the key of the record before it.
enum KeyUse: UInt8, Sendable {
    /// The same key.
    case same = 0
    /// This record is the first one under its key.
    case first = 1
}

/// The fields at the beginning of a payload, which can be read alone.
struct PayloadStart: Equatable, Sendable {
    enum Kind: UInt8, Sendable {
        case entry = 1
        case epochStart = 2
        case beganAnew = 3
        case partStart = 4
        /// An entry with a lease behind its fields.
        case leasedEntry = 5

        var isEntry: Bool { self == .entry || self == .leasedEntry }
    }

    let kind: Kind
    var keyUse: KeyUse
    let storeGeneration: UInt64

    /// Versions 1 and 2 are those of builds from before the first release.
    static let version: UInt8 = 3
    /// The offset of ``keyUse``.
    static let keyUseOffset = 2
    static let byteCount = 11

    init(kind: Kind, keyUse: KeyUse, storeGeneration: UInt64) {
        self.kind = kind
        self.keyUse = keyUse
        self.storeGeneration = storeGeneration
    }

    /// Nil if the version or kind is unknown.
    init?(_ payload: [UInt8]) {
        guard payload.count >= Self.byteCount, payload[0] == Self.version, let kind = Kind(rawValue: payload[1]),
            let keyUse = KeyUse(rawValue: payload[Self.keyUseOffset])
        else { return nil }
        let generation = payload[3..<Self.byteCount].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        self.init(kind: kind, keyUse: keyUse, storeGeneration: generation)
    }

    func write(to writer: inout PayloadWriter) {
        writer.write(Self.version)
        writer.write(kind.rawValue)
        writer.write(keyUse.rawValue)
        writer.write(storeGeneration)
    }
}

extension RawRecord {
    /// The record's owner, from its first bytes alone; nil for a record of the daemon itself.
    var owner: OwnerID? {
        let end = PayloadStart.byteCount + OwnerID.byteCount
        guard PayloadStart(payload)?.kind.isEntry == true, payload.count >= end else { return nil }
        let bytes = payload[PayloadStart.byteCount..<end]
        return bytes.allSatisfy { $0 == 0 } ? nil : OwnerID(bytes: bytes)
    }
}

extension LogRecord.Content {
    fileprivate var kind: PayloadStart.Kind {
        switch self {
        case .entry(let entry): entry.leaseID == nil ? .entry : .leasedEntry
        case .epochStart: .epochStart
        case .beganAnew: .beganAnew
        case .partStart: .partStart
        }
    }

    fileprivate var byteCount: Int {
        switch self {
        case .entry(let entry): entry.byteCount
        case .epochStart, .partStart: 12
        case .beganAnew: 28
        }
    }

    fileprivate func write(to writer: inout PayloadWriter) {
        switch self {
        case .entry(let entry):
            entry.write(to: &writer)
        case .epochStart(let number, let time), .partStart(let number, let time):
            writer.write(number)
            writer.write(time)
        case .beganAnew(let epoch, let time, let formerCount, let firstMisfit):
            writer.write(epoch)
            writer.write(time)
            writer.write(formerCount)
            writer.write(firstMisfit)
        }
    }

    fileprivate init(
        _ kind: PayloadStart.Kind, from reader: inout CanonicalReader
    ) throws(CanonicalEncodingError) {
        switch kind {
        case .entry, .leasedEntry:
            self = .entry(try AuditEntry(from: &reader, hasLease: kind == .leasedEntry))
        case .epochStart:
            self = .epochStart(number: try reader.read(UInt32.self), time: try reader.read(UInt64.self))
        case .partStart:
            self = .partStart(number: try reader.read(UInt32.self), time: try reader.read(UInt64.self))
        case .beganAnew:
            self = .beganAnew(
                epoch: try reader.read(UInt32.self), time: try reader.read(UInt64.self),
                formerCount: try reader.read(UInt64.self), firstMisfit: try reader.read(UInt64.self))
        }
    }

    /// The epoch of the next record's key, if this record begins one.
    var beginningEpoch: UInt32? {
        switch self {
        case .entry, .partStart: nil
        case .epochStart(let number, _): number
        case .beganAnew(let epoch, _, _, _): epoch
        }
    }
}

extension AuditEntry {
    /// How many bytes the entry has within its record.
    public var byteCount: Int {
        let texts = event.utf8.count + result.utf8.count + program.utf8.count + object.utf8.count
        let more = operation.utf8.count + strength.utf8.count + reason.utf8.count
        let lease = leaseID == nil ? 0 : 8
        // Owner, time, process id, number of factors, repetitions, and the lengths of seven texts.
        return factors.reduce(OwnerID.byteCount + 8 + 4 + 1 + 4 + 7 * 2 + texts + more + lease) {
            $0 + 2 + $1.utf8.count
        }
    }

    fileprivate func write(to writer: inout PayloadWriter) {
        // Zeros stand for the daemon: an owner's bytes are random.
        let owner = owner?.numbers ?? (0, 0)
        writer.write(owner.0)
        writer.write(owner.1)
        writer.write(time)
        writer.write(event)
        writer.write(result)
        writer.write(program)
        writer.write(processID)
        writer.write(object)
        writer.write(operation)
        writer.write(UInt8(factors.count))
        for factor in factors { writer.write(factor) }
        writer.write(strength)
        writer.write(reason)
        writer.write(repetitions)
        if let leaseID { writer.write(leaseID) }
    }

    /// Evaluated in the order of the layout.
    fileprivate init(from reader: inout CanonicalReader, hasLease: Bool) throws(CanonicalEncodingError) {
        let owner = (try reader.read(UInt64.self), try reader.read(UInt64.self))
        let time = try reader.read(UInt64.self)
        let event = try reader.readText(length: UInt16.self)
        let result = try reader.readText(length: UInt16.self)
        let program = try reader.readText(length: UInt16.self)
        let processID = try reader.read(UInt32.self)
        let object = try reader.readText(length: UInt16.self)
        let operation = try reader.readText(length: UInt16.self)
        var factors: [String] = []
        for _ in 0..<(try reader.read(UInt8.self)) { factors.append(try reader.readText(length: UInt16.self)) }
        self.init(
            time: time, owner: owner == (0, 0) ? nil : OwnerID(numbers: owner), event: event, result: result,
            program: program, processID: processID, object: object, operation: operation, factors: factors,
            strength: try reader.readText(length: UInt16.self), reason: try reader.readText(length: UInt16.self),
            repetitions: try reader.read(UInt32.self), leaseID: hasLease ? try reader.read(UInt64.self) : nil)
    }
}
