import ArgumentParser
import CLinuxShims
import CommandFailures
import Glibc
import OstiaryClient
import PasskeyDevice

/// `ostiary-hid`: shows the passkeys of this machine as a FIDO security key.
///
/// `ostiary passkey serve` becomes this program, so that the owner registers this file alone as a browser, and not the command.
package enum HIDProgram {
    /// The whole program. Returns when its work is done.
    package static func main() {
        guard ostiary_occupy_standard_descriptors() == 0 else { Glibc.exit(EXIT_FAILURE) }
        ostiary_silence_crashes()
        Program.main(nil)
    }
}

struct Program: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ostiary-hid", abstract: "Does the work of `ostiary passkey serve`, which is what to use.")

    @Flag(help: "Print nothing but an error, as JSON on standard error.") var json = false

    func run() throws {
        // With --json standard error holds nothing but the error.
        let isQuiet = json
        let note: @Sendable (String) -> Void = { if !isQuiet { Self.say($0) } }
        do {
            let descriptor = try UHIDDevice.open()
            try PasskeyForwarder.requireAnswers(of: .shared)
            let forwarder = PasskeyForwarder(try UHIDDevice(descriptor), client: .shared, note: note)
            note("This machine is a security key now, for every program that may open it. Ctrl-C ends that.")
            try forwarder.run()
        } catch let error as PasskeyDeviceError {
            throw ended(by: error, error.code, FailureClass(error.name, .failed))
        } catch let error as OstiaryError {
            throw ended(by: error, error.code.rawValue, error.code.failureClass)
        }
    }

    private func ended(by error: any Error, _ code: Int, _ failure: FailureClass) -> ExitCode {
        let document = FailureDocument(code: code, name: failure.name, message: "\(error)")
        if json, let line = document.line { Self.write(line) } else { Self.say("\(error)") }
        return ExitCode(failure.exitStatus.rawValue)
    }

    private static func say(_ text: String) {
        write("ostiary-hid: \(text)")
    }

    private static func write(_ text: String) {
        let line = text + "\n"
        _ = unsafe Glibc.write(STDERR_FILENO, line, line.utf8.count)
    }
}

extension PasskeyDeviceError {
    /// The stable number in JSON, beside those of `ostiary`.
    fileprivate var code: Int {
        switch self {
        case .moduleNotLoaded: -140
        case .notPermitted: -141
        case .notSupported: -142
        case .ended: -143
        case .failed: -144
        }
    }

    /// The stable word for the number.
    fileprivate var name: String {
        switch self {
        case .moduleNotLoaded: "uhidMissing"
        case .notPermitted: "uhidDenied"
        case .notSupported: "uhidUnsupported"
        case .ended: "uhidEnded"
        case .failed: "uhidFailed"
        }
    }
}
