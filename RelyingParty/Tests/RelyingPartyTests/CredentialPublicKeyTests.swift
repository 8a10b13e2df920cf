import CanonicalCBOR
import Crypto
import CryptoExtras
import Foundation
import Testing

@testable import RelyingParty

@Suite struct CredentialPublicKeyTests {
    private typealias Parameters = [(Int, CBORItem)]

    private func error(_ parameters: Parameters) -> PublicKeyError? {
        error(CBORItem.map(parameters.map { (.number($0.0), $0.1) }).encoded)
    }

    private func error(_ bytes: [UInt8]) -> PublicKeyError? {
        do {
            _ = try CredentialPublicKey(cose: Data(bytes))
            return nil
        } catch {
            return error
        }
    }

    private static func replacing(_ label: Int, _ item: CBORItem, in parameters: Parameters) -> Parameters {
        parameters.map { $0.0 == label ? (label, item) : $0 }
    }

    @Test(arguments: COSEAlgorithm.allCases)
    func `a key verifies its own signatures and no others`(_ algorithm: COSEAlgorithm) throws {
        let key = try TestKey(algorithm)
        let publicKey = try CredentialPublicKey(cose: Data(key.cose))
        #expect(publicKey.algorithm == algorithm)
        let (data, hash) = ([UInt8](repeating: 1, count: 37), SHA256.hash(data: Data("client data".utf8)))
        let signature = Data(try key.sign(data + hash))
        let message = SignedMessage(authenticatorData: data[...], clientDataHash: hash)
        #expect(publicKey.isValid(signature, for: message))
        let others = [
            SignedMessage(authenticatorData: [UInt8](repeating: 2, count: 37)[...], clientDataHash: hash),
            SignedMessage(authenticatorData: data[...], clientDataHash: SHA256.hash(data: Data())),
        ]
        for other in others { #expect(!publicKey.isValid(signature, for: other)) }
        let foreign = try CredentialPublicKey(cose: Data(try TestKey(algorithm).cose))
        #expect(!foreign.isValid(signature, for: message))
        for count in 0..<signature.count { #expect(!publicKey.isValid(signature.prefix(count), for: message)) }
        #expect(!publicKey.isValid(signature + [0], for: message))
        #expect(!publicKey.isValid(Data(count: 100_000), for: message))
        for index in stride(from: 0, to: signature.count, by: 7) {
            var flipped = signature
            flipped[index] ^= 0x10
            #expect(!publicKey.isValid(flipped, for: message))
        }
    }

    @Test(arguments: COSEAlgorithm.allCases)
    func `each parameter is needed, of its type, and once`(_ algorithm: COSEAlgorithm) throws {
        let parameters = try TestKey(algorithm).parameters
        for (index, (label, item)) in parameters.enumerated() {
            var without = parameters
            without.remove(at: index)
            #expect(error(without) == .missing(label: label))
            for other in [CBORItem.text("x"), .array([]), .null, .boolean(true)] {
                #expect(error(Self.replacing(label, other, in: parameters)) == .mistyped(label: label))
            }
            var twice = parameters
            twice.insert((label, item), at: index)
            guard case .notCBOR(let cbor)? = error(twice) else {
                Issue.record("\(label) twice")
                continue
            }
            #expect(cbor.reason == .duplicateKey)
        }
    }

    @Test(arguments: COSEAlgorithm.allCases)
    func `a parameter too much is refused`(_ algorithm: COSEAlgorithm) throws {
        let parameters = try TestKey(algorithm).parameters
        // The private half of a key on a curve, which must never be there.
        #expect(error(parameters + [(-4, .bytes([1]))]) == .unexpected(label: -4))
        var named: [(CBORItem, CBORItem)] = parameters.map { (.number($0.0), $0.1) }
        named.append((.text("x"), .null))
        #expect(error(CBORItem.map(named).encoded) == .unexpected(label: nil))
    }

    @Test(arguments: COSEAlgorithm.allCases)
    func `each truncation is refused`(_ algorithm: COSEAlgorithm) throws {
        let bytes = try TestKey(algorithm).cose
        for count in stride(from: 0, to: bytes.count, by: bytes.count > 100 ? 5 : 1) {
            #expect(error(Array(bytes.prefix(count))) == .notCBOR(CBORError(.truncated, at: count)))
        }
        #expect(error(bytes + [0]) == .notCBOR(CBORError(.trailingBytes, at: bytes.count)))
    }

    @Test func `a key that is no map is refused`() {
        #expect(error([0x80]) == .notMap)
        #expect(error([0x40]) == .notMap)
    }

    @Test func `unknown algorithms are refused by their number`() throws {
        let parameters = try TestKey(.es256).parameters
        // Ed448, ES256K, RS384, RS1, none.
        for number in [-53, -47, -258, -65535, 0] {
            #expect(error(Self.replacing(3, .number(number), in: parameters)) == .unsupportedAlgorithm(number))
        }
    }

    @Test func `algorithm, kind and curve must agree`() throws {
        let key = try TestKey(.es256).parameters
        #expect(error(Self.replacing(1, .number(1), in: key)) == .mismatch(label: 1))
        #expect(error(Self.replacing(-1, .number(2), in: key)) == .mismatch(label: -1))
        #expect(error(Self.replacing(3, .number(-35), in: key)) == .mismatch(label: -1))
        #expect(error(Self.replacing(3, .number(-8), in: key)) == .mismatch(label: 1))
        let edwards = try TestKey(.edDSA).parameters
        #expect(error(Self.replacing(-1, .number(7), in: edwards)) == .mismatch(label: -1))
    }

    @Test func `coordinates have the length of their curve`() throws {
        for (algorithm, count) in [(COSEAlgorithm.es256, 32), (.es384, 48), (.es512, 66)] {
            let key = try TestKey(algorithm).parameters
            for label in [-2, -3] {
                for wrong in [0, 1, count - 1, count + 1, 4000] {
                    let item = CBORItem.bytes([UInt8](repeating: 1, count: wrong))
                    #expect(error(Self.replacing(label, item, in: key)) == .length(label: label, wrong))
                }
            }
        }
        let edwards = try TestKey(.edDSA).parameters
        #expect(error(Self.replacing(-2, .bytes([1]), in: edwards)) == .length(label: -2, 1))
    }

    @Test func `a key of ML-DSA has the length of its set`() throws {
        for (algorithm, count) in [(COSEAlgorithm.mlDSA44, 1312), (.mlDSA65, 1952), (.mlDSA87, 2592)] {
            let key = try TestKey(algorithm).parameters
            for wrong in [0, 32, count - 1, count + 1] {
                let item = CBORItem.bytes([UInt8](repeating: 1, count: wrong))
                #expect(error(Self.replacing(-1, item, in: key)) == .length(label: -1, wrong))
            }
            #expect(error(Self.replacing(1, .number(2), in: key)) == .mismatch(label: 1))
        }
    }

    @Test func `a point off the curve is refused`() throws {
        for algorithm in [COSEAlgorithm.es256, .es384, .es512] {
            let key = try TestKey(algorithm).parameters
            guard case .bytes(var x) = key[3].1 else { return }
            x[x.count - 1] ^= 1
            #expect(error(Self.replacing(-2, .bytes(x), in: key)) == .invalidKey)
            let zero = CBORItem.bytes([UInt8](repeating: 0, count: x.count))
            #expect(error(Self.replacing(-3, zero, in: Self.replacing(-2, zero, in: key))) == .invalidKey)
        }
    }

    @Test func `RSA has 2,048 to 8,192 bits and an exponent of its use`() throws {
        let key = try TestKey(.rs256).parameters
        for count in [0, 128, 255, 1025] {
            let modulus = CBORItem.bytes([UInt8](repeating: 0xFF, count: count))
            #expect(error(Self.replacing(-1, modulus, in: key)) == .length(label: -1, count))
        }
        let padded = CBORItem.bytes([0] + [UInt8](repeating: 0xFF, count: 256))
        #expect(error(Self.replacing(-1, padded, in: key)) == .invalidKey)
        for exponent in [[0], [1], [2], [0, 1, 0, 1], [1, 0]] as [[UInt8]] {
            #expect(error(Self.replacing(-2, .bytes(exponent), in: key)) == .invalidKey)
        }
        #expect(error(Self.replacing(-2, .bytes([]), in: key)) == .length(label: -2, 0))
        #expect(error(Self.replacing(-2, .bytes([1, 0, 0, 0, 1]), in: key)) == .length(label: -2, 5))
    }
}
