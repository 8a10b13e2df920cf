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
