import Foundation
import TPMTestSupport

@testable import TPMEnclave

extension SoftwareTPM {
    /// Records the traffic of `body` (the TSS's pcap transport).
    func recorded(_ name: String, _ body: (TPMLocation) throws -> Void) throws -> Data {
        setenv("TCTI_PCAP_FILE", path(name), 1)
        defer { unsetenv("TCTI_PCAP_FILE") }
        try body(TPMLocation("pcap:" + configuration, keepsLoaded: true))
        return try Data(contentsOf: URL(fileURLWithPath: path(name)))
    }

    /// The commands in a recording, in order.
    func commands(_ name: String) throws -> [RecordedCommand] {
        let packets = try packets(name)
        // Each command has its answer behind it. A code lies behind a tag of two bytes and a size of four.
        return stride(from: 0, to: packets.count, by: 2).map { RecordedCommand(packets[$0].dropFirst(6).prefix(4)) }
    }

    /// The commands of `body`, which adds to a recording.
    func commands(_ name: String, during body: () throws -> Void) throws -> [RecordedCommand] {
        let before = try commands(name).count
        try body()
        return Array(try commands(name).dropFirst(before))
    }

    /// The packets in a recording (pcapng, "Enhanced Packet Block"), each without its headers of IPv4 and TCP.
    private func packets(_ name: String) throws -> [Data] {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path(name)))
        func number(at offset: Int) -> Int {
            bytes[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        var (offset, packets) = (0, [Data]())
        while offset + 8 <= bytes.count {
            let byteCount = max(number(at: offset + 4), 8)
            if number(at: offset) == 6 { packets.append(Data(bytes[offset..<offset + byteCount].dropFirst(28 + 40))) }
            offset += byteCount
        }
        return packets
    }
}

/// A command that was recorded (TPM 2.0 part 2, "TPM_CC").
enum RecordedCommand: Equatable {
    case undefineSpace, increment, changeAuth, defineSpace, write, create, read, load, policySecret, sign, policySigned
    case contextLoad, contextSave, unseal, flush, loadExternal, readIndex, policyAuthValue, policyCommandCode, policyOr
    case readPublic, startSession, random
    case other(UInt32)

    /// - Parameter code: four bytes, the most significant first.
    init(_ code: Data) {
        let number = code.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        self = Self.known[number] ?? .other(number)
    }

    private static let known: [UInt32: RecordedCommand] = [
        0x122: .undefineSpace, 0x12a: .defineSpace, 0x134: .increment, 0x137: .write, 0x13b: .changeAuth, 0x14e: .read,
        0x151: .policySecret, 0x153: .create, 0x157: .load, 0x15d: .sign, 0x15e: .unseal, 0x160: .policySigned,
        0x161: .contextLoad, 0x162: .contextSave, 0x165: .flush, 0x167: .loadExternal, 0x169: .readIndex,
        0x16b: .policyAuthValue, 0x16c: .policyCommandCode, 0x171: .policyOr, 0x173: .readPublic,
        0x176: .startSession, 0x17b: .random,
    ]
}
