package import DoorSupport

/// A credential that a service manager asks for: the name that it binds its end of the connection to (systemd.exec(5), `LoadCredential=`).
///
/// The name is a zero byte, a random string, `/unit/`, the unit, `/`, and the credential's id. Any process of the user can bind such a
/// name, so it is the peer's word.
package struct UnitRequest: Hashable, Sendable {
    /// ASCII alone, so that equal texts are equal bytes.
    package let unit: String
    package let credential: String

    /// - Throws: `unitUnknown` for a unit or credential that systemd would not name so.
    package init(unit: String, credential: String) throws(DoorFailure) {
        guard UnitName.isUnit(Array(unit.utf8)), UnitName.isCredential(Array(credential.utf8)) else {
            throw .unitUnknown
        }
        (self.unit, self.credential) = (unit, credential)
    }

    /// Reads the bytes of an address of a Unix socket, without the family.
    ///
    /// - Throws: `unitUnknown` for every other name.
    package init(address: [UInt8]) throws(DoorFailure) {
        guard address.first == 0, address.count <= Self.addressByteCount else { throw .unitUnknown }
        let parts = address.dropFirst().split(
            separator: UInt8(ascii: "/"), maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 4, UnitName.isRandom(parts[0]), parts[1].elementsEqual("unit".utf8) else {
            throw .unitUnknown
        }
        try self.init(
            unit: String(decoding: parts[2], as: UTF8.self), credential: String(decoding: parts[3], as: UTF8.self))
    }

    /// All bytes of an address behind its family.
    private static let addressByteCount = 108

    /// The door's word for the client, as questions show it.
    var label: String { String(decoding: "\(unit)/\(credential)".utf8.prefix(64), as: UTF8.self) }
}

/// Names as systemd has them.
enum UnitName {
    /// The types of units that load credentials (systemd.exec(5)), and scopes, in which other processes run.
    private static let types: Set = ["service", "socket", "mount", "swap", "scope"]

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }

    /// A name of at most 255 bytes: letters, digits and `:-_.\@`, with the type behind the last dot (systemd.unit(5)).
    static func isUnit(_ bytes: some BidirectionalCollection<UInt8>) -> Bool {
        guard bytes.count <= 255, let dot = bytes.lastIndex(of: UInt8(ascii: ".")), dot != bytes.startIndex,
            types.contains(String(decoding: bytes[bytes.index(after: dot)...], as: UTF8.self))
        else { return false }
        return bytes.allSatisfy { isLetterOrDigit($0) || #":-_.\@"#.utf8.contains($0) }
    }

    /// A file's name in ASCII without blanks, control characters and colons, of at most 255 bytes.
    static func isCredential(_ bytes: [UInt8]) -> Bool {
        let isPlain = bytes.allSatisfy { (0x21...0x7e).contains($0) && !"/:".utf8.contains($0) }
        return isPlain && (1...255).contains(bytes.count) && bytes != Array(".".utf8) && bytes != Array("..".utf8)
    }

    /// systemd has 64 random bits in hexadecimal digits there, and promises letters and digits.
    static func isRandom(_ bytes: some Collection<UInt8>) -> Bool {
        (1...64).contains(bytes.count) && bytes.allSatisfy(isLetterOrDigit)
    }
}
