/// How the HID device of this machine's passkeys looks to the kernel and to programs.
public enum HIDDevice {
    public static let name = "Ostiary passkeys"
    /// Where it is attached (`HID_PHYS`). The daemon knows its own device by this, and does not take it for a security key.
    public static let place = "ostiary/passkeys"

    /// The report descriptor of CTAP 2.1, 11.2.8.1: usage page 0xF1D0, and reports of 64 bytes each way without a number.
    public static let reportDescriptor: [UInt8] = [
        0x06, 0xD0, 0xF1,  // usage page: FIDO alliance
        0x09, 0x01,  // usage: CTAPHID
        0xA1, 0x01,  // collection: application
        0x09, 0x20, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40, 0x81, 0x02,  // input: 64 bytes
        0x09, 0x21, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40, 0x91, 0x02,  // output: 64 bytes
        0xC0,
    ]
}
