import Crypto
import Foundation
import Glibc

/// One P-256 key in Debian's softhsm2, in a process apart: p11-kit's server, to which its module `p11-kit-client.so` connects.
final class SoftToken {
    private static let provider = "/usr/lib/softhsm/libsofthsm2.so"
    /// Of a token that holds nothing but the benchmark's key.
    static let pin = "1234"
    /// The token's, and the key's.
    static let label = "benchmark"

    let publicKey: P256.Signing.PublicKey
    /// The variable by which the module finds the server.
    let address: String
    private let server: ChildProcess

    /// - Parameter folder: one that only this user may enter; a new one is made in it.
    init(in folder: String) throws {
        let place = folder + "/soft-token"
        try FileManager.default.createDirectory(
            atPath: place + "/tokens", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let configuration = place + "/softhsm2.conf"
        try "directories.tokendir = \(place)/tokens\nobjectstore.backend = file\nlog.level = ERROR\n"
            .write(toFile: configuration, atomically: true, encoding: .utf8)
        let environment = ["SOFTHSM2_CONF=" + configuration, "XDG_RUNTIME_DIR=" + place]
        publicKey = try Self.makeKey(in: place, environment)
        let socket = place + "/socket"
        address = "unix:path=" + socket
        server = try ChildProcess(
            "/usr/bin/p11-kit",
            ["server", "--foreground", "--name", socket, "--provider", Self.provider, "pkcs11:token=" + Self.label],
            environment: environment)
        try Listening.wait(at: socket)
    }

    private static func makeKey(in place: String, _ environment: [String]) throws -> P256.Signing.PublicKey {
        let key = P256.Signing.PrivateKey()
        let file = place + "/key.pem"
        try key.pemRepresentation.write(toFile: file, atomically: true, encoding: .utf8)
        for arguments in [
            ["--init-token", "--free", "--label", label, "--so-pin", pin],
            ["--import", file, "--token", label, "--label", label, "--id", "01"],
        ] {
            try ChildProcess.run("/usr/bin/softhsm2-util", arguments + ["--pin", pin], environment: environment)
        }
        return key.publicKey
    }
}
