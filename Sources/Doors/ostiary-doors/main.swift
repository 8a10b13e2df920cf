import AgePluginProgram
import CredentialHelpers
import DoorSupport
import Glibc
import PKCS11DoorProgram
import PasskeyDeviceProgram
import SSHAgentProgram
import UnitCredentialsProgram

// One file that is several programs: Documentation/decisions/0129-one-program-for-the-doors.md
let path = SharedProgram.executedPath
switch SharedProgram(executing: path) {
case .sshAgent: AgentProgram.main()
case .credentialHelper: CredentialHelper.main()
case .agePlugin: AgeProgram.main()
case .unitCredentials: CredentialsProgram.main()
case .passkeyDevice: HIDProgram.main()
case .pkcs11: TokenProgram.main()
case nil:
    DoorProgram.begin()
    exit(SharedProgram.refuse(path))
}
