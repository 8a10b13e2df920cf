public import Foundation

/// The 16 bytes that name an item for good.
public struct SecretID: Hashable, Sendable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    private init(_ high: UInt64, _ low: UInt64) { (self.high, self.low) = (high, low) }

    /// Nil unless there are 16 bytes.
    public init?(_ bytes: Data) {
        guard bytes.count == 16 else { return nil }
        func number(_ bytes: Data) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(number(bytes.prefix(8)), number(bytes.suffix(8)))
    }

    /// Reads 32 hexadecimal digits in lower case, the only form of an id in an object path; nil for anything else.
    public init?(_ text: some StringProtocol) {
        let digits = text.utf8.compactMap(Self.value)
        guard digits.count == 32, text.utf8.count == 32 else { return nil }
        func number(_ digits: ArraySlice<UInt64>) -> UInt64 { digits.reduce(0) { $0 << 4 | $1 } }
        self.init(number(digits[..<16]), number(digits[16...]))
    }

    /// One that nobody has.
    public static func random() -> SecretID {
        var source = SystemRandomNumberGenerator()
        return SecretID(source.next(), source.next())
    }

    private static func value(_ digit: UInt8) -> UInt64? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(digit - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(digit - UInt8(ascii: "a") + 10)
        default: nil
        }
    }

    public var bytes: Data {
        Data([high, low].flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) } })
    }

    /// 32 hexadecimal digits.
    public var description: String {
        [high, low].map { number in
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }.joined()
    }
}
