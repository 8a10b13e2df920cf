import Glibc

/// The name of a security key among the kernel's devices: `hidraw` and a number.
package struct HIDRawName: Hashable, Sendable {
    package let text: String

    /// The kernel has room for 64 of them.
    private static let digitCount = 1...3
    static let byteCount = prefix.count + digitCount.upperBound
    private static let prefix = Array("hidraw".utf8)

    /// Nil for any other name, and for a number that the kernel does not write so.
    package init?(_ bytes: some Collection<UInt8>) {
        let digits = bytes.dropFirst(Self.prefix.count)
        guard bytes.starts(with: Self.prefix), Self.digitCount.contains(digits.count),
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            digits.count == 1 || digits.first != UInt8(ascii: "0")
        else { return nil }
        text = String(decoding: bytes, as: UTF8.self)
    }
}

/// The first message to a helper that was given no key: it opens one itself (`Documentation/formats/helpers.md`).
package struct KeyOpening: Equatable, Sendable {
    package let name: HIDRawName
    /// The user who must have access to the device.
    package let userID: UInt32

    private static let kind: UInt8 = 0x4F
    private static let headByteCount = 6
    /// The longest message.
    package static let maximumByteCount = headByteCount + HIDRawName.byteCount

    package init(_ name: HIDRawName, for userID: UInt32) { (self.name, self.userID) = (name, userID) }

    package var bytes: [UInt8] {
        let name = Array(name.text.utf8)
        return [Self.kind] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: userID >> $0) } + [UInt8(name.count)] + name
    }

    /// Nil for bytes that ``bytes`` never has.
    package init?(decoding bytes: [UInt8]) {
        guard bytes.count > Self.headByteCount, bytes[0] == Self.kind,
            Int(bytes[5]) == bytes.count - Self.headByteCount, let name = HIDRawName(bytes[Self.headByteCount...])
        else { return nil }
        self.init(name, for: bytes[1..<5].reduce(0) { $0 << 8 | UInt32($1) })
    }
}

/// The helper's answer to a ``KeyOpening``.
package struct KeyOpeningAnswer: Equatable, Sendable {
    /// A number of errno(3); 0 when the key is open.
    package let code: Int32

    private static let kind: UInt8 = 0x6F
    package static let byteCount = 3

    /// The user has no access to the device.
    package static let forbiddenToUser: Int32 = EPERM
    /// The helper itself has none.
    package static let forbiddenToHelper: Int32 = EACCES
    /// There is a device, and it is no security key.
    package static let noSecurityKey: Int32 = ENODEV

    package init(code: Int32) { self.code = code }

    package var bytes: [UInt8] {
        // Linux has fewer than 4096 of them. No error may look like none.
        let code = UInt16(exactly: code) ?? .max
        return [Self.kind, UInt8(code >> 8), UInt8(truncatingIfNeeded: code)]
    }

    /// Nil for bytes that ``bytes`` never has.
    package init?(decoding bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, bytes[0] == Self.kind else { return nil }
        self.init(code: Int32(bytes[1]) << 8 | Int32(bytes[2]))
    }
}
