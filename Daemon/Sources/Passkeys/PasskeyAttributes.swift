package import AuthenticatorRequests
import CTAP
import CanonicalEncoding
import ExactNames
import Foundation

/// The store's data of a passkey beside its key, encrypted: for whom it is, and how often it signed. The bytes are
/// described in `Documentation/formats/passkeys.md`.
package struct PasskeyAttributes: Sendable, Equatable {
    package var relyingParty: RelyingPartyName
    package var user: CredentialUser
    /// Signatures so far, the one of the attestation included.
    package var signatureCount: UInt32
    var protection: CredentialProtection
    var hasSecret: Bool
    /// Whether it answers a relying party that names no credential.
    var isDiscoverable: Bool

    private static let version: UInt8 = 2
    /// Had no flag of discoverability.
    private static let formerVersion: UInt8 = 1

    var encoded: Data {
        var writer = CanonicalWriter()
        writer.write(Self.version)
        writer.write(Array(relyingParty.identifier.utf8), length: UInt16.self)
        Self.write(relyingParty.name, to: &writer)
        writer.write(user.identifier, length: UInt8.self)
        Self.write(user.name, to: &writer)
        Self.write(user.displayName, to: &writer)
        writer.write(protection.rawValue)
        writer.write(flag: hasSecret)
        writer.write(flag: isDiscoverable)
        writer.write(signatureCount)
        return Data(writer.bytes)
    }

    private static func write(_ name: String?, to writer: inout CanonicalWriter) {
        writer.write(flag: name != nil)
        if let name { writer.write(Array(name.utf8), length: UInt16.self) }
    }

    /// - Throws: ``UnreadablePasskey`` for anything that ``encoded`` does not produce, and has not produced in version 1. All
    ///   passkeys of that version count as discoverable.
    init(encoded: Data) throws(UnreadablePasskey) {
        do {
            var reader = CanonicalReader(Array(encoded))
            let version = try reader.read(UInt8.self)
            guard [Self.formerVersion, Self.version].contains(version) else { throw UnreadablePasskey() }
            let domain = try reader.readText(length: UInt16.self)
            relyingParty = RelyingPartyName(identifier: ExactName(domain), name: try Self.readName(from: &reader))
            user = CredentialUser(identifier: try reader.read(length: UInt8.self))
            user.name = try Self.readName(from: &reader)
            user.displayName = try Self.readName(from: &reader)
            guard let protection = CredentialProtection(rawValue: try reader.read(UInt8.self)) else {
                throw UnreadablePasskey()
            }
            self.protection = protection
            hasSecret = try Self.readFlag(from: &reader)
            isDiscoverable = version == Self.formerVersion ? true : try Self.readFlag(from: &reader)
            signatureCount = try reader.read(UInt32.self)
            try reader.finish()
        } catch {
            throw UnreadablePasskey()
        }
    }

    private static func readFlag(from reader: inout CanonicalReader) throws -> Bool {
        switch try reader.read(UInt8.self) {
        case 0: return false
        case 1: return true
        default: throw UnreadablePasskey()
        }
    }

    private static func readName(from reader: inout CanonicalReader) throws -> String? {
        try readFlag(from: &reader) ? try reader.readText(length: UInt16.self) : nil
    }

    init(_ new: NewCredential, signatureCount: UInt32) {
        relyingParty = new.relyingParty
        user = new.user
        protection = new.protection
        hasSecret = new.hasSecret
        isDiscoverable = new.isDiscoverable
        self.signatureCount = signatureCount
    }
}

/// A verified row whose attributes are none of a passkey.
package struct UnreadablePasskey: Error, Equatable {}
