package import CanonicalCBOR
import Crypto
package import ExactNames
import Foundation

/// What each signature covers, beside the hash of the client data (WebAuthn 6.1).
package struct AuthenticatorData: Sendable {
    package struct Flags: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let userPresent = Flags(rawValue: 1 << 0)
        package static let userVerified = Flags(rawValue: 1 << 2)
        static let attestedCredential = Flags(rawValue: 1 << 6)
        static let extensions = Flags(rawValue: 1 << 7)
    }

    /// Says who was proved. The flags BE and BS are never set: no credential leaves this authenticator.
    package var flags: Flags
    package var relyingParty: ExactName
    package var counter: UInt32
    /// The model of the authenticator, the identifier and the COSE key of a new credential.
    package var newCredential: (model: [UInt8], identifier: [UInt8], publicKey: [UInt8])?
    /// A map; nil without extensions.
    package var extensions: CBORValue?

    package var bytes: [UInt8] {
        var flags = flags
        if newCredential != nil { flags.insert(.attestedCredential) }
        if extensions != nil { flags.insert(.extensions) }
        var bytes = Self.hash(of: relyingParty) + [flags.rawValue]
        bytes += unsafe withUnsafeBytes(of: counter.bigEndian) { unsafe [UInt8]($0) }
        if let new = newCredential {
            let count = new.identifier.count
            bytes += new.model + [UInt8(count >> 8), UInt8(count & 0xFF)] + new.identifier + new.publicKey
        }
        return bytes + (extensions?.encoded ?? [])
    }

    package static func hash(of relyingParty: ExactName) -> [UInt8] {
        [UInt8](SHA256.hash(data: Data(relyingParty.utf8)))
    }
}
