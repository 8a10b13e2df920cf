/// Reads structures of TPM 2.0 (TPM 2.0 Library, part 2): big-endian numbers, and byte strings with two bytes of length.
package struct TPMReader {
    /// The member of the statement that is read.
    let member: AttestationMember
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>, _ member: AttestationMember) {
        rest = bytes
        self.member = member
    }

    package mutating func take(_ count: Int) throws(AttestationError) -> ArraySlice<UInt8> {
        guard count <= rest.count else { throw .tpmStructureUnreadable(member) }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    package mutating func number(_ count: Int) throws(AttestationError) -> UInt64 {
        try take(count).reduce(0) { $0 << 8 | UInt64($1) }
    }

    package mutating func string() throws(AttestationError) -> ArraySlice<UInt8> { try take(Int(try number(2))) }

    package func requireEnd() throws(AttestationError) {
        guard rest.isEmpty else { throw .tpmStructureUnreadable(member) }
    }
}
