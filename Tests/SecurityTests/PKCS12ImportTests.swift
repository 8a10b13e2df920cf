import Foundation
import IndependentTools
import Security
import SeededRandomness
import Testing

/// PKCS #12 files of OpenSSL's, into memory.
@Suite struct PKCS12ImportTests {
    private static let passphrase = "correct horse 9"

    /// A file of a key, its certificate `door` and the certificates above it.
    private struct Made {
        let file: Data
        let certificate: Data
        let chain: [Data]
        /// PKCS #8, DER, not encrypted.
        let key: Data
        let message = Data("message".utf8)
    }

    /// Makes `door` for a key of `algorithm`, below Middle and Root, and exports it.
    private func make(
        _ algorithm: [String] = ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"], export: [String] = [],
        passphrase: String = Self.passphrase, withChain: Bool = true
    ) throws -> Made {
        try IndependentTool.withFolder { folder in
            let openssl = OpenSSLFolder(folder)
            try openssl.authority("Root", serial: 1)
            try openssl.authority("Middle", issuedBy: "Root", serial: 2)
            try openssl.run(["genpkey", "-algorithm"] + algorithm + ["-out", "@door.key"])
            try openssl.run("pkey", "-in", "@door.key", "-pubout", "-out", "@door.pub")
            let door = try openssl.certificate("door", subject: "/O=Gate/CN=door", issuedBy: "Middle", serial: 3)
            let others = try ["Root", "Middle"].map { try openssl.data("\($0).pem") }
            try openssl.write("others.pem", others.reduce(Data(), +))
            let file = try openssl.run(
                ["pkcs12", "-export", "-inkey", "@door.key", "-in", "@door.pem", "-passout", "pass:" + passphrase]
                    + (withChain ? ["-certfile", "@others.pem"] : []) + export)
            let chain = try ["Middle", "Root"].map { try openssl.run("x509", "-in", "@\($0).pem", "-outform", "DER") }
            let key = try openssl.run("pkcs8", "-topk8", "-nocrypt", "-in", "@door.key", "-outform", "DER")
            return Made(file: file, certificate: door, chain: withChain ? chain : [], key: key)
        }
    }

    private func open(
        _ file: Data, _ passphrase: String? = Self.passphrase, _ more: [CFString: Any] = [:]
    ) -> (status: OSStatus, items: [[String: Any]]?) {
        var options = more
        options[kSecImportExportPassphrase] = passphrase
        var items: CFArray? = []
        let status = SecPKCS12Import(file as CFData, options as CFDictionary, &items)
        return (status, items as? [[String: Any]])
    }

