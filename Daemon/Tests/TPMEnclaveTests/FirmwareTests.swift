import TPMTestSupport
import Testing

@testable import TPMEnclave

/// The manufacturer of the chip, and the known flaws of its firmware.
@Suite(.timeLimit(.minutes(10))) struct FirmwareTests {
    private static func firmware(_ manufacturer: String, _ version: [UInt16]) -> TPMFirmware {
        let letters = Array(manufacturer.utf8) + Array(repeating: UInt8(0x20), count: 4 - manufacturer.utf8.count)
        return TPMFirmware(
            manufacturer: letters.reduce(0) { $0 << 8 | UInt32($1) },
            version1: UInt32(version[0]) << 16 | UInt32(version[1]),
            version2: UInt32(version[2]) << 16 | UInt32(version[3]))
    }

    @Test func `the chip says who made it`() throws {
        let tpm = try SoftwareTPM()
        let firmware = try TPMEnclave(at: tpm.shared, storageKey: nil).firmware()
        #expect(firmware.manufacturer == "IBM" && firmware.leak == nil)
        let said = try tpm.tool("tpm2_getcap", "properties-fixed")
        let version = String(
            UInt32(firmware.version[0]) << 16 | UInt32(firmware.version[1]), radix: 16, uppercase: true)
        #expect(said.contains("0x\(version)"), "\(firmware) \(said)")
    }

    @Test(
        arguments: [
            ("STM", [71, 0, 0, 0]), ("STM", [71, 4, 0, 0]), ("STM", [71, 12, 1, 2]), ("STM", [73, 0, 0, 0]),
            ("STM", [73, 8, 17568, 5511]), ("STM", [73, 9, 0, 0]), ("STM", [74, 16, 0, 0]),
            ("INTC", [11, 0, 0, 1]), ("INTC", [11, 8, 69, 1]), ("INTC", [11, 22, 69, 1]), ("INTC", [12, 0, 44, 1]),
        ] as [(String, [UInt16])])
    func `firmware that leaks signing keys is known`(manufacturer: String, version: [UInt16]) {
        #expect(Self.firmware(manufacturer, version).leak != nil)
    }

    @Test(
        arguments: [
            ("STM", [71, 16, 0, 0]), ("STM", [73, 20, 0, 0]), ("STM", [73, 21, 0, 0]), ("STM", [73, 64, 0, 0]),
            ("STM", [74, 64, 0, 0]), ("STM", [1, 258, 0, 0]), ("INTC", [11, 8, 70, 0]), ("INTC", [11, 11, 70, 0]),
            ("INTC", [12, 0, 45, 0]), ("INTC", [500, 5, 0, 0]), ("IFX", [71, 4, 0, 0]), ("", [71, 4, 0, 0]),
        ] as [(String, [UInt16])])
    func `repaired and other firmware is not taken for it`(manufacturer: String, version: [UInt16]) {
        #expect(Self.firmware(manufacturer, version).leak == nil)
    }

    @Test func `a chip cannot write on the person's terminal`() {
        let firmware = TPMFirmware(manufacturer: 0x1b5b_324a, version1: 0, version2: 0)
        #expect(firmware.words == "[2J 0.0.0.0")
    }
}
