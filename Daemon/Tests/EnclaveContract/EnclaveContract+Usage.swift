import Crypto
import Enclave
import Foundation
import SecretMemory
import Testing

extension EnclaveContract {
    private func openKey() throws -> any OpenEnclaveKey {
        let enclave = try open()
        let key = try enclave.makeKey(authorization: Self.secret(1), binding: Self.binding)
        return try enclave.openKey(key, authorization: Self.secret(1), binding: Self.binding, session: session())
    }

    static let usageChecks = [
        Check("OpenSSL accepts a signature over a digest, and not over another one") { contract in
            let key = try contract.openKey()
            let digest = Data(SHA256.hash(data: Data("message".utf8)))
            let signature = try key.signature(forDigest: digest)
            #expect(signature.count == 64)
            let openSSL = try OpenSSL()
            #expect(try openSSL.accepts(signature, forDigest: digest, publicKey: key.publicKey))
            let other = Data(SHA256.hash(data: Data("another message".utf8)))
            #expect(try !openSSL.accepts(signature, forDigest: other, publicKey: key.publicKey))
        },
        Check("OpenSSL accepts a signature over a message as one over its SHA-256 digest") { contract in
            let key = try contract.openKey()
            let message = Data("message".utf8)
            let signature = try key.signature(forMessage: message)
            #expect(
                try OpenSSL().accepts(
                    signature, forDigest: Data(SHA256.hash(data: message)), publicKey: key.publicKey))
        },
        Check("a digest of another size is not signed") { contract in
            let key = try contract.openKey()
            for count in [0, 20, 31, 33, 48, 64] {
                expect(.invalidDigest) { _ = try key.signature(forDigest: Data(count: count)) }
            }
        },
        Check("OpenSSL agrees on the same shared secret") { contract in
            let key = try contract.openKey()
            let (peerKey, expected) = try OpenSSL().agree(withPublicKey: key.publicKey)
            let agreed = try key.sharedSecret(withPublicKey: peerKey)
            #expect(bytes(agreed) == expected)
        },
        Check("a peer key that is no uncompressed point on the curve is refused") { contract in
            let key = try contract.openKey()
            let peer = P256.KeyAgreement.PrivateKey().publicKey
            var offCurve = peer.x963Representation
            offCurve[64] ^= 1
            var hybrid = peer.x963Representation
            hybrid[0] = 0x06 | (hybrid[64] & 1)
            let beyondField = Data([0x04]) + Data(repeating: 0xff, count: 64)
            let refused = [
                Data(), Data([0x00]), peer.compressedRepresentation, peer.rawRepresentation, offCurve, hybrid,
                beyondField, Data([0x04]) + Data(count: 64), peer.x963Representation.dropLast(),
                peer.x963Representation + [0],
            ]
            for peerKey in refused {
                expect(.invalidPeerKey, "\(peerKey.count) bytes, first \(peerKey.first ?? 0)") {
                    _ = try key.sharedSecret(withPublicKey: peerKey)
                }
            }
        },
        Check("an open key works from many threads at once") { contract in
            let key = try contract.openKey()
            let digest = Data(SHA256.hash(data: Data("message".utf8)))
            let publicKey = try P256.Signing.PublicKey(x963Representation: key.publicKey)
            DispatchQueue.concurrentPerform(iterations: 16) { _ in
                do {
                    let signature = try P256.Signing.ECDSASignature(
                        rawRepresentation: try key.signature(forDigest: digest))
                    #expect(publicKey.isValidSignature(signature, for: SHA256.hash(data: Data("message".utf8))))
                } catch {
                    Issue.record(error)
                }
            }
        },
    ]
}
