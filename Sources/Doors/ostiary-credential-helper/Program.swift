import CredentialHelpers
import DoorSupport
import Glibc

/// `ostiary-credential-helper`, which git and docker start by their own names for it.
@main
struct Program {
    static func main() {
        DoorProgram.begin()
        exit(CredentialHelper.run(CommandLine.arguments))
    }
}
