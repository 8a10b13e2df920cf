/// The frames of CTAPHID (CTAP 2.1, 11.2.4): reports of 64 bytes.
public enum HIDReport {
    public static let byteCount = 64
    static let broadcastChannel: UInt32 = 0xFFFF_FFFF
    private static let firstPayload = 57
    private static let nextPayload = 59
    /// The longest message: a first report, and 128 more with the sequence numbers 0 to 127.
    public static let messageByteCount = firstPayload + 128 * nextPayload

    enum Command: UInt8 {
        case ping = 0x01
        case initialize = 0x06
        case cbor = 0x10
        case cancel = 0x11
        case keepalive = 0x3B
        case error = 0x3F
    }

    enum ErrorCode: UInt8 {
        case invalidCommand = 0x01
        case invalidLength = 0x03
        case invalidSequence = 0x04
        case timeout = 0x05
        case channelBusy = 0x06
        case invalidChannel = 0x0B
    }

    /// A report as it came in.
    enum Incoming {
        case first(command: UInt8, count: Int, payload: ArraySlice<UInt8>)
        case next(sequence: UInt8, payload: ArraySlice<UInt8>)
    }

    static func channel(of report: [UInt8]) -> UInt32 {
        report.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// - Parameter report: 64 bytes.
    static func incoming(_ report: [UInt8]) -> Incoming {
        guard report[4] & 0x80 != 0 else { return .next(sequence: report[4], payload: report[5...]) }
        let count = Int(report[5]) << 8 | Int(report[6])
        return .first(command: report[4] & 0x7F, count: count, payload: report[7...])
    }

    /// The reports that carry one message.
    static func reports(_ channel: UInt32, _ command: Command, _ message: [UInt8]) -> [[UInt8]] {
        let address = (0..<4).map { UInt8(truncatingIfNeeded: channel >> (24 - $0 * 8)) }
        let head = address + [command.rawValue | 0x80, UInt8(message.count >> 8), UInt8(message.count & 0xFF)]
        var reports = [padded(head + message.prefix(firstPayload))]
        var (rest, sequence) = (message.dropFirst(firstPayload), UInt8(0))
        while !rest.isEmpty {
            reports.append(padded(address + [sequence] + rest.prefix(nextPayload)))
            rest = rest.dropFirst(nextPayload)
            sequence += 1
        }
        return reports
    }

    private static func padded(_ bytes: [UInt8]) -> [UInt8] {
        bytes + [UInt8](repeating: 0, count: byteCount - bytes.count)
    }
}
