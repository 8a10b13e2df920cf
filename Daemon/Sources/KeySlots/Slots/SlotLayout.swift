import AccessControl
import CanonicalEncoding
import Foundation

/// The layers of a slot and their order. No other code decides this.
///
/// From the inside out: application password, security key, biometry, passcode, class. The layer that is renewed most
/// often lies outermost, so that renewing it needs no key of a layer further in. The application password lies
/// innermost, because it is guessable: only an attacker with every other key of the slot can check a guess.
enum SlotLayout {
    /// The roles of the layers with key pairs, innermost first. The password's layer, where there is one, lies inside.
    static func roles(for factors: FactorSet, availability: AvailabilityClass) -> [KeyRole] {
        var roles: [KeyRole] = []
        if factors.contains(.securityKey) { roles.append(.securityKey) }
        if factors.contains(.biometry) || factors.contains(.biometryCurrentSet) { roles.append(.biometry) }
        if factors.contains(.passcode) { roles.append(.passcode) }
        return roles + [.classKey(availability)]
    }

    /// Whether a slot can stand for these factors. They must be known, and must not contain both kinds of biometry,
    /// because one contains the other.
    static func isPermitted(_ factors: FactorSet) -> Bool {
        factors.isSubset(of: .all) && !factors.isSuperset(of: [.biometry, .biometryCurrentSet])
    }
}

/// Reads bytes that this module wrote with `CanonicalWriter`; every shortage is ``SlotError/malformed``.
struct SlotReader {
    private var fields: CanonicalReader

    init(_ data: Data) { fields = CanonicalReader(Array(data)) }

    mutating func byte() throws(SlotError) -> UInt8 { try integer() }

    mutating func uint16() throws(SlotError) -> UInt16 { try integer() }

    mutating func uint32() throws(SlotError) -> UInt32 { try integer() }

    private mutating func integer<Value: FixedWidthInteger & UnsignedInteger>() throws(SlotError) -> Value {
        do { return try fields.read(Value.self) } catch { throw .malformed }
    }

    mutating func bytes(_ count: Int) throws(SlotError) -> Data {
        do { return Data(try fields.read(fixed: count)) } catch { throw .malformed }
    }

    /// Everything was read, and the value writes itself as exactly these bytes.
    func finish(_ whole: Data, canonical: Data) throws(SlotError) {
        do { try fields.finish() } catch { throw .malformed }
        guard whole == canonical else { throw .malformed }
    }
}
