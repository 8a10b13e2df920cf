import ArgumentParser
import CLinuxShims
import CommandFailures
import Glibc

/// The command `ostiary`: options in, one call of ``OstiaryClient``, result out. It decides nothing.
@main
struct Ostiary: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ostiary",
        abstract: "Keys and secrets that open only for you.",
        discussion: """
            A right is a key, and optionally a secret, that the daemon keeps under a rule such as “biometry or \
            passcode”. Results go to standard output, everything else to standard error. A file may be - for standard \
            input.

            Examples:
              ostiary passcode set
              ostiary right create 2fa --require passcode
              ostiary right sign 2fa challenge.bin --output challenge.sig

            Exit status:
              0  done
              1  failed
              2  wrong usage
              3  refused or cancelled: wrong passcode, locked out, not authorized, ...
            """,
        version: version,
        subcommands: [
            StatusCommand.self, PasscodeCommand.self, FingerprintCommand.self, RightCommand.self, ItemCommand.self,
            KeyCommand.self, SSHCommand.self, GitCommand.self, PasskeyCommand.self, SecurityKeyCommand.self,
            ApplicationCommand.self, DoorsCommand.self, GrantsCommand.self,
            LeaseCommand.self, RunCommand.self, SecretsCommand.self, LockCommand.self,
            UnlockCommand.self,
            EnclaveCommand.self, LogCommand.self, AttestCommand.self, VerifyAttestationCommand.self,
            DoctorCommand.self, TestDaemonCommand.self, InitPackageCommand.self,
            MigrateCommand.self, AdminCommand.self,
        ])

    static let version = "0.1.0"

    static func main() {
        // First of all, before a socket or file could become a standard stream and be written results to.
        guard ostiary_occupy_standard_descriptors() == 0 else { Glibc.exit(ExitStatus.failed.rawValue) }
        // Before anything that could crash with a secret in memory. The process stays dumpable: the daemon could not see
        // who asks otherwise.
        ostiary_silence_crashes()
        Glibc.exit(run(Array(CommandLine.arguments.dropFirst())))
    }

    private static func run(_ arguments: [String]) -> Int32 {
        do {
            try carryOut(arguments)
            return ExitStatus.done.rawValue
        } catch let ended as CommandEnded {
            return ended.status
        } catch {
            let report = FailureReport(error, arguments: arguments)
            report.write(asJSON: JSONFlag.isGiven(in: arguments))
            return report.status.rawValue
        }
    }

    /// Parses and runs. Help, version and completion script come as errors of the parser and are results.
    private static func carryOut(_ arguments: [String]) throws {
        do {
            var command = try parseAsRoot(arguments)
            try command.run()
        } catch  where exitCode(for: error).isSuccess {
            try StandardOutput.line(fullMessage(for: error))
        }
    }
}
