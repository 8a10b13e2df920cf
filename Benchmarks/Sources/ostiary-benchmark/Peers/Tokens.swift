import Crypto
import Foundation
import Glibc
import OstiaryClient

/// Two hosts of PKCS #11 in this process: of `libostiary-pkcs11.so`, with a door of its own, and of p11-kit's remoting. One signature of each is
/// verified.
final class Tokens {
    let own: TokenKey
    let other: TokenKey
    private let door: ChildProcess
    private let softToken: SoftToken

    private static let label = "token"

    /// - Parameters:
    ///   - module: `libostiary-pkcs11.so`.
    ///   - remotingModule: `p11-kit-client.so`.
    ///   - folders: of a daemon that knows the door. The person is asked once.
    init(module: String, remotingModule: String, _ programs: DoorPrograms, _ folders: DaemonFolders) throws {
        let right = try folders.newClient().createRight(
            Self.label, accessControl: try DoorPrograms.ruledByPasscode(), accessGroup: DoorPrograms.accessGroup)
        door = try ChildProcess(programs.path("ostiary-pkcs11d"), [], environment: folders.environment)
        try Listening.wait(at: folders.runtimeDirectory + "/pkcs11.sock")
        softToken = try SoftToken(in: folders.path)
        // Modules are told by their host's environment alone.
        setenv("XDG_RUNTIME_DIR", folders.path + "/run", 1)
        setenv("P11_KIT_SERVER_ADDRESS", softToken.address, 1)
        let digest = SHA256.hash(data: SignedText.bytes)
        own = try TokenKey(module: module, token: "Ostiary", key: Self.label, digest: digest)
        other = try TokenKey(
            module: remotingModule, token: SoftToken.label, pin: SoftToken.pin, key: SoftToken.label, digest: digest)
        try own.sign()
        try own.verifyLast(by: P256.Signing.PublicKey(x963Representation: right.publicKey), of: digest)
        try other.sign()
        try other.verifyLast(by: softToken.publicKey, of: digest)
    }
}
