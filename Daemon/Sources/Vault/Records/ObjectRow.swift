import CanonicalEncoding
import ExactNames
import Foundation

/// An ``ObjectRecord`` as it is stored: its attributes encrypted, its name digested.
struct ObjectRow: SealedRecord {
    static var table: VaultTable { .objects }

    private let id: VaultID
    let nameDigest: Data
    let columns: [ColumnValue]
    var rowKey: Data { id.bytes }

    init(_ record: ObjectRecord, protector: any RecordProtector) throws {
        id = record.id
        let name = ObjectName(
            owner: record.owner, kind: record.kind, group: record.attributes.group,
            identifier: record.attributes.identifier)
        nameDigest = try name.digest(by: protector)
        let attributes = try protector.protect(record.attributes.encoded, label: ProtectionLabel.attributes)
        columns = [
            .integer(Int64(record.kind.rawValue)), .integer(Int64(record.suite)), .blob(nameDigest), .blob(attributes),
            .blob(record.accessControl), .integer(Int64(record.enclaveKind)), .blob(record.publicKey),
            .blob(record.keyBlob), record.payload.map(ColumnValue.blob) ?? .null, .blob(record.slots),
        ]
    }

    /// What the list says of the object that this row holds.
    func tag(of record: ObjectRecord, by protector: any RecordProtector) throws -> ObjectTag {
        ObjectTag(
            name: nameDigest,
            place: try ObjectPlace(record.kind, group: record.attributes.group, of: record.owner, by: protector))
    }

    init(_ row: SealedRow) throws(MalformedRow) {
        guard let id = VaultID(bytes: row.key), row.columns.count == Self.table.columns.count,
            case .blob(let nameDigest) = row.columns[2]
        else { throw MalformedRow() }
        self.id = id
        self.nameDigest = nameDigest
        columns = row.columns
    }

    /// The record. Throws ``MalformedRow``, or an error of the protector.
    func record(owner: VaultID, generation: UInt64, protector: any RecordProtector) throws -> ObjectRecord {
        var columns = ColumnReader(columns)
        let kind: ObjectKind = try columns.code()
        let suite: UInt8 = try columns.integer()
        _ = try columns.blob()  // The name digest, read at decoding.
        let attributes = try ObjectAttributes(
            encoded: protector.unprotect(try columns.blob(), label: ProtectionLabel.attributes))
        let name = ObjectName(owner: owner, kind: kind, group: attributes.group, identifier: attributes.identifier)
        guard try name.digest(by: protector) == nameDigest else { throw MalformedRow() }
        return ObjectRecord(
            id: id, owner: owner, kind: kind, suite: suite, generation: generation, attributes: attributes,
            accessControl: try columns.blob(), enclaveKind: try columns.integer(), publicKey: try columns.blob(),
            keyBlob: try columns.blob(), payload: try columns.optionalBlob(), slots: try columns.blob())
    }
}

extension ObjectAttributes {
    var encoded: Data {
        var writer = CanonicalWriter()
        writer.write(
            sshConstraints.isEmpty ? VaultFormat.attributesVersion : VaultFormat.constrainedAttributesVersion)
        writer.write(Array(group.utf8), length: UInt32.self)
        writer.write(Array(identifier.utf8), length: UInt32.self)
        writer.write(applicationLabel, length: UInt32.self)
        writer.write(created)
        writer.write(flags)
        if !sshConstraints.isEmpty { writer.write(sshConstraints, length: UInt32.self) }
        return Data(writer.bytes)
    }

    init(encoded: Data) throws(MalformedRow) {
        do {
            var reader = CanonicalReader(Array(encoded))
            let version = try reader.read(UInt8.self)
            let isConstrained = version == VaultFormat.constrainedAttributesVersion
            guard isConstrained || version == VaultFormat.attributesVersion else { throw MalformedRow() }
            self.init(
                group: ExactName(try reader.readText(length: UInt32.self)),
                identifier: ExactName(try reader.readText(length: UInt32.self)),
                applicationLabel: Data(try reader.read(length: UInt32.self)), created: try reader.read(UInt64.self),
                flags: try reader.read(UInt32.self),
                sshConstraints: isConstrained ? Data(try reader.read(length: UInt32.self)) : Data())
            try reader.finish()
            // The one form of attributes without constraints is the older one.
            guard isConstrained == !sshConstraints.isEmpty else { throw MalformedRow() }
        } catch {
            throw MalformedRow()
        }
    }
}
