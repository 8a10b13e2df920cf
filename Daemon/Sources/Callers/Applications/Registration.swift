import CanonicalEncoding
package import ExactNames
package import Foundation
package import Vault

/// A program that is known by a name of its own, and the access groups that it may use besides.
package struct Registration: Equatable, Sendable {
    /// The file that must be at the path for the registration to count.
    package enum Identity: Equatable, Sendable {
        /// A file that only root can replace.
        case rootOwned
        /// The file of this SHA-256 digest, since the user can replace it.
        case content(Data)
    }

    package let applicationID: ExactName
    /// The access groups that were given, in order; the application's own may be one of them.
    package let groups: [ExactName]
    /// The relying parties whose credentials the program may make and use, in order.
    package let webCredentials: [ExactName]
    /// Whether the program is a browser or serves browsers: it may name any relying party.
    package let isBrowser: Bool
    /// Whether the program may make requests for its clients.
    package let isDoor: Bool
    package let path: ExactName
    package let identity: Identity
    /// From the administrator's folder, not from the owner.
    package var isOfSystem = false
    /// The group that the program alone has; only the administrator gives one.
    var ownGroup: OwnGroup?

    package init(
        applicationID: ExactName, groups: [ExactName], webCredentials: [ExactName] = [], isBrowser: Bool = false,
        isDoor: Bool = false, path: ExactName, identity: Identity, isOfSystem: Bool = false
    ) {
        self.applicationID = applicationID
        self.groups = groups
        self.webCredentials = webCredentials
        self.isBrowser = isBrowser
        self.isDoor = isDoor
        self.path = path
        self.identity = identity
        self.isOfSystem = isOfSystem
    }

    /// Most groups of one program.
    static let groupCount = 16
    /// Most relying parties of one program.
    static let webCredentialCount = 16
    /// Most registrations of one owner.
    package static let count = 256

    /// All groups of the program, in order: its own goes last unless the registration gives it a place.
    package var accessGroups: [ExactName] { groups.contains(applicationID) ? groups : groups + [applicationID] }
}

// MARK: - Stored

extension Registration {
    private static let formatVersion: UInt8 = 4
    /// Before doors.
    private static let browsersFormatVersion: UInt8 = 3
    /// Before browsers.
    private static let domainsFormatVersion: UInt8 = 2
    /// Before programs had relying parties.
    private static let groupsFormatVersion: UInt8 = 1

    /// `version (1) || path || number of groups (1) || each group || 0, or 1 and the digest (32) || number of relying parties
    /// (1) || each || whether it is a browser (1) || whether it is a door (1)`; texts behind their length in four bytes.
    private var encoded: Data {
        var writer = CanonicalWriter()
        writer.write(Self.formatVersion)
        writer.write(Array(path.utf8), length: UInt32.self)
        writer.write(UInt8(groups.count))
        for group in groups { writer.write(Array(group.utf8), length: UInt32.self) }
        switch identity {
        case .rootOwned: writer.write(UInt8(0))
        case .content(let digest):
            writer.write(UInt8(1))
            writer.write(fixed: digest)
        }
        writer.write(UInt8(webCredentials.count))
        for domain in webCredentials { writer.write(Array(domain.utf8), length: UInt32.self) }
        writer.write(flag: isBrowser)
        writer.write(flag: isDoor)
        return Data(writer.bytes)
    }

    /// The row of a registration: an object without key and slots, which the store authenticates as it does all. Its group is the
    /// program's path: so the list of the rows still tells which program a row was for when somebody has removed the row.
    package func record(owner: VaultID, replacing former: ObjectRecord? = nil) -> ObjectRecord {
        ObjectRecord(
            id: former?.id ?? VaultID(), owner: owner, kind: .application, suite: 0,
            generation: former.map { $0.generation + 1 } ?? 1,
            attributes: ObjectAttributes(
                group: path, identifier: applicationID,
                created: former?.attributes.created ?? UInt64(Date().timeIntervalSince1970)),
            accessControl: Data(), enclaveKind: 0, publicKey: Data(), keyBlob: Data(), payload: encoded, slots: Data())
    }

    /// Reads a row; nil when it is not one that ``record(owner:replacing:)`` makes.
    package init?(_ record: ObjectRecord) {
        guard record.kind == .application, let payload = record.payload else { return nil }
        var reader = CanonicalReader(Array(payload))
        do {
            let version = try reader.read(UInt8.self)
            guard Self.groupsFormatVersion...Self.formatVersion ~= version else { return nil }
            path = ExactName(try reader.readText(length: UInt32.self))
            groups = try Self.readNames(from: &reader)
            switch try reader.read(UInt8.self) {
            case 0: identity = .rootOwned
            case 1: identity = .content(Data(try reader.read(fixed: 32)))
            default: return nil
            }
            webCredentials = version >= Self.domainsFormatVersion ? try Self.readNames(from: &reader) : []
            isBrowser = version >= Self.browsersFormatVersion ? try Self.readFlag(from: &reader) : false
            isDoor = version == Self.formatVersion ? try Self.readFlag(from: &reader) : false
            try reader.finish()
        } catch { return nil }
        applicationID = record.attributes.identifier
        guard defect == nil else { return nil }
    }

    /// On its way into another store: the application's id behind its length in four bytes, then the row's content.
    package var transferred: [UInt8] {
        var writer = CanonicalWriter()
        writer.write(Array(applicationID.utf8), length: UInt32.self)
        writer.write(fixed: encoded)
        return writer.takeBytes()
    }

    /// Reads what ``transferred`` gives; nil for anything else.
    package init?(transferred bytes: [UInt8]) {
        var reader = CanonicalReader(bytes)
        guard let name = try? reader.readText(length: UInt32.self) else { return nil }
        let content = Data(bytes.dropFirst(4 + name.utf8.count))
        self.init(
            ObjectRecord(
                id: VaultID(), owner: VaultID(), kind: .application, suite: 0, generation: 1,
                attributes: ObjectAttributes(group: "", identifier: ExactName(name), created: 0),
                accessControl: Data(), enclaveKind: 0, publicKey: Data(), keyBlob: Data(), payload: content,
                slots: Data()))
        guard transferred == bytes else { return nil }
    }

    private static func readNames(from reader: inout CanonicalReader) throws -> [ExactName] {
        let count = try reader.read(UInt8.self)
        return try (0..<count).map { _ in ExactName(try reader.readText(length: UInt32.self)) }
    }

    private static func readFlag(from reader: inout CanonicalReader) throws -> Bool {
        switch try reader.read(UInt8.self) {
        case 0: return false
        case 1: return true
        default: throw NoFlag()
        }
    }

    private struct NoFlag: Error {}
}
