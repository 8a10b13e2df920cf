public import Foundation

/// `openssl` with its files in one folder. An argument that begins with `@` names a file there.
public struct OpenSSLFolder {
    private let folder: URL

    public init(_ folder: URL) { self.folder = folder }

    public func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    public func data(_ name: String) throws -> Data { try Data(contentsOf: folder.appendingPathComponent(name)) }

    public func write(_ name: String, _ content: Data) throws { _ = try folder.file(name, content) }

    @discardableResult
    public func run(_ arguments: String...) throws -> Data { try run(arguments) }

    /// - Throws: ``IndependentTool/Failure`` when openssl does not succeed.
    @discardableResult
    public func run(_ arguments: [String]) throws -> Data {
        let placed = arguments.map { $0.hasPrefix("@") ? path(String($0.dropFirst())) : $0 }
        let outcome = try IndependentTool.run("openssl", placed)
        guard outcome.status == 0 else {
            throw IndependentTool.Failure(diagnostics: "openssl \(arguments): \(outcome.diagnostics)")
        }
        return outcome.output
    }

    // MARK: certificates

    /// A key on P-256 and a certificate for it, `NAME.key` and `NAME.pem`, signed by `issuer`, else by itself.
    public func authority(_ name: String, issuedBy issuer: String? = nil, serial: Int) throws {
        try run("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "@\(name).key")
        try run("pkey", "-in", "@\(name).key", "-pubout", "-out", "@\(name).pub")
        try certificate(name, subject: "/O=Gate/CN=\(name)", issuedBy: issuer, signer: name, serial: serial)
    }

    /// A certificate `NAME.pem` for the public key in `NAME.pub`; returns it in DER.
    ///
    /// - Parameters:
    ///   - issuer: whose certificate and key sign; without one `signer`'s key does, and the subject is the issuer.
    ///   - extensions: lines as in a configuration file of openssl.
    @discardableResult
    public func certificate(
        _ name: String, subject: String, issuedBy issuer: String? = nil, signer: String = "", serial: Int,
        days: Int = 2, extensions: String = ""
    ) throws -> Data {
        let signing = issuer.map { ["-CA", "@\($0).pem", "-CAkey", "@\($0).key"] } ?? ["-key", "@\(signer).key"]
        try write("extensions", Data(extensions.utf8))
        try run(
            ["x509", "-new", "-force_pubkey", "@\(name).pub", "-subj", subject, "-set_serial", "\(serial)"] + signing
                + ["-days", "\(days)", "-extfile", "@extensions", "-out", "@\(name).pem"])
        return try run("x509", "-in", "@\(name).pem", "-outform", "DER")
    }
}
