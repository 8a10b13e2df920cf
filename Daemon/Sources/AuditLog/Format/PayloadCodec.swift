import CanonicalEncoding

/// The bytes of a payload are not what this program writes.
struct MalformedPayload: Error {}

/// Content of a record ⟷ payload. Layout: `Documentation/formats/audit-log.md`.
extension LogRecord.Content {
    private static let version: UInt8 = 1

    private enum Kind: UInt8 {
        case entry = 1
        case epochStart = 2
        case beganAnew = 3
    }

    var payload: [UInt8] {
        var writer = CanonicalWriter(capacity: 256)
        writer.write(Self.version)
        switch self {
        case .entry(let entry):
            writer.write(Kind.entry.rawValue)
            entry.write(to: &writer)
        case .epochStart(let number, let time):
            writer.write(Kind.epochStart.rawValue)
            writer.write(number)
            writer.write(time)
        case .beganAnew(let epoch, let time, let formerCount, let firstMisfit):
            writer.write(Kind.beganAnew.rawValue)
            writer.write(epoch)
            writer.write(time)
            writer.write(formerCount)
            writer.write(firstMisfit)
        }
        return writer.bytes
    }

    /// Accepts exactly what ``payload`` gives.
    init(payload: [UInt8]) throws(MalformedPayload) {
        do {
            var reader = CanonicalReader(payload)
            self = try Self.read(from: &reader)
            try reader.finish()
        } catch {
            throw MalformedPayload()
        }
        guard self.payload == payload else { throw MalformedPayload() }
    }

    private static func read(from reader: inout CanonicalReader) throws -> Self {
        guard try reader.read(UInt8.self) == version, let kind = Kind(rawValue: try reader.read(UInt8.self)) else {
            throw MalformedPayload()
        }
        switch kind {
        case .entry:
            return .entry(try AuditEntry(from: &reader))
        case .epochStart:
            return .epochStart(number: try reader.read(UInt32.self), time: try reader.read(UInt64.self))
        case .beganAnew:
            return .beganAnew(
                epoch: try reader.read(UInt32.self), time: try reader.read(UInt64.self),
                formerCount: try reader.read(UInt64.self), firstMisfit: try reader.read(UInt64.self))
        }
    }
}

extension AuditEntry {
    fileprivate func write(to writer: inout CanonicalWriter) {
        writer.write(time)
        writer.write(event.utf8, length: UInt16.self)
        writer.write(result.utf8, length: UInt16.self)
        writer.write(program.utf8, length: UInt16.self)
        writer.write(processID)
        writer.write(object.utf8, length: UInt16.self)
        writer.write(operation.utf8, length: UInt16.self)
        writer.write(UInt8(factors.count))
        for factor in factors { writer.write(factor.utf8, length: UInt16.self) }
        writer.write(strength.utf8, length: UInt16.self)
        writer.write(reason.utf8, length: UInt16.self)
        writer.write(repetitions)
    }

    /// Evaluated in the order of the layout.
    fileprivate init(from reader: inout CanonicalReader) throws(CanonicalEncodingError) {
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
            time: time, event: event, result: result, program: program, processID: processID, object: object,
            operation: operation, factors: factors, strength: try reader.readText(length: UInt16.self),
            reason: try reader.readText(length: UInt16.self), repetitions: try reader.read(UInt32.self))
    }
}

extension LogRecord.Content {
    /// Whether an authentic payload says that another epoch begins.
    static func startsEpoch(payload: [UInt8]) -> Bool {
        payload.count > 1 && payload[1] == Kind.epochStart.rawValue
    }

    /// The epoch that the next record's key belongs to, if this record says so.
    var beginningEpoch: UInt32? {
        switch self {
        case .entry: nil
        case .epochStart(let number, _): number
        case .beganAnew(let epoch, _, _, _): epoch
        }
    }
}
