import CanonicalCBOR
import SwiftASN1
import X509

/// The members of an attestation statement.
struct AttestationStatement {
    private let map: CBORMap

    /// Refuses a statement with members besides `allowed`.
    init(_ map: CBORMap, allowed: Set<AttestationMember>) throws(AttestationError) {
        self.map = map
        for entry in map.entries {
            guard let member = entry.key.text.flatMap(AttestationMember.init(rawValue:)), allowed.contains(member)
            else {
                throw .unexpectedMember
            }
        }
    }

    func has(_ member: AttestationMember) -> Bool { map[member.rawValue] != nil }

    private func value<Value>(
        _ member: AttestationMember, _ read: (CBORValue) -> Value?
    ) throws(AttestationError) -> Value {
        guard let value = map[member.rawValue] else { throw .missing(member) }
        guard let typed = read(value) else { throw .mistyped(member) }
        return typed
    }

    func integer(_ member: AttestationMember) throws(AttestationError) -> Int { try value(member) { $0.integer } }

    func text(_ member: AttestationMember) throws(AttestationError) -> String { try value(member) { $0.text } }

    func bytes(_ member: AttestationMember) throws(AttestationError) -> ArraySlice<UInt8> {
        try value(member) { $0.bytes }
    }

    /// The certificates of `x5c`, the attestation certificate first.
    func certificates(count: ClosedRange<Int> = 1...Limits.certificateCount) throws(AttestationError) -> [Certificate] {
        let list = try value(.x5c) { $0.array }
        guard count.contains(list.count) else { throw .certificateCount(list.count) }
        var certificates: [Certificate] = []
        for (index, value) in list.enumerated() {
            guard let bytes = value.bytes else { throw .mistyped(.x5c) }
            do {
                certificates.append(try Certificate(derEncoded: Array(bytes)))
            } catch {
                throw .certificateUnreadable(index)
            }
        }
        return certificates
    }
}
