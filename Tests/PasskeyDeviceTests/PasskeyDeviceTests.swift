import Glibc
import Testing
import UnixSocket

@testable import PasskeyDevice

/// What a person is told who cannot have the device, and what the kernel is told of it.
@Suite("The passkeys' HID device") struct PasskeyDeviceTests {
    @Test(arguments: [
        (ENOENT, PasskeyDeviceError.moduleNotLoaded, "modprobe uhid"), (EACCES, .notPermitted, "ostiary-hid"),
        (EPERM, .notPermitted, "ostiary-hid"), (ENODEV, .notSupported, "CONFIG_UHID"),
        (ENXIO, .notSupported, "CONFIG_UHID"),
    ])
    func `each reason has an advice of its own`(code: CInt, error: PasskeyDeviceError, advice: String) {
        let failure = SystemCallError("open", subject: UHIDDevice.path, code: code)
        #expect(PasskeyDeviceError(openingFailedWith: failure) == error)
        #expect("\(error)".contains(advice))
    }

    @Test func `another failure is shown as the system calls it`() {
        let failure = SystemCallError("open", subject: UHIDDevice.path, code: EMFILE)
        #expect(PasskeyDeviceError(openingFailedWith: failure) == .failed(failure))
        #expect("\(PasskeyDeviceError.failed(failure))".contains("Too many open files"))
    }

    @Test func `a path without a device is no device`() throws {
        #expect(throws: PasskeyDeviceError.moduleNotLoaded) { try UHIDDevice.open("/dev/no-such-device") }
    }

    @Test func `a descriptor that takes no events is refused`() throws {
        let null = SharedDescriptor(Descriptor(owning: open("/dev/full", O_RDWR | O_CLOEXEC)))
        let refused = PasskeyDeviceError.failed(SystemCallError("write", subject: UHIDDevice.path, code: ENOSPC))
        #expect(throws: refused) { try UHIDDevice(null) }
    }
}
