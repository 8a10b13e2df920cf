import Glibc
import OstiaryClient
import PasskeyDevice
import UnixSocket

// `ostiary-hid` with its descriptor 3 in the place of /dev/uhid, whose kernel a test plays. It says `ready`, or why it ends.
func say(_ text: String) {
    let line = text + "\n"
    _ = write(STDERR_FILENO, line, line.utf8.count)
}

do {
    try PasskeyForwarder.requireAnswers(of: .shared)
    let device = try UHIDDevice(SharedDescriptor(Descriptor(owning: 3)))
    say("ready")
    try PasskeyForwarder(device, client: .shared, note: { say("note \($0)") }).run()
} catch let error as OstiaryError {
    say("refused \(error.code.rawValue) \(error.cause)")
    exit(3)
} catch {
    say("ended \(error)")
    exit(1)
}
