import Crypto
import Foundation
import SSHFormats
import Testing

@Suite struct SSHSignedDataTests {
    private static let vectors = SSHVectors.openSSH

    private static func login(_ bytes: Data) throws -> SSHUserAuthenticationRequest {
        guard case .userAuthentication(let login) = try SSHSignedData.parse(bytes) else { throw NoLogin() }
        return login
    }

    private struct NoLogin: Error {}

    private static func signature(_ bytes: Data) throws -> SSHSignatureBlob {
        guard case .sshsig(let signature) = try SSHSignedData.parse(bytes) else { throw NoLogin() }
        return signature
    }

    // MARK: logins

    @Test(arguments: vectors.logins) func `the bytes that ssh has signed are read`(_ vector: SSHVectors.Login) throws {
        let login = try Self.login(vector.data)
        let binding = try SSHSessionBinding(contents: vector.bind)
        #expect(login.user == "tester" && login.service == "ssh-connection")
        #expect(login.sessionID == binding.sessionID)
        #expect(login.method == (vector.name == "unbound" ? .publicKey : .hostBound))
        #expect(login.hostKey == (vector.name == "unbound" ? nil : binding.hostKey))
        // With a certificate, ssh has the plain key sign.
        #expect(login.publicKey.plain.blob == vector.key)
        #expect(login.publicKey.isCertificate == (vector.name == "certificate"))
        #expect(try login.publicKey.isSameKey(as: SSHPublicKey(blob: Self.vectors.user)))
        #expect(try login.publicKey.isValid(SSHSignature(blob: vector.sig), of: vector.data))
    }

    @Test(arguments: vectors.logins) func `no truncation is a login, and nothing stands behind one`(
        _ vector: SSHVectors.Login
    ) throws {
        // Session id and message number.
        let begin = try 4 + Self.login(vector.data).sessionID.count + 1
        for bytes in Spoiled.lengths(of: vector.data) {
            #expect(throws: SSHFormatError.self) { try SSHUserAuthenticationRequest(bytes) }
            // Then it is a damaged login, and no unknown data.
            if bytes.count >= begin {
                #expect(throws: SSHFormatError.self) { try SSHSignedData.parse(bytes) }
            }
        }
    }

    @Test(arguments: vectors.logins) func `a login with a changed bit is another one, or none`(
        _ vector: SSHVectors.Login
    ) throws {
        let login = try Self.login(vector.data)
        for bytes in Spoiled.bits(of: vector.data) {
            if let read = try? SSHUserAuthenticationRequest(bytes) { #expect(read != login) }
        }
    }

    /// A login with one field that is none.
    struct Spoilt: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (inout LoginFields) -> Void
        /// Nil for bytes that are no login at all.
        let error: SSHFormatError?

        init(_ name: String, _ error: SSHFormatError?, _ change: @escaping @Sendable (inout LoginFields) -> Void) {
            (testDescription, self.error, self.change) = (name, error, change)
        }
    }

    static let spoilt = [
        Spoilt("number", nil) { $0.number = 51 }, Spoilt("user", .malformed(.text)) { $0.user = Data([0xFF]) },
        Spoilt("NUL", .malformed(.text)) { $0.user = Data("root\u{0}".utf8) },
        Spoilt("long user", .tooLarge) { $0.user = Data(repeating: 97, count: 513) },
        Spoilt("service", .malformed(.text)) { $0.service = "" },
        Spoilt("method", .unsupported(.method)) { $0.method = "hostbased" },
        Spoilt("password", .unsupported(.method)) { $0.method = "password" },
        Spoilt("no signature", .malformed(.flag)) { $0.flag = 0 }, Spoilt("flag", .malformed(.flag)) { $0.flag = 2 },
        Spoilt("algorithm", .unsupported(.algorithm)) { $0.algorithm = "ssh-ed25519" },
        Spoilt("certificate's", .unsupported(.algorithm)) { $0.algorithm += "-cert-v01@openssh.com" },
        Spoilt("key", .malformed(.text)) { $0.key = Data(count: 10) },
        Spoilt("short session", .malformed(.sessionID)) { $0.sessionID = Data(count: 19) },
        Spoilt("long session", .malformed(.sessionID)) { $0.sessionID = Data(count: 65) },
        Spoilt("no session", .malformed(.sessionID)) { $0.sessionID = Data() },
        Spoilt("host key of publickey", .trailingBytes) { $0.hostKey = SSHVectors.openSSH.user },
        Spoilt("no host key", .truncated) { $0.method = "publickey-hostbound-v00@openssh.com" },
    ]

