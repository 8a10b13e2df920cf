import ArgumentParser
import Glibc
import OstiaryClient
import UnixSocket

struct EnclaveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enclave",
        abstract: "Copy the store into another enclave.",
        discussion: """
            Example:
              ostiary enclave move tpm
            """,
        subcommands: [EnclaveMove.self])
}

struct EnclaveMove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Make a new store in another enclave, beside the present one.",
        discussion: """
            First it shows which keys cannot come along: private keys never leave their enclave, nor do the secrets of \
            rights. Then it asks for your passcode, and copies keychain items and registered programs. The present store \
            stays as it is; at the end you are told how to change over.

            The daemon must not run: `systemctl --user stop ostiaryd`, or SIGTERM. In system mode the command refuses \
            (status 3).

            Example:
              ostiary enclave move tpm
            """)

    enum Destination: String, ExpressibleByArgument, CaseIterable { case software, tpm }

    @Argument(help: "Where the new store's keys are: software or tpm.")
    var destination: Destination

    @OptionGroup var json: JSONErrorsFlag

    /// Turns this process into the daemon's program, so that it asks on this terminal.
    func run() throws {
        guard case .user(let location) = try DaemonLocation.ofCurrentUser() else {
            throw CommandError.systemMode(
                "Nothing was moved: this command moves a user's own store. The machine's store stays in the enclave in which it "
                    + "was made.")
        }
        let program = try DaemonProgram.find()
        let arguments =
            [
                PathName.last(of: program), "--move-enclave", destination.rawValue, "--runtime-directory",
                location.runtimeDirectory, "--state-directory", location.stateDirectory,
            ] + (json.isGiven ? ["--json"] : [])
        _ = unsafe CStrings.withPointers(arguments) { arguments in
            unsafe CStrings.withPointers(DaemonProgram.environment) { unsafe execve(program, arguments, $0) }
        }
        // Returns only when it failed.
        throw CommandError.commandNotStarted(SystemCallError("execve", subject: program))
    }
}
