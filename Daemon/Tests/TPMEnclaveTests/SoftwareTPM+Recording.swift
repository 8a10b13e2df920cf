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

    /// The number of packets in a recording (pcapng, "Enhanced Packet Block").
    func packets(_ name: String) throws -> Int {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path(name)))
        func number(at offset: Int) -> Int {
            bytes[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        var (offset, count) = (0, 0)
        while offset + 8 <= bytes.count {
            if number(at: offset) == 6 { count += 1 }
            offset += max(number(at: offset + 4), 8)
        }
        return count
    }
}
