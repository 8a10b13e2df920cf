import Enclave
import Foundation
import SecretMemory
import TPMTestSupport
import Testing

@testable import TPMEnclave

/// tpm2-tools, openssl and recorded traffic as independent opinions.
@Suite(.timeLimit(.minutes(10))) struct WitnessTests {
    private let tpm: SoftwareTPM

    init() throws { tpm = try SoftwareTPM() }

    /// Loads a key's areas with tpm2-tools, below the template's storage key, as `key.ctx`.
    private func load(_ key: WrappedKey) throws {
        let object = try ChipObject(blob: key.blob, as: .key)
        try tpm.write(object.publicArea, named: "key.pub")
        try tpm.write(object.privateArea, named: "key.priv")
        try tpm.tool(
            "tpm2_createprimary", "-C", "o", "-G", "ecc", "-c", "root.ctx", "-a",
            "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda|restricted|decrypt")
        try tpm.tool("tpm2_flushcontext", "-t")
        try tpm.tool("tpm2_load", "-C", "root.ctx", "-u", "key.pub", "-r", "key.priv", "-c", "key.ctx")
        try tpm.tool("tpm2_flushcontext", "-t")
    }

    private func sign(_ authorization: String) throws {
        defer { _ = try? tpm.tool("tpm2_flushcontext", "-t") }
        try tpm.tool(
            "tpm2_sign", "-c", "key.ctx", "-p", authorization, "-g", "sha256", "-d", "-f", "plain", "-o", "signature",
            "digest")
    }

    @Test func `tpm2-tools load a key, see that it cannot leave the chip, and agree on its public half`() throws {
        let key = try TPMEnclave(at: tpm.shared, storageKey: nil).makeKey()
        try load(key)
        let area = try tpm.tool("tpm2_readpublic", "-c", "key.ctx", "-f", "der", "-o", "key.der")
        #expect(
            area.contains("value: fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda|decrypt|sign\n"))
        let policy = ObjectPolicy.digest(.p256, Material.binding).map { String(format: "%02x", $0) }.joined()
        #expect(area.contains("authorization policy: \(policy)"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: tpm.path("key.der"))).suffix(65) == key.publicKey)
    }

    @Test func `tpm2-tools sign with the authorization value alone, and openssl accepts it`() throws {
        try load(try TPMEnclave(at: tpm.shared, storageKey: nil).makeKey())
        try tpm.tool("tpm2_readpublic", "-c", "key.ctx", "-f", "pem", "-o", "key.pem")
        try tpm.tool("tpm2_flushcontext", "-t")
        try tpm.write(Material.digest, named: "digest")
        try sign("hex:" + String(repeating: "01", count: 32))
        try tpm.tool(
            "openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "key.pem", "-in", "digest", "-sigfile", "signature")
        for wrong in ["hex:" + String(repeating: "02", count: 32), ""] {
            #expect(throws: SoftwareTPM.ToolFailed.self) { try sign(wrong) }
        }
    }

    @Test func `a policy session opens no key and no secret`() throws {
        try load(try TPMEnclave(at: tpm.shared, storageKey: nil).makeKey())
        try tpm.write(Material.digest, named: "digest")
        try tpm.tool("tpm2_startauthsession", "--policy-session", "-S", "session.ctx")
        #expect(throws: SoftwareTPM.ToolFailed.self) { try sign("session:session.ctx") }
        try tpm.tool("tpm2_policypassword", "-S", "session.ctx")
        #expect(throws: SoftwareTPM.ToolFailed.self) { try sign("session:session.ctx") }
    }

    // MARK: traffic

    @Test func `the traffic has neither authorization value, sealed secret nor agreed value`() throws {
        var (right, wrong, secret) = (Data(), Data(), Data())
        for _ in 0..<32 {
            right.append(.random(in: 1...255))
            wrong.append(.random(in: 1...255))
            secret.append(.random(in: 0...255))
        }
        var (publicKey, agreed) = (Data(), Data())
        let traffic = try tpm.recorded("secrets.pcap") { location in
            let enclave = try TPMEnclave(at: location, storageKey: nil)
            let key = try enclave.makeKey(authorization: SecretBytes(right), binding: Material.binding)
            let open = try enclave.openKey(
                key, authorization: SecretBytes(right), binding: Material.binding, session: nil)
            try open.expectSignature()
            let peer = try enclave.makeKey()
            agreed = Data(exposing: try open.sharedSecret(withPublicKey: peer.publicKey))
            publicKey = key.publicKey
            let blob = try enclave.seal(
                SecretBytes(secret), authorization: SecretBytes(right), context: Material.context)
            _ = try enclave.unseal(blob, authorization: SecretBytes(right), context: Material.context)
            expect(.refused) {
                _ = try enclave.unseal(blob, authorization: SecretBytes(wrong), context: Material.context)
            }
        }
        #expect(traffic.range(of: publicKey.dropFirst().prefix(8)) != nil, "the recording holds what is not secret")
        for hidden in [right, wrong, secret, agreed] {
            #expect(hidden.count == 32)
            for start in stride(from: 0, to: 32, by: 8) {
                #expect(traffic.range(of: hidden.dropFirst(start).prefix(8)) == nil)
            }
        }
    }

    @Test func `a signature with a key in use is one command`() throws {
        _ = try tpm.recorded("signature.pcap") { location in
            let enclave = try TPMEnclave(at: location, storageKey: nil)
            let open = try enclave.open(try enclave.makeKey())
            let commands = try tpm.commands("signature.pcap") { try open.expectSignature() }
            #expect(commands == [.sign])
        }
    }
}
