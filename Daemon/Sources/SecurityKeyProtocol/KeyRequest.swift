import CanonicalEncoding

/// A request of the daemon to `ostiary-fido`. One at a time; only ``cancel`` may come while one runs.
package enum KeyRequest: Equatable, Sendable {
    /// Describes the key. The person notices nothing.
    case describe
    /// Waits until the person touches the key.
    case select
    /// The frame's secret is the PIN, empty for none.
    case create(KeyCreation)
    /// The frame's secret is the PIN, empty for none.
    case assert(KeyAssertion)
    /// The frame's secret is the PIN that the key gets; it has none yet.
    case setPIN
    /// The frame's secret is the present PIN, and behind it the new one.
    case changePIN(currentByteCount: UInt8)
    /// Ends the running request, which then reports a failure. No answer of its own.
    case cancel

    private enum Kind: UInt8 {
        case describe = 1, select, create, assert, setPIN, changePIN, cancel
    }

    package static let version: UInt8 = 1

    package var bytes: [UInt8] {
        var writer = CanonicalWriter()
        writer.write(Self.version)
        switch self {
        case .describe: writer.write(Kind.describe.rawValue)
        case .select: writer.write(Kind.select.rawValue)
        case .create(let creation):
            writer.write(Kind.create.rawValue)
            creation.write(to: &writer)
        case .assert(let assertion):
            writer.write(Kind.assert.rawValue)
            assertion.write(to: &writer)
        case .setPIN: writer.write(Kind.setPIN.rawValue)
        case .changePIN(let count):
            writer.write(Kind.changePIN.rawValue)
            writer.write(count)
        case .cancel: writer.write(Kind.cancel.rawValue)
        }
        return writer.bytes
    }

    /// Nil for bytes that ``bytes`` never has.
    package init?(decoding bytes: [UInt8]) {
        var reader = CanonicalReader(bytes)
        do throws(CanonicalEncodingError) {
            guard try reader.read(UInt8.self) == Self.version else { return nil }
            guard let kind = Kind(rawValue: try reader.read(UInt8.self)) else { return nil }
            switch kind {
            case .describe: self = .describe
            case .select: self = .select
            case .create: self = .create(try KeyCreation(from: &reader))
            case .assert: self = .assert(try KeyAssertion(from: &reader))
            case .setPIN: self = .setPIN
            case .changePIN: self = .changePIN(currentByteCount: try reader.read(UInt8.self))
            case .cancel: self = .cancel
            }
            try reader.finish()
        } catch { return nil }
    }
}

/// A credential to make, with everything decided that depends on the key.
package struct KeyCreation: Equatable, Sendable {
    /// 32 bytes.
    package var clientDataHash: [UInt8]
    package var relyingParty: String
    package var relyingPartyName: String
    /// 1 to 64 bytes.
    package var userHandle: [UInt8]
    package var userName: String
    package var userDisplayName: String
    /// The COSE identifier of the only algorithm.
    package var algorithm: Int32
    package var excluded: [[UInt8]] = []
    package var isDiscoverable = false
    /// The key verifies the person by itself; the PIN, where there is one, takes the place of that.
    package var verifiesUser = false
    package var wantsHMACSecret = false
    package var wantsLargeBlobKey = false
    /// 1 to 3; 0 for the key's own level (CTAP 2.1, 12.1).
    package var protection: UInt8 = 0

    package init(
        clientDataHash: [UInt8], relyingParty: String, relyingPartyName: String, userHandle: [UInt8], userName: String,
        userDisplayName: String, algorithm: Int32
    ) {
        self.clientDataHash = clientDataHash
        self.relyingParty = relyingParty
        self.relyingPartyName = relyingPartyName
        self.userHandle = userHandle
        self.userName = userName
        self.userDisplayName = userDisplayName
        self.algorithm = algorithm
    }

    func write(to writer: inout CanonicalWriter) {
        writer.write(clientDataHash, length: UInt8.self)
        writer.write(relyingParty.utf8, length: UInt16.self)
        writer.write(relyingPartyName.utf8, length: UInt16.self)
        writer.write(userHandle, length: UInt8.self)
        writer.write(userName.utf8, length: UInt16.self)
        writer.write(userDisplayName.utf8, length: UInt16.self)
        writer.write(UInt32(bitPattern: algorithm))
        writer.write(credentials: excluded)
        writer.write(flag: isDiscoverable)
        writer.write(flag: verifiesUser)
        writer.write(flag: wantsHMACSecret)
        writer.write(flag: wantsLargeBlobKey)
        writer.write(protection)
    }

    init(from reader: inout CanonicalReader) throws(CanonicalEncodingError) {
        self.init(
            clientDataHash: try reader.readHash(), relyingParty: try reader.readName(),
            relyingPartyName: try reader.readName(), userHandle: try reader.readUserHandle(),
            userName: try reader.readName(), userDisplayName: try reader.readName(),
            algorithm: Int32(bitPattern: try reader.read(UInt32.self)))
        excluded = try reader.readCredentials()
        isDiscoverable = try reader.readFlag()
        verifiesUser = try reader.readFlag()
        wantsHMACSecret = try reader.readFlag()
        wantsLargeBlobKey = try reader.readFlag()
        protection = try reader.read(UInt8.self)
        guard protection <= 3 else { throw .unknownChoice }
    }
}

