import Foundation
import IndependentTools

/// HPKE with P-256, HKDF-SHA256 and ChaCha20Poly1305, from Python's `cryptography` and RFC 9180: another implementation than ours.
enum PythonHPKE {
    /// - Parameter script: reads `cases`, and leaves bytes in `result`.
    static func run(_ script: String, _ input: some Encodable) throws -> Data {
        let script = preparation + script + "\nprint(json.dumps(base64.b64encode(result).decode()))"
        return try IndependentTool.python(script, input, returning: Data.self)
    }

    private static let preparation = """
        import hashlib, hmac
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        def data(name): return base64.b64decode(cases[name])
        def extract(salt, ikm): return hmac.new(salt or bytes(32), ikm, hashlib.sha256).digest()
        def expand(prk, info, count):
            block = done = b""
            while len(done) < count:
                block = hmac.new(prk, block + info + bytes([len(done) // 32 + 1]), hashlib.sha256).digest()
                done += block
            return done[:count]
        def labeled_extract(suite, salt, label, ikm): return extract(salt, b"HPKE-v1" + suite + label + ikm)
        def labeled_expand(suite, prk, label, info, count):
            return expand(prk, count.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info, count)
        def number(value): return value.to_bytes(2, "big")
        def point(key): return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        def read_point(encoded): return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), encoded)
        def read_key(scalar): return ec.derive_private_key(int.from_bytes(scalar, "big"), ec.SECP256R1())
        def shared(dh, enc, recipient):
            suite = b"KEM" + number(0x10)
            prk = labeled_extract(suite, b"", b"eae_prk", dh)
            return labeled_expand(suite, prk, b"shared_secret", enc + recipient, 32)
        def cipher(secret, info):
            suite = b"HPKE" + number(0x10) + number(1) + number(3)
            context = b"\\0" + labeled_extract(suite, b"", b"psk_id_hash", b"") + labeled_extract(suite, b"", b"info_hash", info)
            prk = labeled_extract(suite, secret, b"secret", b"")
            return (ChaCha20Poly1305(labeled_expand(suite, prk, b"key", context, 32)),
                    labeled_expand(suite, prk, b"base_nonce", context, 12))

        """
}
