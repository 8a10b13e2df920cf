public import CanonicalCBOR
import Foundation

/// Why an attestation object cannot be read (WebAuthn Level 3, section 6.5.4).
public enum AttestationObjectError: Error, Equatable, Sendable {
    /// More bytes than any client sends; this many.
    case tooLong(Int)
    case notCBOR(CBORError)
    case notMap
    case missing(Member)
    /// The member is of another type than it must be.
    case mistyped(Member)

    public enum Member: String, Equatable, Sendable, CaseIterable {
        case format = "fmt"
        case statement = "attStmt"
        case authenticatorData = "authData"
    }
}

/// A map of three: the format's name, the statement of that format, and authenticator data.
struct AttestationObject {
    let format: String
    let statement: CBORMap
    let authenticatorData: ArraySlice<UInt8>

    init(_ data: Data) throws(AttestationObjectError) {
        guard data.count <= Limits.attestationObjectByteCount else { throw .tooLong(data.count) }
        let value: CBORValue
        do {
            value = try CBORDecoder.decode([UInt8](data)[...], .any)
        } catch {
            throw .notCBOR(error)
        }
        guard let map = value.map else { throw .notMap }
        format = try Self.member(.format, of: map, as: \.text)
        statement = try Self.member(.statement, of: map, as: \.map)
        authenticatorData = try Self.member(.authenticatorData, of: map, as: \.bytes)
    }

    private static func member<Value>(
        _ member: AttestationObjectError.Member, of map: CBORMap, as type: KeyPath<CBORValue, Value?>
    ) throws(AttestationObjectError) -> Value {
        guard let value = map[member.rawValue] else { throw .missing(member) }
        guard let typed = value[keyPath: type] else { throw .mistyped(member) }
        return typed
    }
}
