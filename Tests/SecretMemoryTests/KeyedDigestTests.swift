import Crypto
import Foundation
import Glibc
import SecretMemory
import Synchronization
import Testing

/// Beside swift-crypto, which computes the same in another way, and the vectors of RFC 4231 and RFC 5869.
@Suite("Keyed digests")
struct KeyedDigestTests {
    private static func bytes(_ count: Int, from first: UInt8) -> [UInt8] {
        (0..<count).map { first &+ UInt8(truncatingIfNeeded: $0) }
    }

    @Test(arguments: [0, 1, 31, 32, 63, 64, 65, 200], [0, 1, 55, 56, 64, 1000])
    func `a code is HMAC-SHA256`(keySize: Int, messageSize: Int) {
        let (key, message) = (SymmetricKey(data: Self.bytes(keySize, from: 7)), Self.bytes(messageSize, from: 90))
        let expected = Array(HMAC<SHA256>.authenticationCode(for: message, using: key))
        let digest = KeyedDigest(key: key)
        #expect(digest.code(over: message) == expected)
        #expect(digest.code(over: message) == expected, "the key is used up")
    }

    @Test func `a code of RFC 4231`() {
        let code = KeyedDigest(key: SymmetricKey(data: Data("Jefe".utf8))).code(
            over: Array("what do ya want for nothing?".utf8))
        let hexadecimal = code.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        #expect(hexadecimal == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    private static func isValid(_ digest: KeyedDigest, _ code: [UInt8], _ head: [UInt8], _ message: [UInt8]) -> Bool {
        code.withUnsafeBytes { code in message.withUnsafeBytes { digest.isValid(code, over: head, $0) } }
    }

    @Test func `only the whole code is valid, for its message and key`() {
        let (digest, message) = (KeyedDigest(key: SymmetricKey(data: [1])), [UInt8]("message".utf8))
        let code = digest.code(over: message)
        for count in 0...message.count {
            #expect(Self.isValid(digest, code, Array(message.prefix(count)), Array(message.dropFirst(count))))
        }
        for index in code.indices {
            var changed = code
            changed[index] ^= 1
            #expect(!Self.isValid(digest, changed, [], message))
        }
        #expect(!Self.isValid(digest, code.dropLast(), [], message))
        #expect(!Self.isValid(digest, code + [0], [], message))
        #expect(!Self.isValid(digest, [], [], message))
        #expect(!Self.isValid(digest, code, [], message + [0]))
        #expect(!Self.isValid(digest, code, [0], message))
        #expect(!Self.isValid(KeyedDigest(key: SymmetricKey(data: [2])), code, [], message))
    }

    @Test func `neither a key nor a derived key stays on the stack`() throws {
        let bytes = Self.bytes(32, from: 0xA1)
        let key = SymmetricKey(data: bytes)
        let stack = try WatchedStack { _ = KeyedDigest(key: key) }
        for pad: UInt8 in [0, 0x36, 0x5C] { #expect(!stack.holds(bytes.map { $0 ^ pad }), "\(pad)") }

        let derived = Mutex<[UInt8]>([])
        let deriving = try WatchedStack {
            var secret = SecretBytes(zeroed: bytes.count)
            secret.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
            let key = secret.derivedKey(label: "label")
            derived.withLock { $0 = key.withUnsafeBytes { Array($0) } }
        }
        let made = derived.withLock { $0 }
        #expect(made.count == 32 && !deriving.holds(made))
        let pseudorandom = Array(HKDF<SHA256>.extract(inputKeyMaterial: key, salt: Data()))
        for pad: UInt8 in [0, 0x36, 0x5C] { #expect(!deriving.holds(pseudorandom.map { $0 ^ pad }), "\(pad)") }
    }

    @Test func `what stays on a watched stack is seen`() throws {
        let stack = try WatchedStack {
            var left = InlineArray<32, UInt8>(repeating: 0)
            withUnsafeMutableBytes(of: &left) { $0.copyBytes(from: Self.bytes(32, from: 0xA1)) }
        }
        #expect(stack.holds(Self.bytes(32, from: 0xA1)))
    }

    @Test func `codes of many threads stay apart`() async {
        let digest = KeyedDigest(key: SymmetricKey(data: [3]))
        let expected = (0..<64).map { digest.code(over: [UInt8($0)]) }
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask { (0..<500).allSatisfy { digest.code(over: [UInt8($0 % 64)]) == expected[$0 % 64] } }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test(arguments: [0, 1, 32, 80], [1, 16, 32, 64, 100])
    func `a derived key is that of HKDF-SHA256`(saltSize: Int, byteCount: Int) {
        var secret = SecretBytes(zeroed: 22)
        secret.withUnsafeMutableBytes { $0.copyBytes(from: Self.bytes(22, from: 0x0B)) }
        let salt = Data(Self.bytes(saltSize, from: 1))
        let expected = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Self.bytes(22, from: 0x0B)), salt: salt, info: Data("label".utf8),
            outputByteCount: byteCount)
        #expect(secret.derivedKey(label: "label", salt: salt, byteCount: byteCount) == expected)
    }
}

/// The memory that was a thread's stack, when the thread has ended.
private struct WatchedStack {
    private let memory: Data

    /// Runs `body` on a thread with a stack of its own.
    init(_ body: @escaping @Sendable () -> Void) throws {
        let size = 1 << 20
        let stack = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 4096)
        defer { stack.deallocate() }
        memset(stack, 0, size)
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        try #require(pthread_attr_setstack(&attributes, stack, size) == 0)
        var thread = pthread_t()
        let box = Unmanaged.passRetained(Box(body))
        let started = pthread_create(&thread, &attributes, { Box.run($0) }, box.toOpaque())
        try #require(started == 0)
        pthread_join(thread, nil)
        memory = Data(bytes: stack, count: size)
    }

    func holds(_ bytes: [UInt8]) -> Bool { memory.range(of: Data(bytes)) != nil }

    private final class Box {
        private let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }

        static func run(_ box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
            if let box { Unmanaged<Box>.fromOpaque(box).takeRetainedValue().body() }
            return nil
        }
    }
}