    /// Checks that a file gives its identity, whose key belongs to the certificate.
    private func check(
        _ made: Made, _ passphrase: String? = Self.passphrase, label: String = "door",
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let (status, items) = open(made.file, passphrase)
        #expect(status == errSecSuccess, sourceLocation: location)
        let item = try #require(items?.first, sourceLocation: location)
        #expect(items?.count == 1, sourceLocation: location)
        let identity = try #require(item[kSecImportItemIdentity as String] as? SecIdentity)
        var (certificate, key): (SecCertificate?, SecKey?)
        #expect(SecIdentityCopyCertificate(identity, &certificate) == errSecSuccess)
        #expect(SecIdentityCopyPrivateKey(identity, &key) == errSecSuccess)
        let (found, privateKey) = (try #require(certificate), try #require(key))
        #expect(SecCertificateCopyData(found) as Data == made.certificate, sourceLocation: location)
        let publicKey = try #require(SecCertificateCopyKey(found))
        let isRSA = (SecKeyCopyAttributes(privateKey) as? [String: Any])?["type"] as? String == "42"
        let algorithm: SecKeyAlgorithm =
            isRSA ? .rsaSignatureMessagePKCS1v15SHA256 : .ecdsaSignatureMessageX962SHA256
        let signature = try #require(SecKeyCreateSignature(privateKey, algorithm, made.message as CFData, nil))
        #expect(SecKeyVerifySignature(publicKey, algorithm, made.message as CFData, signature, nil))
        let chain = (item[kSecImportItemCertChain as String] as? [SecCertificate])?.map {
            SecCertificateCopyData($0) as Data
        }
        #expect(chain == [made.certificate] + made.chain, sourceLocation: location)
        #expect(item[kSecImportItemLabel as String] as? String == label, sourceLocation: location)
        let hash = (SecKeyCopyAttributes(privateKey) as? [String: Any])?["klbl"] as? Data
        #expect(item[kSecImportItemKeyID as String] as? Data == hash && hash?.count == 20, sourceLocation: location)
        #expect(Set(item.keys) == ["identity", "trust", "chain", "label", "keyid"], sourceLocation: location)
    }

    // MARK: what is opened

    @Test func `a file of today's OpenSSL gives identity, chain, name and key id`() throws {
        // AES-256-CBC in PBES2, HMAC-SHA-256 over it.
        try check(make())
        try check(make(export: ["-name", "my door"]), label: "my door")
        try check(make(export: ["-name", "Tür 門"]), label: "Tür 門")
        try check(make(withChain: false))
    }

    @Test(arguments: [
        ["-legacy"], ["-legacy", "-certpbe", "PBE-SHA1-3DES"], ["-certpbe", "AES-128-CBC", "-keypbe", "AES-192-CBC"],
        ["-certpbe", "des-ede3-cbc", "-keypbe", "des-ede3-cbc"], ["-certpbe", "NONE", "-keypbe", "NONE"],
        ["-legacy", "-certpbe", "PBE-SHA1-RC4-128", "-keypbe", "PBE-SHA1-RC2-40"], ["-macalg", "sha1"],
        ["-macalg", "sha384"], ["-macalg", "sha512"], ["-iter", "1", "-maciter"], ["-iter", "100000"],
    ])
    func `files of other programs' ciphers and digests are opened`(export: [String]) throws {
        try check(make(export: export))
    }

    @Test(arguments: [
        ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"], ["RSA", "-pkeyopt", "rsa_keygen_bits:1024"],
        ["EC", "-pkeyopt", "ec_paramgen_curve:P-384"], ["EC", "-pkeyopt", "ec_paramgen_curve:P-521"],
    ])
    func `a file may hold an RSA key or one of any curve that is made here`(algorithm: [String]) throws {
        try check(make(algorithm))
    }

    @Test(arguments: ["", "x", "grün", "пароль 密码", " leading and trailing ", String(repeating: "long ", count: 100)])
    func `a passphrase is any text`(passphrase: String) throws {
        let made = try make(passphrase: passphrase)
        try check(made, passphrase)
        if passphrase.isEmpty { try check(made, nil) }
        for wrong in [passphrase + "x", String(passphrase.dropLast()), passphrase.uppercased() + " "]
        where wrong != passphrase {
            let (status, items) = open(made.file, wrong)
            #expect(status == errSecAuthFailed)
            #expect(items == nil)
        }
    }

    @Test func `certificates that belong to no key come by themselves`() throws {
        let made = try make()
        let (others, lone) = try IndependentTool.withFolder { folder in
            let openssl = OpenSSLFolder(folder)
            try openssl.authority("Island", serial: 1)
            try openssl.authority("door", serial: 2)
            let pass = ["-passout", "pass:" + Self.passphrase]
            let files = ["-in", "@Island.pem", "-certfile", "@door.pem"]
            return (
                try openssl.run(["pkcs12", "-export", "-nokeys"] + files + pass),
                try openssl.run(["pkcs12", "-export", "-nocerts", "-inkey", "@door.key"] + pass)
            )
        }
        let (status, items) = open(others)
        #expect(status == errSecSuccess && items?.count == 1)
        #expect((items?.first?["chain"] as? [SecCertificate])?.count == 2)
        #expect(items?.first.map { Set($0.keys) } == ["chain"])
        #expect(open(lone).status == errSecSuccess)
        #expect(open(lone).items?.isEmpty == true, "a key without its certificate is no identity")
        #expect(open(made.file).items?.count == 1)
    }

    @Test func `a name with a character that takes two units is not read, and the refusal says so`() throws {
        let (maker, made) = (try PKCS12Maker(passphrase: Self.passphrase), try make())
        func open(_ name: String) -> (status: OSStatus, items: [[String: Any]]?) {
            let certificate = PKCS12Maker.certificateBag(made.certificate, attributes: PKCS12Maker.name(name))
            return self.open(maker.file(PKCS12Maker.contents([[PKCS12Maker.keyBag(made.key), certificate]])))
        }
        #expect(open("Tür 門").items?.first?["label"] as? String == "Tür 門")
        #expect(open("Tür 🚪").status == errSecUnimplemented)
        #expect(open("Tür 🚪").items == nil)
    }

    // MARK: what is not

    @Test func `a wrong passphrase is told from a file that is none`() throws {
        let made = try make()
        for wrong in ["wrong", "", Self.passphrase + " ", "Correct horse 9", nil] as [String?] {
            let (status, items) = open(made.file, wrong)
            #expect(status == errSecAuthFailed, "\(wrong ?? "none")")
            #expect(items == nil)
        }
        for bytes in [Data(), Data([0]), Data("text".utf8), Data([0x30, 0x80]), made.certificate, made.file + [0]] {
            let (status, items) = open(bytes)
            #expect(status == errSecDecode)
            #expect(items == nil)
        }
    }

    @Test(arguments: [
        ["-nomac"], ["-certpbe", "camellia-256-cbc"], ["-keypbe", "aria-128-cbc"],
    ])
    func `a file that is protected in a way that is not known here is refused as that`(export: [String]) throws {
        let made = try make(export: export)
        #expect(open(made.file).status == errSecUnimplemented)
        #expect(open(made.file).items == nil)
    }

    @Test(arguments: [
        ["Ed25519"], ["EC", "-pkeyopt", "ec_paramgen_curve:secp224r1"],
        ["EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"],
        ["RSA-PSS", "-pkeyopt", "rsa_keygen_bits:2048"], ["RSA", "-pkeyopt", "rsa_keygen_bits:768"],
    ])
    func `a file with a key that does not exist here is refused`(algorithm: [String]) throws {
        let made = try make(algorithm)
        #expect(open(made.file).status == errSecUnimplemented)
        #expect(open(made.file).items == nil)
        #expect(open(made.file, "wrong").status == errSecAuthFailed)
    }

    @Test func `a file cut anywhere is refused`() throws {
        let file = try make(export: ["-iter", "1"], withChain: false).file
        for count in 0..<file.count {
            let (status, items) = open(file.prefix(count))
            #expect(status == errSecDecode, "\(count)")
            #expect(items == nil)
        }
    }

    @Test func `a file of a MiB is read, and a larger one is refused before it is looked at`() throws {
        let limit = 1 << 20
        #expect(open(Data(count: limit)).status == errSecDecode)
        let (status, items) = open(Data(count: limit + 1))
        #expect(status == errSecDataTooLarge)
        #expect(items == nil)
    }

    /// The form is broken in some places, the code in the others.
    @Test(arguments: [["-iter", "1", "-maciter"], ["-legacy", "-iter", "1", "-maciter"]])
    func `a file with a flipped bit in any byte is refused`(export: [String]) throws {
        let file = try make(export: export, withChain: false).file
        var random = SeededGenerator(seed: 20_260_406)
        let refusals = [errSecAuthFailed, errSecDecode, errSecUnimplemented]
        for index in file.indices {
            var altered = file
            altered[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
            let (status, items) = open(altered)
            #expect(refusals.contains(status), "\(index)")
            #expect(items == nil)
        }
    }

    // MARK: several bags

    /// The authentication code fits, so what is flipped reaches the readers behind it.
    @Test(arguments: [false, true])
    func `a flipped bit under a code that fits never ends the process`(isSealed: Bool) throws {
        let maker = try PKCS12Maker(passphrase: Self.passphrase)
        let made = try make(
            export: isSealed ? ["-iter", "1"] : ["-certpbe", "NONE", "-keypbe", "NONE"], withChain: !isSealed)
        let contents = try #require(PKCS12Maker.contents(of: made.file))
        #expect(open(maker.file(contents)).items?.count == 1, "the same contents under another code")
        var random = SeededGenerator(seed: 20_260_407)
        var opened = 0
        for index in contents.indices {
            var altered = contents
            altered[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
            let (status, items) = open(maker.file(altered))
            #expect((status == errSecSuccess) == (items != nil), "\(index)")
            #expect(status != errSecDataTooLarge && status != errSecParam, "\(index)")
            if status == errSecSuccess { opened += 1 }
        }
        // A flipped bit of a name or of a certificate's signature leaves a sound file.
        #expect(opened > 0 || isSealed)
    }

    @Test func `bags may be many, in any parts, and unknown ones are passed over`() throws {
        let maker = try PKCS12Maker(passphrase: Self.passphrase)
        let made = try make()
        let (key, certificate) = (PKCS12Maker.keyBag(made.key), PKCS12Maker.certificateBag(made.certificate))
        let unknown = PKCS12Maker.bag("2a864886f70d010c0a0105", PKCS12Maker.der(0x04, Data("secret".utf8)))
        for parts in [
            [[key, certificate]], [[certificate], [key]], [[unknown, key], [], [certificate]],
        ] {
            let (status, items) = open(maker.file(PKCS12Maker.contents(parts)))
            #expect(status == errSecSuccess)
            #expect(items?.first?["identity"] is SecIdentity && items?.count == 1)
        }
        let nested = PKCS12Maker.bag("2a864886f70d010c0a0106", PKCS12Maker.der(0x30, key + certificate))
        #expect(open(maker.file(PKCS12Maker.contents([[nested]]))).items?.isEmpty == true, "BoringSSL passes it over")
        #expect(open(maker.file(PKCS12Maker.contents([]))).items?.isEmpty == true)
        let twice = open(maker.file(PKCS12Maker.contents([[key, certificate], [key]])))
        #expect(twice.status == errSecUnimplemented && twice.items == nil, "two private keys")
        let many = open(maker.file(PKCS12Maker.contents([Array(repeating: certificate, count: 1_000)])))
        #expect(many.status == errSecSuccess)
        #expect((many.items?.first?["chain"] as? [SecCertificate])?.count == 1_000)
    }

    @Test func `bags nested without end are refused`() throws {
        let maker = try PKCS12Maker(passphrase: Self.passphrase)
        var bag = PKCS12Maker.bag("2a864886f70d010c0a0105", PKCS12Maker.der(0x04, Data()))
        while bag.count < 200_000 { bag = PKCS12Maker.bag("2a864886f70d010c0a0106", PKCS12Maker.der(0x30, bag)) }
        let (status, items) = open(maker.file(PKCS12Maker.contents([[bag]])))
        #expect([errSecDecode, errSecSuccess].contains(status))
        #expect(items?.isEmpty != false)
    }

    // MARK: options

    @Test func `options that are none are refused`() throws {
        let file = try make(withChain: false).file
        for (key, value, status) in [
            (kSecImportExportPassphrase, Data(Self.passphrase.utf8), errSecParam),
            (kSecImportExportPassphrase, 1, errSecParam), (kSecImportExportPassphrase, "a\0b", errSecParam),
            (kSecImportExportPassphrase, "🔑", errSecParam), (kSecImportToMemoryOnly, "yes", errSecParam),
            (kSecUseDataProtectionKeychain, 1, errSecParam),
            (kSecImportExportKeychain, NSObject(), errSecUnimplemented),
            (kSecImportExportAccess, NSObject(), errSecUnimplemented),
        ] as [(CFString, Any, OSStatus)] {
            var items: CFArray? = []
            let options = [kSecImportExportPassphrase: Self.passphrase].merging([key: value]) { $1 } as [CFString: Any]
            #expect(SecPKCS12Import(file as CFData, options as CFDictionary, &items) == status, "\(key) \(value)")
            #expect(items == nil)
        }
        let memory: [CFString: Any] = [
            kSecImportToMemoryOnly: true, kSecImportExportKeychain: NSObject(), kSecUseDataProtectionKeychain: true,
        ]
        #expect(open(file, Self.passphrase, memory).status == errSecSuccess, "in memory nothing else counts")
        #expect(open(file, Self.passphrase, [kSecAttrLabel: "unused"]).status == errSecSuccess)
    }
}