    @Test(arguments: spoilt) func `a field that is none is refused`(_ spoilt: Spoilt) throws {
        let bytes = LoginFields.with(spoilt.change)
        guard let error = spoilt.error else {
            #expect(try SSHSignedData.parse(bytes) == .unknown)
            return
        }
        #expect(throws: error) { try SSHSignedData.parse(bytes) }
    }

    @Test func `RSA logs in with SHA-2 only`() throws {
        let key = try #require(Self.vectors.hosts["host_rsa2048"]).key
        for algorithm in ["rsa-sha2-256", "rsa-sha2-512"] {
            let bytes = LoginFields.with { ($0.key, $0.algorithm) = (key, algorithm) }
            #expect(try Self.login(bytes).algorithm == algorithm)
        }
        #expect(throws: SSHFormatError.unsupported(.algorithm)) {
            try SSHSignedData.parse(LoginFields.with { ($0.key, $0.algorithm) = (key, "ssh-rsa") })
        }
    }

    // MARK: signatures

    @Test func `the bytes of ssh-keygen's signature are read, and its signature fits`() throws {
        // The armored signature holds magic, version, key, namespace, reserved, hash and signature.
        var reader = SSHReader(Self.vectors.sshsig)
        #expect(try reader.read(count: 6) == Data("SSHSIG".utf8) && reader.readUInt32() == 1)
        let key = try SSHPublicKey(blob: reader.readString(limit: 1000))
        let (namespace, reserved) = (try reader.readText(limit: 100), try reader.readString(limit: 100))
        let hash = try reader.readName()
        let made = try SSHSignature(blob: reader.readString(limit: 1000))
        try reader.finish()
        let bytes = SSHVectors.signedBlob(
            namespace: namespace, hash: hash, digest: Data(SHA512.hash(data: Data("a message".utf8))),
            reserved: reserved)
        let signature = try Self.signature(bytes)
        #expect(signature.namespace == "git" && signature.hashAlgorithm == .sha512 && signature.reserved.isEmpty)
        #expect(signature.digest == Data(SHA512.hash(data: Data("a message".utf8))))
        #expect(try key.isValid(made, of: bytes))
        for spoiled in Spoiled.lengths(of: bytes) where spoiled.count >= 6 {
            #expect(throws: SSHFormatError.self) { try SSHSignedData.parse(spoiled) }
        }
        for spoiled in Spoiled.bits(of: bytes) {
            if let read = try? SSHSignatureBlob(spoiled) { #expect(read != signature) }
        }
    }

    @Test(
        arguments: [
            ("", "sha256", 32, .malformed(.namespace)), ("git", "sha1", 20, .unsupported(.hashAlgorithm)),
            ("git", "sha256", 31, .malformed(.digest)), ("git", "sha256", 33, .tooLarge),
            ("git", "sha512", 32, .malformed(.digest)), ("a\u{0}b", "sha256", 32, .malformed(.text)),
            (String(repeating: "n", count: 256), "sha256", 32, .tooLarge),
        ] as [(String, String, Int, SSHFormatError)])
    func `a signature of another form is refused`(
        _ namespace: String, _ hash: String, _ count: Int, _ error: SSHFormatError
    ) {
        let bytes = SSHVectors.signedBlob(namespace: namespace, hash: hash, digest: Data(count: count))
        #expect(throws: error) { try SSHSignedData.parse(bytes) }
    }

    @Test func `the reserved field is bounded, and else ignored`() throws {
        func bytes(_ count: Int) -> Data {
            SSHVectors.signedBlob(
                namespace: "git", hash: "sha256", digest: Data(count: 32), reserved: Data(count: count))
        }
        #expect(try Self.signature(bytes(1024)).reserved.count == 1024)
        #expect(throws: SSHFormatError.tooLarge) { try SSHSignedData.parse(bytes(1025)) }
    }

    // MARK: neither

    @Test(arguments: [
        Data(), Data("hello".utf8), Data(count: 32), Data("SSHSI".utf8), Data(repeating: 0x20, count: 64),
        SSHVectors.openSSH.user, SSHVectors.openSSH.sessionID,
    ])
    func `all else is unknown`(_ bytes: Data) throws {
        #expect(try SSHSignedData.parse(bytes) == .unknown)
    }

    @Test func `what looks like a broken login or signature is never unknown`() {
        let session = SSHWriter.bytes { $0.write(string: Data(count: 32)) }
        for bytes in [session + [50], Data("SSHSIG".utf8), Data("SSHSIG".utf8) + Data(count: 100)] {
            #expect(throws: SSHFormatError.self) { try SSHSignedData.parse(bytes) }
        }
        #expect(throws: SSHFormatError.tooLarge) { try SSHSignedData.parse(Data(count: 256 * 1024 + 1)) }
    }
}
