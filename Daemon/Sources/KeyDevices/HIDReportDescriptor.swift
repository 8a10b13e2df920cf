/// A HID report descriptor (Device Class Definition for HID 1.11, 6.2.2), of which only the first usage counts.
package struct HIDReportDescriptor {
    /// The most that the kernel keeps (HID_MAX_DESCRIPTOR_SIZE).
    package static let maximumByteCount = 4096
    private static let fidoUsagePage: UInt32 = 0xF1D0
    private static let authenticatorUsage: UInt32 = 1

    private let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether the device says that it is a FIDO authenticator (CTAP 2.1, 11.2.8.1).
    package var isFIDO: Bool {
        var position = 0
        var page: UInt32?
        while position < bytes.count {
            let prefix = bytes[position]
            // A long item says its length in its next byte.
            guard prefix != 0xFE else { return false }
            let count = prefix & 3 == 3 ? 4 : Int(prefix & 3)
            guard position + count < bytes.count else { return false }
            let value = bytes[position + 1..<position + 1 + count].reversed().reduce(0) { $0 << 8 | UInt32($1) }
            switch prefix & 0xFC {
            case 0x04: page = value
            case 0x08: return page == Self.fidoUsagePage && value == Self.authenticatorUsage
            default: break
            }
            position += 1 + count
        }
        return false
    }
}
