import ArgumentParser
import CLinuxShims
import Glibc
import OstiaryClient
import OstiaryWire
import PasskeyDevice

/// `ostiary-hid`: shows the passkeys of this machine as a FIDO security key.
///
/// `ostiary passkey serve` becomes this program, so that the owner registers this file alone as a browser, and not the command.
@main
struct Program: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ostiary-hid", abstract: "Does the work of `ostiary passkey serve`, which is what to use.")

    static func main() {
        guard ostiary_occupy_standard_descriptors() == 0 else { Glibc.exit(EXIT_FAILURE) }
        ostiary_silence_crashes()
        main(nil)
    }

    func run() throws {
        do {
            let descriptor = try UHIDDevice.open()
            try PasskeyForwarder.requireAnswers(of: .shared)
            let forwarder = PasskeyForwarder(try UHIDDevice(descriptor), client: .shared, note: Self.say)
            Self.say("This machine is a security key now, for every program that may open it. Ctrl-C ends that.")
            try forwarder.run()
        } catch let error as PasskeyDeviceError {
            throw Self.ended(by: error, 1)
        } catch let error as OstiaryError {
            // As `ostiary` does: 3 for a refusal.
            let refusals: [WireFailureCode] = [.missingEntitlement, .programChanged, .programUnverified]
            let isRefusal = refusals.contains(where: error.isFailure)
            throw Self.ended(by: error, isRefusal ? 3 : 1)
        }
    }

    private static func ended(by error: any Error, _ status: Int32) -> ExitCode {
        say("\(error)")
        return ExitCode(status)
    }

    private static func say(_ text: String) {
        let line = "ostiary-hid: \(text)\n"
        _ = unsafe write(STDERR_FILENO, line, line.utf8.count)
    }
}
