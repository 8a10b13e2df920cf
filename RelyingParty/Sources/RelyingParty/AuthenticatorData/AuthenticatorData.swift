import CanonicalCBOR
import Foundation

/// An authenticator's data on itself and the ceremony (WebAuthn Level 3, section 6.1): 32 bytes hash of the relying
/// party's identifier, one of flags, four of counter, then a new credential and extension outputs if the flags say so.
struct AuthenticatorData: Sendable {
    /// A new credential: 16 bytes of the authenticator's model, two of length, the ID, the public key in CBOR.
    struct Credential: Sendable {
        let aaguid: ArraySlice<UInt8>
        let id: ArraySlice<UInt8>
        let publicKey: ArraySlice<UInt8>
        let publicKeyValue: CBORValue
    }

    let bytes: ArraySlice<UInt8>
    let relyingPartyHash: ArraySlice<UInt8>
    let flags: AuthenticatorFlags
    let signatureCounter: UInt32
    let credential: Credential?
    let extensions: CBORMap?

    /// - Parameter hasCredential: whether a new credential must be there; otherwise none may be.
    init(_ bytes: ArraySlice<UInt8>, hasCredential: Bool) throws(AuthenticatorDataError) {
        self.bytes = bytes
        var reader = Fields(rest: bytes)
        relyingPartyHash = try reader.take(32)
        flags = AuthenticatorFlags(rawValue: UInt8(try reader.number(1)))
        signatureCounter = UInt32(try reader.number(4))
        switch (flags.contains(.hasCredential), hasCredential) {
        case (false, true): throw .credentialMissing
        case (true, false): throw .credentialNotExpected
        case (true, true): credential = try reader.credential()
        case (false, false): credential = nil
        }
        extensions = flags.contains(.hasExtensions) ? try reader.extensions() : nil
        guard reader.rest.isEmpty else { throw .trailingBytes(reader.rest.count) }
    }

    private struct Fields {
        var rest: ArraySlice<UInt8>

        mutating func take(_ count: Int) throws(AuthenticatorDataError) -> ArraySlice<UInt8> {
            guard count <= rest.count else { throw .truncated }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }

        /// An unsigned number, its first byte the most significant.
        mutating func number(_ count: Int) throws(AuthenticatorDataError) -> UInt64 {
            try take(count).reduce(0) { $0 << 8 | UInt64($1) }
        }

        mutating func credential() throws(AuthenticatorDataError) -> Credential {
            let aaguid = try take(16)
            let count = Int(try number(2))
            guard (1...Limits.credentialIDByteCount).contains(count) else { throw .credentialIDLength(count) }
            let id = try take(count)
            let start = rest
            do {
                let (value, rest) = try CBORDecoder.decodeFirst(of: start, .canonical)
                self.rest = rest
                return Credential(
                    aaguid: aaguid, id: id, publicKey: start[..<rest.startIndex], publicKeyValue: value)
            } catch {
                throw .publicKeyNotCBOR(error)
            }
        }

        mutating func extensions() throws(AuthenticatorDataError) -> CBORMap {
            let value: CBORValue
            do {
                (value, rest) = try CBORDecoder.decodeFirst(of: rest, .canonical)
            } catch {
                throw .extensionsNotCBOR(error)
            }
            guard let map = value.map else { throw .extensionsNotMap }
            return map
        }
    }
}
