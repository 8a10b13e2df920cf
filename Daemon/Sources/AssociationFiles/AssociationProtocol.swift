import CanonicalEncoding
public import ExactNames

/// The descriptors that `ostiary-association` is started with; 0, 1 and 2 are the null device.
public enum AssociationDescriptor {
    /// A socket that keeps messages apart. The helper receives one ``AssociationRequest`` and sends the byte of one
    /// ``AssociationVerdict``.
    public static let channel: Int32 = 3
}

/// A question about one program and one domain.
public struct AssociationRequest: Equatable, Sendable {
    public static let version: UInt8 = 1
    /// The longest encoded request.
    public static let maximumByteCount = 8192

    public let relyingParty: RelyingPartyIdentifier
    /// The name under which the program is registered.
    public let applicationID: ExactName
    public let server: AssociationServer
    /// The time for all of it, in milliseconds.
    public let milliseconds: UInt32

    public init(
        relyingParty: RelyingPartyIdentifier, applicationID: ExactName, server: AssociationServer, milliseconds: UInt32
    ) {
        self.relyingParty = relyingParty
        self.applicationID = applicationID
        self.server = server
        self.milliseconds = milliseconds
    }

    /// One message. Nil for names that are too long.
    public var bytes: [UInt8]? {
        let texts = [relyingParty.domain, applicationID.text, server.connectTo, server.authorities]
        guard texts.reduce(0, { $0 + $1.utf8.count }) <= Self.maximumByteCount - 16 else { return nil }
        var writer = CanonicalWriter()
        writer.write(Self.version)
        for text in texts { writer.write(text.utf8, length: UInt16.self) }
        writer.write(milliseconds)
        return writer.bytes
    }

    /// Nil for bytes that ``bytes`` never has.
    public init?(decoding bytes: [UInt8]) {
        guard bytes.count <= Self.maximumByteCount else { return nil }
        var reader = CanonicalReader(bytes)
        do throws(CanonicalEncodingError) {
            guard try reader.read(UInt8.self) == Self.version else { return nil }
            let domain = try reader.readText(length: UInt16.self)
            guard let relyingParty = RelyingPartyIdentifier(domain) else { return nil }
            self.relyingParty = relyingParty
            applicationID = ExactName(try reader.readText(length: UInt16.self))
            let connectTo = try reader.readText(length: UInt16.self)
            server = AssociationServer(
                connectTo: connectTo, authorities: try reader.readText(length: UInt16.self))
            milliseconds = try reader.read(UInt32.self)
            try reader.finish()
        } catch { return nil }
    }
}

/// Where the files of all domains are fetched. Both parts are empty, except in tests.
public struct AssociationServer: Equatable, Sendable {
    /// The host and port to connect to for every domain; empty for the domain's own.
    public let connectTo: String
    /// The path of the only certificate authorities that count, in PEM; empty for the system's.
    public let authorities: String

    public init(connectTo: String = "", authorities: String = "") {
        self.connectTo = connectTo
        self.authorities = authorities
    }
}

/// Whether a domain confirms that a program may use its credentials. All but the first mean no.
public enum AssociationVerdict: UInt8, Equatable, Sendable, CaseIterable {
    case associated = 1
    /// The file does not name the program.
    case notListed = 2
    /// The server has no such file.
    case notFound = 3
    /// The server points to another place, which is not followed.
    case redirected = 4
    /// The server answered with another status than 200.
    case refused = 5
    case tooLarge = 6
    /// The file is no JSON, or not of the form of association files.
    case malformed = 7
    /// The server could not be reached.
    case unreachable = 8
    case timedOut = 9
    /// The server's certificate is not for the domain, or not of a known authority.
    case untrusted = 10
    /// The helper ended, or could not be started.
    case helperFailed = 11
    /// The administrator's file for the domain exists and does not count, or cannot be read.
    case unreadableFile = 12
}
