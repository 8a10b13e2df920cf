// swift-crypto has no Diffie-Hellman exchange in a group of numbers. BoringSSL, which it carries and links into every program that
// uses it, has one (decision 0110).
@_implementationOnly import CCryptoBoringSSL
public import SecretMemory

/// One side of an exchange of keys in the second Oakley group (RFC 2409, section 6.2), for one exchange.
///
/// The group has 1,024 bits, which today can be broken with the means of a state. The Secret Service has no other one. It keeps secrets
/// out of recordings of the bus; the bus itself carries messages between the processes of one user.
public struct KeyExchange: ~Copyable {
    /// The size of the group's numbers.
    public static let byteCount = 128

    /// The number for the other side, big-endian, ``byteCount`` bytes.
    public let publicValue: [UInt8]
    private let pair: OpaquePointer

    /// Makes a pair of numbers.
    public init() {
        let pair = Self.makePair()
        self.pair = pair
        publicValue = [UInt8](unsafeUninitializedCapacity: Self.byteCount) { bytes, count in
            succeed(
                CCryptoBoringSSL_BN_bn2bin_padded(
                    bytes.baseAddress, Self.byteCount, CCryptoBoringSSL_DH_get0_pub_key(pair)))
            count = Self.byteCount
        }
    }

    deinit { CCryptoBoringSSL_DH_free(pair) }

    /// The secret that both sides have then: ``byteCount`` bytes, with zeros in front where the number is small.
    ///
    /// - Parameter peer: the other side's number, big-endian. Zeros in front may be missing.
    /// - Returns: nil for no bytes, for more than ``byteCount``, for a number outside of 2 ... p - 2, and for one that would make a
    ///   secret that everybody knows.
    public borrowing func sharedSecret(with peer: [UInt8]) -> SecretBytes? {
        defer { CCryptoBoringSSL_ERR_clear_error() }
        guard (1...Self.byteCount).contains(peer.count),
            let value = CCryptoBoringSSL_BN_bin2bn(peer, peer.count, nil)
        else { return nil }
        defer { CCryptoBoringSSL_BN_free(value) }
        let pair = pair
        var secret = SecretBytes(zeroed: Self.byteCount)
        // It checks the number.
        let count = secret.withUnsafeMutableBytes { bytes in
            CCryptoBoringSSL_DH_compute_key_padded(bytes.bindMemory(to: UInt8.self).baseAddress, value, pair)
        }
        guard count == CInt(Self.byteCount) else { return nil }
        return secret
    }

    private static func makePair() -> OpaquePointer {
        guard let pair = CCryptoBoringSSL_DH_new(),
            let modulus = CCryptoBoringSSL_BN_bin2bn(Self.modulus, Self.modulus.count, nil),
            let generator = CCryptoBoringSSL_BN_new()
        else { preconditionFailure("BoringSSL has no memory left") }
        succeed(CCryptoBoringSSL_BN_set_word(generator, 2))
        // The pair owns the numbers from here on.
        succeed(CCryptoBoringSSL_DH_set0_pqg(pair, modulus, nil, generator))
        succeed(CCryptoBoringSSL_DH_generate_key(pair))
        return pair
    }

    /// 2^1024 - 2^960 - 1 + 2^64 * (the integer part of 2^894 π + 129093). It is a safe prime, and 2 makes the half of its group that has a
    /// prime order.
    static let modulus: [UInt8] = modulusWords.flatMap { word in
        (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64($0))) }
    }

    private static let modulusWords: [UInt64] = [
        0xffff_ffff_ffff_ffff, 0xc90f_daa2_2168_c234, 0xc4c6_628b_80dc_1cd1, 0x2902_4e08_8a67_cc74,
        0x020b_bea6_3b13_9b22, 0x514a_0879_8e34_04dd, 0xef95_19b3_cd3a_431b, 0x302b_0a6d_f25f_1437,
        0x4fe1_356d_6d51_c245, 0xe485_b576_625e_7ec6, 0xf44c_42e9_a637_ed6b, 0x0bff_5cb6_f406_b7ed,
        0xee38_6bfb_5a89_9fa5, 0xae9f_2411_7c4b_1fe6, 0x4928_6651_ece6_5381, 0xffff_ffff_ffff_ffff,
    ]
}

/// These functions fail only when the library is out of memory, or when this module asks for what does not exist.
func succeed(_ result: CInt) {
    precondition(result == 1, "BoringSSL exchanges keys and encrypts")
}
