/// Bech32 (BIP 173), without its limit on the length of a text, as age writes recipients and identities.
///
/// A text is a prefix, the digit 1, the data in groups of five bits, and a checksum over both, all in one case.
enum Bech32 {
    /// A text that was read.
    struct Decoded: Equatable {
        /// In the case of the text.
        let prefix: String
        let bytes: [UInt8]
    }

    /// - Parameter prefix: printable ASCII in one case, which is the case of the text.
    static func encode(prefix: String, _ bytes: [UInt8]) -> String {
        let lower = Array(prefix.lowercased().utf8)
        guard let groups = regrouped(bytes, from: 8, to: 5, padding: true) else {
            preconditionFailure("bytes have eight bits")
        }
        let text = lower + [separator] + (groups + checksum(lower, groups)).map { alphabet[Int($0)] }
        let decoded = String(decoding: text, as: UTF8.self)
        return prefix == prefix.lowercased() ? decoded : decoded.uppercased()
    }

    /// Reads a text. A text that it accepts has no other encoding in the same case.
    static func decode(_ text: String) throws(Bech32Error) -> Decoded {
        guard text.utf8.allSatisfy({ (33...126).contains($0) }) else { throw .character }
        guard text == text.lowercased() || text == text.uppercased() else { throw .mixedCase }
        let lower = Array(text.lowercased().utf8)
        guard let end = lower.lastIndex(of: separator), end > 0, lower.count - end > checksumCount else {
            throw .separator
        }
        var groups: [UInt8] = []
        for character in lower[(end + 1)...] {
            guard let group = alphabet.firstIndex(of: character) else { throw .character }
            groups.append(UInt8(group))
        }
        guard remainder(expanded(lower[..<end]) + groups) == 1 else { throw .checksum }
        guard let bytes = regrouped(groups.dropLast(checksumCount), from: 5, to: 8, padding: false) else {
            throw .padding
        }
        return Decoded(prefix: String(text.prefix(end)), bytes: bytes)
    }

    private static let alphabet = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
    private static let separator = UInt8(ascii: "1")
    private static let checksumCount = 6
    private static let generators: [UInt32] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3]

    private static func checksum(_ prefix: [UInt8], _ groups: [UInt8]) -> [UInt8] {
        let value = remainder(expanded(prefix[...]) + groups + [UInt8](repeating: 0, count: checksumCount)) ^ 1
        return (0..<checksumCount).map { UInt8(truncatingIfNeeded: value >> (5 * (checksumCount - 1 - $0))) & 31 }
    }

    private static func expanded(_ prefix: ArraySlice<UInt8>) -> [UInt8] {
        prefix.map { $0 >> 5 } + [0] + prefix.map { $0 & 31 }
    }

    private static func remainder(_ groups: [UInt8]) -> UInt32 {
        groups.reduce(1) { sum, group in
            let top = sum >> 25
            let shifted = (sum & 0x1ff_ffff) << 5 ^ UInt32(group)
            return generators.indices.reduce(shifted) { top >> $1 & 1 == 1 ? $0 ^ generators[$1] : $0 }
        }
    }

    /// Bits in groups of another size. Nil when bits are left over that would not be there again, or that are not zero.
    private static func regrouped(_ groups: some Sequence<UInt8>, from: Int, to: Int, padding: Bool) -> [UInt8]? {
        var (bits, count, result) = (UInt32(0), 0, [UInt8]())
        for group in groups {
            bits = bits << from | UInt32(group)
            count += from
            while count >= to {
                count -= to
                result.append(UInt8(bits >> count & (1 << to - 1)))
            }
            bits &= 1 << count - 1
        }
        if padding {
            if count > 0 { result.append(UInt8(bits << (to - count))) }
        } else if count >= from || bits != 0 {
            return nil
        }
        return result
    }
}

/// Why a text is no Bech32.
package enum Bech32Error: Error, Equatable {
    case mixedCase
    /// A character that cannot stand at its place.
    case character
    /// No prefix, or too few characters behind it for a checksum.
    case separator
    case checksum
    /// The last group has bits that no encoder writes.
    case padding

    var explanation: String {
        switch self {
        case .mixedCase: "it has capital and small letters"
        case .character: "it has a character that does not belong there"
        case .separator: "it is too short or has no prefix"
        case .checksum: "its checksum is wrong, so a character was lost or changed"
        case .padding: "its last character has bits that nobody writes"
        }
    }
}