/// A signature to make, with everything decided that depends on the key.
package struct KeyAssertion: Equatable, Sendable {
    /// 32 bytes.
    package var clientDataHash: [UInt8]
    package var relyingParty: String
    /// The other name under which credentials of FIDO U2F were made; empty for none.
    package var appID = ""
    /// Empty for every discoverable credential.
    package var allowed: [AllowedCredential] = []
    /// The key verifies the person by itself; the PIN, where there is one, takes the place of that.
    package var verifiesUser = false
    /// For credentials without salts of their own; none, one of 32 bytes, or two.
    package var salts: [UInt8] = []
    package var largeBlob = LargeBlob.none

    package struct AllowedCredential: Equatable, Sendable {
        package var identifier: [UInt8]
        /// None, one of 32 bytes, or two; they take the place of the assertion's.
        package var salts: [UInt8] = []

        package init(_ identifier: [UInt8], salts: [UInt8] = []) {
            (self.identifier, self.salts) = (identifier, salts)
        }
    }

    package enum LargeBlob: Equatable, Sendable {
        case none, read
        case write([UInt8])
    }

    package init(clientDataHash: [UInt8], relyingParty: String) {
        (self.clientDataHash, self.relyingParty) = (clientDataHash, relyingParty)
    }

    func write(to writer: inout CanonicalWriter) {
        writer.write(clientDataHash, length: UInt8.self)
        writer.write(relyingParty.utf8, length: UInt16.self)
        writer.write(appID.utf8, length: UInt16.self)
        writer.write(credentials: allowed.map(\.identifier))
        for credential in allowed { writer.write(credential.salts, length: UInt8.self) }
        writer.write(flag: verifiesUser)
        writer.write(salts, length: UInt8.self)
        switch largeBlob {
        case .none: writer.write(UInt8(0))
        case .read: writer.write(UInt8(1))
        case .write(let blob):
            writer.write(UInt8(2))
            writer.write(blob, length: UInt16.self)
        }
    }

    init(from reader: inout CanonicalReader) throws(CanonicalEncodingError) {
        self.init(clientDataHash: try reader.readHash(), relyingParty: try reader.readName())
        appID = try reader.readName()
        for identifier in try reader.readCredentials() { allowed.append(AllowedCredential(identifier)) }
        for index in allowed.indices { allowed[index].salts = try reader.readSalts() }
        verifiesUser = try reader.readFlag()
        salts = try reader.readSalts()
        switch try reader.read(UInt8.self) {
        case 0: largeBlob = .none
        case 1: largeBlob = .read
        case 2: largeBlob = .write(try reader.read(length: UInt16.self))
        default: throw .unknownChoice
        }
    }
}
