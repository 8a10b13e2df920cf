import Passcodes
import SecretMemory
import Testing

extension SecretBytes {
    init(_ text: String) { self.init(bytes: Array(text.utf8)) }

    init(bytes: [UInt8]) {
        self.init(zeroed: bytes.count)
        withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
    }

    var hexadecimal: String {
        withUnsafeBytes { $0.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
    }
}

@Suite struct PasscodeStretcherTests {
    private static let salt = StretchSalt(Array(0..<16))!

    struct Vector: CustomTestStringConvertible {
        let passcode: String
        let memory, passes, lanes: UInt32
        let key: String
        var testDescription: String { "\(memory) KiB, \(passes) passes, \(lanes) lanes" }
    }

    /// Computed with another implementation: Argon2id of OpenSSL 4.0 through Python's `cryptography` 48, salt 00 01 …
    /// 0f, 32 bytes. (RFC 9106's own vector has a secret and associated data, which this construction does not use.)
    static let vectors = [
        Vector(
            passcode: "correct horse battery", memory: 65536, passes: 3, lanes: 4,
            key: "5995fc5ddabdb7f10fae2ad796270c269821d70b0efb8fb60262a81f1b6f0eb8"),
        Vector(
            passcode: "pässwörd-☃", memory: 65536, passes: 4, lanes: 1,
            key: "207e1fe79da47d4761ec4ab7fa76f9764a0ac908150d447e9a0f8ff680c0b43f"),
        Vector(
            passcode: String(repeating: "x", count: 1024), memory: 131072, passes: 3, lanes: 8,
            key: "2fd40ee299a1e5b005fd907ffc793596dc4597c32d63cad6743d95faa602559e"),
    ]

    @Test(arguments: vectors)
    func `the key equals that of another implementation`(_ vector: Vector) throws {
        let parameters = try StretchParameters(
            memoryKibibytes: vector.memory, passes: vector.passes, lanes: vector.lanes)
        let key = try PasscodeStretcher(parameters: parameters).stretch(SecretBytes(vector.passcode), salt: Self.salt)
        #expect(key.hexadecimal == vector.key)
    }

    @Test func `an empty passcode is refused`() {
        #expect(throws: StretchError.emptyPasscode) {
            _ = try PasscodeStretcher().stretch(SecretBytes(""), salt: Self.salt).count
        }
    }

    @Test func `a passcode over the limit is refused`() {
        #expect(throws: StretchError.passcodeTooLong) {
            _ = try PasscodeStretcher().stretch(SecretBytes(zeroed: 1025), salt: Self.salt).count
        }
    }

    @Test(arguments: [0, 15, 17]) func `a salt of another size is refused`(_ byteCount: Int) {
        #expect(StretchSalt([UInt8](repeating: 1, count: byteCount)) == nil)
    }

    @Test func `two random salts differ`() {
        #expect(StretchSalt.random() != StretchSalt.random())
        #expect(StretchSalt.random().bytes.count == 16)
    }
}

@Suite struct StretchParametersTests {
    @Test func `the recommended parameters are RFC 9106's second option`() throws {
        let expected = try StretchParameters(memoryKibibytes: 65536, passes: 3, lanes: 4)
        #expect(StretchParameters.recommended == expected)
    }

    @Test func `canonical bytes have the documented layout`() throws {
        let bytes: [UInt8] = [2, 0x13, 0, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 4]
        #expect(StretchParameters.recommended.canonicalBytes == bytes)
        #expect(try StretchParameters(canonicalBytes: bytes) == .recommended)
    }

    @Test(
        arguments: [
            (65536, 3, 1), (524288, 16, 16), (65536, 16, 1), (524288, 3, 16),
        ] as [(UInt32, UInt32, UInt32)])
    func `the bounds themselves are accepted`(_ memory: UInt32, _ passes: UInt32, _ lanes: UInt32) throws {
        let parameters = try StretchParameters(memoryKibibytes: memory, passes: passes, lanes: lanes)
        #expect(try StretchParameters(canonicalBytes: parameters.canonicalBytes) == parameters)
    }

    @Test(
        arguments: [
            (65535, 3, 4, .memoryOutOfBounds), (524289, 3, 4, .memoryOutOfBounds),
            (2_097_152, 3, 4, .memoryOutOfBounds), (.max, 3, 4, .memoryOutOfBounds),
            (65536, 1, 4, .passesOutOfBounds), (65536, 2, 4, .passesOutOfBounds), (65536, 17, 4, .passesOutOfBounds),
            (65536, 3, 0, .lanesOutOfBounds), (65536, 3, 17, .lanesOutOfBounds),
        ] as [(UInt32, UInt32, UInt32, StretchParametersError)])
    func `a planted record cannot leave the bounds`(
        _ memory: UInt32, _ passes: UInt32, _ lanes: UInt32, _ error: StretchParametersError
    ) {
        #expect(throws: error) { try StretchParameters(memoryKibibytes: memory, passes: passes, lanes: lanes) }
        let planted =
            [UInt8]([2, 0x13])
            + [memory, passes, lanes].flatMap { number in
                [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
            }
        #expect(throws: error) { try StretchParameters(canonicalBytes: planted) }
    }

    @Test func `every truncation and a trailing byte are malformed`() {
        let bytes = StretchParameters.recommended.canonicalBytes
        for count in 0..<bytes.count {
            #expect(throws: StretchParametersError.malformed) {
                try StretchParameters(canonicalBytes: Array(bytes[..<count]))
            }
        }
        #expect(throws: StretchParametersError.malformed) { try StretchParameters(canonicalBytes: bytes + [0]) }
    }

    @Test(arguments: [(0, 1), (0, 0), (1, 0x10), (1, 0)])
    func `another function or version is refused`(_ index: Int, _ value: UInt8) {
        var bytes = StretchParameters.recommended.canonicalBytes
        bytes[index] = value
        #expect(throws: StretchParametersError.unknownFunction) { try StretchParameters(canonicalBytes: bytes) }
    }
}
