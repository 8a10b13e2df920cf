import EnclaveContract
import Foundation
import Synchronization

/// A maker of chips with swtpm's authority.
public final class SoftwareTPMMaker: Sendable {
    private let folder = ScratchDirectory()
    private let isStranger: Bool

    /// The authority of all makers of this process but the strangers, once there is one: its keys take a second to make.
    private static let knownAuthority = Mutex<[String: Data]>([:])
    private static let authorityFiles = [
        "signkey.pem", "issuercert.pem", "certserial", "swtpm-localca-rootca-cert.pem",
        "swtpm-localca-rootca-privkey.pem",
    ]

    /// - Parameter isStranger: whether it has an authority that no other maker has.
    public init(isStranger: Bool = false) throws {
        self.isStranger = isStranger
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
        guard !isStranger else { return }
        for (name, bytes) in Self.knownAuthority.withLock({ $0 }) { _ = try folder.write(bytes, named: name) }
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
        try run(
            "swtpm_setup", "--tpm2", "--tpmstate", state, "--create-ek-cert", "--config", "\(folder.path)/setup.conf",
            "--logfile", "\(state)/setup.log")
        guard !isStranger else { return }
        try Self.knownAuthority.withLock { known in
            guard known.isEmpty else { return }
            known = try Self.authorityFiles.reduce(into: [:]) { files, name in
                files[name] = try Data(contentsOf: URL(fileURLWithPath: folder.path(name)))
            }
        }
    }

    /// A certificate in DER for an endorsement key on P-256.
    ///
    /// - Parameter area: the public area, as tpm2_print shows it.
    func certify(_ area: String) throws -> Data {
        func coordinate(_ name: String) -> String {
            let line = area.split(separator: "\n").first { $0.hasPrefix("\(name): ") }
            return line.map { String($0.dropFirst(3)) } ?? ""
        }
        try run(
            "swtpm_localca", "--type", "ek", "--ek", "x=\(coordinate("x")),y=\(coordinate("y")),id=secp256r1", "--dir",
            folder.path, "--configfile", "\(folder.path)/localca.conf", "--optsfile", "/etc/swtpm-localca.options",
            "--tpm2", "--tpm-manufacturer", "id:00001014", "--tpm-model", "swtpm", "--tpm-version", "id:20191023",
            "--tpm-spec-family", "2.0", "--tpm-spec-revision", "164", "--tpm-spec-level", "0")
        return try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/ek.cert"))
    }

    private func run(_ program: String, _ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/\(program)")
        process.arguments = arguments
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
