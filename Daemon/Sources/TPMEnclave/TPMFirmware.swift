import CTSS2
public import Enclave

/// The manufacturer of a chip, and its firmware.
public struct TPMFirmware: Equatable, Sendable {
    /// The TCG's four letters for the manufacturer, such as `STM` or `INTC` (TCG TPM Vendor ID Registry).
    public let manufacturer: String
    /// Four numbers, as manufacturers write them: `71.12.0.0`.
    public let version: [UInt16]

    init(manufacturer: UInt32, version1: UInt32, version2: UInt32) {
        let letters = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: manufacturer >> $0) }
        // The chip chooses these bytes, and a person reads them.
        self.manufacturer = String(
            decoding: letters.filter { (0x21...0x7e).contains($0) }, as: UTF8.self)
        version = [version1, version2].flatMap { [UInt16($0 >> 16), UInt16(truncatingIfNeeded: $0)] }
    }

    public var words: String { "\(manufacturer) \(version.map { "\($0)" }.joined(separator: "."))" }

    /// The identifier of the flaw by which this firmware leaks private keys to somebody who measures how long signatures
    /// take; nil when none is known.
    public var leak: String? {
        let (major, minor, patch) = (version[0], version[1], version[2])
        switch manufacturer {
        case "STM":
            // st.com, "Information on ST's TPM firmware update - ECDSA signature generation".
            let affected: [UInt16: Set<UInt16>] = [71: [0, 4, 12], 73: [0, 4, 5, 8, 9], 74: [0, 4, 5, 8, 9, 16]]
            return affected[major]?.contains(minor) == true ? "CVE-2019-16863" : nil
        case "INTC":
            // INTEL-SA-00241: repaired in 11.8.70, 11.11.70, 11.22.70 and 12.0.45.
            let isAffected =
                switch (major, minor) {
                case (11, 8), (11, 11), (11, 22): patch < 70
                case (11, 0..<8), (11, 10), (11, 20), (11, 21): true
                case (12, 0): patch < 45
                default: false
                }
            return isAffected ? "CVE-2019-11090" : nil
        default: return nil
        }
    }
}

extension TPMEnclave {
    /// Asks the chip for its manufacturer and firmware.
    public func firmware() throws(EnclaveError) -> TPMFirmware {
        try chip.perform(for: nil) { (connection) throws(ChipFault) in
            TPMFirmware(
                manufacturer: try connection.property(OSTIARY_TPM_PT_MANUFACTURER),
                version1: try connection.property(OSTIARY_TPM_PT_FIRMWARE_VERSION_1),
                version2: try connection.property(OSTIARY_TPM_PT_FIRMWARE_VERSION_2))
        }
    }
}
