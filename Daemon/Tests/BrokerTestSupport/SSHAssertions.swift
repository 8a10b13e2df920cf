public import Foundation
public import OstiaryMessages
public import SSHFormats
import SecretMemory
import StoreTestSupport

extension TestClient {
    /// Signs for SSH with a credential, as a door: flags, counter and signature.
    ///
    /// - Parameter id: of a passkey, or a key handle.
    public func assertSSH(
        _ data: Data, by blob: Data, _ id: Data, on attachment: WireAttachment = .platform,
        _ bindings: [WireSSHBinding] = [], hostName: String = "", requiresVerification: Bool = false,
        asking: Bool = true
    ) throws -> SSHAssertion {
        let request = WireSSHAssertRequest.with {
            ($0.publicKey, $0.credentialID, $0.attachment) = (blob, id, attachment)
            ($0.bindings, $0.hostName, $0.requiresVerification) = (bindings, hostName, requiresVerification)
            $0.question = Self.question
            $0.question.interactionNotAllowed = !asking
        }
        return try SSHAssertion(bytes: call(.sshAssert(request), tail: SecretBytes(bytes: data)).tail)
    }

    /// Registers the test's own program as a door. The owner is asked.
    public func registerAsDoor(as applicationID: String = "com.example.door") throws {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        try call(
            .registerApplication(
                .with {
                    ($0.path, $0.applicationID, $0.isDoor) = (own, applicationID, true)
                    $0.question = Self.question
                }))
    }
}

extension SSHBytes {
    /// A login with a key of any kind, in the host-bound form.
    public static func login(
        _ session: UInt8, user: String = "root", with key: SSHPublicKey, to host: SSHHost
    ) -> Data {
        SSHWriter.bytes { writer in
            writer.write(string: SSHHost.sessionID(session))
            writer.write(UInt8(50))
            writer.write(text: user)
            writer.write(text: "ssh-connection")
            writer.write(text: "publickey-hostbound-v00@openssh.com")
            writer.write(flag: true)
            writer.write(text: key.name)
            writer.write(string: key.blob)
            writer.write(string: host.blob)
        }
    }
}
