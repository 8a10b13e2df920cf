import Foundation
import KeyAlgorithms
import Testing

@Suite struct HashAlgorithmTests {
    /// Digests of "abc": FIPS 180-4 examples (csrc.nist.gov, "Examples with Intermediate Values").
    @Test(arguments: [
        (HashAlgorithm.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (.sha224, "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
        (.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            .sha384,
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
        ),
        (
            .sha512,
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        ),
    ])
    func `the digest of abc is NIST's`(algorithm: HashAlgorithm, expected: String) {
        #expect(algorithm.digest(of: Data("abc".utf8)) == Data(hex: expected))
        #expect(algorithm.byteCount == expected.count / 2)
    }

    /// SHA-224: RFC 3874 section 3, and the empty message of NIST's CAVS file SHA224ShortMsg.rsp.
    @Test(arguments: [
        ("", 1, "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
            "75388b16512776cc5dba5da1fd890150b0c6455cb4f58b1952522525"
        ),
        ("a", 1_000_000, "20794655980c91d8bbb4c1ea97618a4bf03f42581948b2ee4ee7ad67"),
    ])
    func `SHA-224 gives the known answers`(text: String, repetitions: Int, expected: String) {
        let message = Data(String(repeating: text, count: repetitions).utf8)
        #expect(HashAlgorithm.sha224.digest(of: message) == Data(hex: expected))
    }

    @Test(arguments: HashAlgorithm.allCases)
    func `pieces of any size give the digest of the whole`(algorithm: HashAlgorithm) {
        let message = Data((0..<1000).map { UInt8(truncatingIfNeeded: $0) })
        for size in [1, 27, 63, 64, 65, 128, 999, 1000] {
            var hash = StreamingHash(algorithm)
            for start in stride(from: 0, to: message.count, by: size) {
                hash.update(message[start..<min(start + size, message.count)])
            }
            #expect(hash.finalize() == algorithm.digest(of: message), "pieces of \(size)")
        }
    }

    @Test(arguments: HashAlgorithm.allCases)
    func `a copy of a running hash goes its own way`(algorithm: HashAlgorithm) {
        var hash = StreamingHash(algorithm)
        hash.update(Data("a".utf8))
        var copy = hash
        copy.update(Data("x".utf8))
        #expect(hash.finalize() == algorithm.digest(of: Data("a".utf8)))
        hash.update(Data("bc".utf8))
        #expect(hash.finalize() == algorithm.digest(of: Data("abc".utf8)))
        #expect(copy.finalize() == algorithm.digest(of: Data("ax".utf8)))
    }

    @Test(arguments: ["SHA3-256", "sha256", "MD5", ""]) func `another hash has no value`(name: String) {
        #expect(HashAlgorithm(rawValue: name) == nil)
    }
}
