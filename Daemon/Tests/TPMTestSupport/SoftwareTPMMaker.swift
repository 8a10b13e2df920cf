import EnclaveContract
import Foundation

/// A maker of chips with an authority of its own, swtpm's.
public final class SoftwareTPMMaker: Sendable {
    private let folder = ScratchDirectory()

    public init() throws {
        try folder.make()
        let path = folder.path
        _ = try folder.write(
            Data(
                """
                statedir = \(path)
                signingkey = \(path)/signkey.pem
                issuercert = \(path)/issuercert.pem
                certserial = \(path)/certserial

                """.utf8), named: "localca.conf")
        _ = try folder.write(
            Data(
                """
                create_certs_tool = /usr/bin/swtpm_localca
                create_certs_tool_config = \(path)/localca.conf
                create_certs_tool_options = /etc/swtpm-localca.options
                active_pcr_banks = sha256

                """.utf8), named: "setup.conf")
    }

    /// The certificate of its authority, PEM.
    public var authority: String { "\(folder.path)/swtpm-localca-rootca-cert.pem" }
    /// The authority's certificate for the key that signs endorsement certificates, PEM.
    public var intermediate: String { "\(folder.path)/issuercert.pem" }

    public struct SetupFailed: Error {
        public let output: String
    }

    /// Makes the state of a new chip.
    func endorse(_ state: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/swtpm_setup")
        process.arguments = [
            "--tpm2", "--tpmstate", state, "--create-ek-cert", "--config", "\(folder.path)/setup.conf", "--logfile",
            "\(state)/setup.log",
        ]
        process.environment = ["PATH": "/usr/bin:/bin", "HOME": folder.path]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw SetupFailed(output: output) }
    }
}
