import Crypto
import Foundation
import Testing

@testable import SecretBuffers
import SecretMemory

// Serialized, because several tests look at the memory of a secret after it is gone, where another test's secret could
// be.
@Suite("Secret memory", .serialized)
struct SecretMemoryTests {
    private static func secret(_ bytes: [UInt8]) -> SecretBytes {
        var secret = SecretBytes(zeroed: bytes.count)
        secret.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
        return secret
    }

    private static func bytes(of secret: borrowing SecretBytes) -> [UInt8] { secret.withUnsafeBytes { Array($0) } }

    private static func areEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool {
        secret(first).isEqual(to: secret(second))
    }

    private static func address(of secret: borrowing SecretBytes) -> UnsafeRawPointer {
        secret.withUnsafeBytes { $0.baseAddress! }
    }

    /// The bytes at a cell that was given back: slabs stay mapped.
    private static func memory(at address: UnsafeRawPointer, _ count: Int) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: address, count: count))
    }

    // MARK: wiping

    @Test(arguments: [1, 63, 64, 65, 256, 257, 1024, 1025, 4096])
    func `a cell is wiped over its whole capacity when the secret goes away`(count: Int) {
        let capacity = [64, 256, 1024, 4096].first { $0 >= count }!
        let address: UnsafeRawPointer
        do {
            let secret = SecretBytes(random: count)
            address = Self.address(of: secret)
            // Past the secret's own bytes, as a library would that writes a terminator.
            UnsafeMutableRawPointer(mutating: address).storeBytes(
                of: 0xAB, toByteOffset: capacity - 1, as: UInt8.self)
            #expect(Self.memory(at: address, capacity).contains { $0 != 0 })
        }
        #expect(Self.memory(at: address, capacity).allSatisfy { $0 == 0 })
    }

    @Test func `a cell is used again, and begins with zeros`() {
        let first: UnsafeRawPointer
        do { first = Self.address(of: SecretBytes(random: 4000)) }
        let second = SecretBytes(zeroed: 4000)
        #expect(Self.address(of: second) == first)
        #expect(Self.bytes(of: second).allSatisfy { $0 == 0 })
    }

    @Test func `two secrets never share memory`() {
        let first = Self.secret(Array(repeating: 1, count: 64))
        let second = Self.secret(Array(repeating: 2, count: 64))
        #expect(Self.bytes(of: first) == Array(repeating: 1, count: 64))
        #expect(Self.bytes(of: second) == Array(repeating: 2, count: 64))
        #expect(abs(Self.address(of: first) - Self.address(of: second)) >= 64)
    }

    @Test func `a secret that is replaced is wiped`() {
        var secret = SecretBytes(random: 4000)
        let address = Self.address(of: secret)
        secret = SecretBytes(random: 32)
        #expect(Self.memory(at: address, 4000).allSatisfy { $0 == 0 })
        #expect(secret.count == 32)
    }

    @Test func `a prefix leaves nothing of the whole behind`() {
        let whole = Self.secret(Array(1...200))
        let address = Self.address(of: whole)
        let prefix = whole.prefix(16)
        #expect(Self.bytes(of: prefix) == Array(1...16))
        #expect(Self.memory(at: address, 200).allSatisfy { $0 == 0 })
    }

    @Test func `a throwing closure leaves the secret whole, and its error comes out`() {
        struct Refusal: Error {}
        let secret = Self.secret([1, 2, 3])
        #expect(throws: Refusal.self) { try secret.withUnsafeBytes { _ in throw Refusal() } }
        #expect(Self.bytes(of: secret) == [1, 2, 3])
    }

    // MARK: contents

    @Test(arguments: [0, 1, 64, 65, 5000, 100_000])
    func `a secret begins with zeros and has the size that was asked for`(count: Int) {
        let secret = SecretBytes(zeroed: count)
        #expect(secret.count == count)
        #expect(secret.isEmpty == (count == 0))
        #expect(Self.bytes(of: secret) == Array(repeating: 0, count: count))
    }

    @Test func `random secrets differ`() {
        let first = SecretBytes(random: 32)
        let areEqual = first.isEqual(to: SecretBytes(random: 32))
        #expect(!areEqual)
        #expect(Self.bytes(of: first).contains { $0 != 0 })
    }

    @Test func `what is written through the closure is read back`() {
        var secret = SecretBytes(zeroed: 4)
        secret.withUnsafeMutableBytes { $0.copyBytes(from: [9, 8, 7, 6]) }
        #expect(Self.bytes(of: secret) == [9, 8, 7, 6])
    }

    @Test func `a copy stands on its own`() {
        var original = Self.secret([1, 2, 3])
        let copy = SecretBytes(copying: original)
        original.withUnsafeMutableBytes { $0[0] = 99 }
        #expect(Self.bytes(of: copy) == [1, 2, 3])
    }

    @Test(
        arguments: [([], []), ([1], []), ([], [2]), ([1, 2], [3]), (Array(0..<60), Array(60..<70))]
            as [([UInt8], [UInt8])])
    func `joining puts one behind the other`(first: [UInt8], second: [UInt8]) {
        let joined = SecretBytes(joining: Self.secret(first), Self.secret(second))
        #expect(Self.bytes(of: joined) == first + second)
    }

    @Test func `an empty prefix and a whole prefix are possible, a longer one is not`() async {
        #expect(Self.bytes(of: Self.secret([1, 2]).prefix(0)) == [])
        #expect(Self.bytes(of: Self.secret([1, 2]).prefix(2)) == [1, 2])
        await #expect(processExitsWith: .failure) { _ = SecretBytes(zeroed: 2).prefix(3) }
        await #expect(processExitsWith: .failure) { _ = SecretBytes(zeroed: 2).prefix(-1) }
        await #expect(processExitsWith: .failure) { _ = SecretBytes(zeroed: -1) }
    }

    // MARK: comparison

    @Test func `equal bytes are equal`() {
        #expect(Self.areEqual([1, 2, 3], [1, 2, 3]))
        #expect(Self.areEqual([], []))
    }

    @Test func `one flipped bit anywhere makes a difference`() {
        let bytes = Array<UInt8>(0..<32)
        for bit in 0..<bytes.count * 8 {
            var changed = bytes
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(!Self.areEqual(bytes, changed))
        }
    }

    @Test(arguments: [([1, 2, 3], [1, 2]), ([1, 2], [1, 2, 0]), ([], [0])] as [([UInt8], [UInt8])])
    func `a prefix of a secret is not the secret`(first: [UInt8], second: [UInt8]) {
        #expect(!Self.areEqual(first, second))
        #expect(!Self.areEqual(second, first))
    }

    // MARK: mappings

    /// The kernel's flags of the mapping that holds `address` (proc_pid_smaps(5)), nil when there is none.
    private static func flags(at address: UnsafeRawPointer) throws -> Set<Substring>? {
        let target = UInt(bitPattern: address)
        var isInside = false
        // Not `String(contentsOfFile:)`, which stops at the first short read.
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/smaps"))
        let text = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            let bounds = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            if bounds.count == 2 { isInside = bounds[0] <= target && target < bounds[1] }
            if isInside && words[0] == "VmFlags:" { return Set(words.dropFirst()) }
        }
        return nil
    }

    @Test(arguments: [32, 4096, 4097, 300_000])
    func `secrets are kept out of core dumps and forked children, and locked`(count: Int) throws {
        let secret = SecretBytes(random: count)
        let flags = try #require(try Self.flags(at: Self.address(of: secret)))
        #expect(flags.isSuperset(of: ["dd", "wf"]))
        #expect(flags.contains("lo") || !SecretMemoryStatus.isLocked)
    }

    @Test func `a big secret has a mapping of its own, which goes away with it`() throws {
        let address: UnsafeRawPointer
        do {
            let secret = SecretBytes(random: 1 << 20)
            address = Self.address(of: secret)
            #expect(UInt(bitPattern: address) % 4096 == 0)
            #expect(try Self.flags(at: address) != nil)
        }
        #expect(try Self.flags(at: address) == nil)
    }

    @Test func `a refused lock is reported, and the secret works all the same`() async {
        await #expect(processExitsWith: .success) {
            // In a process of its own, which gives up root, because root may lock past any limit.
            var limit = rlimit(rlim_cur: 0, rlim_max: 0)
            precondition(setrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit) == 0)
            if getuid() == 0 { precondition(setuid(65_534) == 0) }
            let secret = SecretBytes(zeroed: 32)
            precondition(!SecretMemoryStatus.isLocked && secret.count == 32)
        }
    }

    @Test func `a passcode finds locked memory when other secrets have used up the limit`() async {
        await #expect(processExitsWith: .success) {
            let slab = 64 * 1024
            var limit = rlimit(rlim_cur: rlim_t(3 * slab), rlim_max: rlim_t(3 * slab))
            precondition(setrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit) == 0)
            if getuid() == 0 { precondition(setuid(65_534) == 0) }
            precondition(!SecretMemoryStatus.arePasscodesLocked, "nothing is kept aside yet")
            SecretMemoryStatus.keepAsideForPasscodes()
            SecretMemoryStatus.keepAsideForPasscodes()
            precondition(SecretMemoryStatus.arePasscodesLocked && SecretMemoryStatus.isLocked)
            // Secrets that stay: more than the system locks.
            let large = SecretBytes(random: 2 * slab)
            let one = SecretBytes(random: 1025)
            precondition(!SecretMemoryStatus.isLocked && SecretMemoryStatus.arePasscodesLocked)
            func isLocked(_ secret: borrowing SecretBytes) throws -> Bool {
                try SecretMemoryTests.flags(at: SecretMemoryTests.address(of: secret))?.contains("lo") == true
            }
            let passcode = SecretBytes(zeroedForPasscode: 1025)
            let copy = SecretBytes(copying: passcode)
            let states = try [isLocked(passcode), isLocked(copy), isLocked(copy.prefix(32)), isLocked(one)]
            precondition(states == [true, true, true, false])
            precondition(large.count == 2 * slab)
        }
    }

    @Test func `without a cell that is kept aside a passcode gets another one`() async {
        await #expect(processExitsWith: .success) {
            SecretMemoryStatus.keepAsideForPasscodes()
            func addresses(_ count: Int) -> Set<UnsafeRawPointer> {
                guard count > 0 else { return [] }
                let secret = SecretBytes(zeroedForPasscode: 4000)
                let address = SecretMemoryTests.address(of: secret)
                precondition(secret.withUnsafeBytes { $0.allSatisfy { $0 == 0 } })
                return addresses(count - 1).union([address])
            }
            precondition(addresses(20).count == 20)
            precondition(addresses(20).count == 20, "each goes back to where it was taken from")
            // What is not a passcode never gets one of them.
            let kept: UnsafeRawPointer
            do { kept = SecretMemoryTests.address(of: SecretBytes(zeroedForPasscode: 1000)) }
            let others = SecretBytes(zeroed: 1000)
            precondition(SecretMemoryTests.address(of: others) != kept)
            precondition(SecretMemoryTests.address(of: SecretBytes(zeroedForPasscode: 1000)) == kept)
        }
    }

    // MARK: other types

    @Test(arguments: [0, 1, 14, 15, 32, 5000])
    func `taking data moves the bytes and leaves zeros`(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &+ 1) }
        var data = Data(bytes)
        let secret = SecretBytes(taking: &data)
        #expect(Self.bytes(of: secret) == bytes)
        #expect(data == Data(count: count))
    }

    @Test func `taking data wipes in place`() throws {
        var data = Data(repeating: 0x5A, count: 4096)
        let address = data.withUnsafeBytes { $0.baseAddress! }
        _ = SecretBytes(taking: &data)
        #expect(data.withUnsafeBytes { $0.baseAddress! } == address)
        #expect(Self.memory(at: address, 4096).allSatisfy { $0 == 0 })
    }

    @Test func `a slice of data is taken from its own bounds`() {
        var slice = Data([1, 2, 3, 4, 5])[2...]
        #expect(Self.bytes(of: SecretBytes(taking: &slice)) == [3, 4, 5])
        #expect(slice == Data(count: 3))
    }

    @Test func `symmetric keys and secrets hold the same bytes`() {
        let secret = SecretBytes(random: 32)
        let key = SymmetricKey(secret)
        #expect(key.bitCount == 256)
        let areEqual = SecretBytes(key).isEqual(to: secret)
        #expect(areEqual)
    }

    /// RFC 5869, appendix A.3 (SHA-256, neither salt nor info); the other vectors have an info that is no text.
    @Test func `a derived key is that of the RFC`() {
        let input = Self.secret(Array(repeating: 0x0b, count: 22))
        let hex = "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
        let derived = SecretBytes(input.derivedKey(label: "", byteCount: 42))
        #expect(Self.bytes(of: derived).map { String(format: "%02x", $0) }.joined() == hex)
    }

    @Test func `another label, salt or secret gives another key`() {
        let secret = Self.secret([1, 2, 3])
        let key = secret.derivedKey(label: "one")
        #expect(key == secret.derivedKey(label: "one"))
        #expect(key != secret.derivedKey(label: "two"))
        #expect(key != secret.derivedKey(label: "one", salt: Data([1])))
        #expect(key != Self.secret([1, 2, 4]).derivedKey(label: "one"))
        #expect(key.bitCount == 256)
    }

    // MARK: concurrency

    @Test func `secrets of many threads stay apart`() async {
        await withTaskGroup(of: Bool.self) { group in
            for task in 0..<8 {
                group.addTask {
                    (0..<500).allSatisfy { round in
                        let mark = UInt8(truncatingIfNeeded: task * 31 + round)
                        let count = [16, 64, 200, 1000, 4096, 5000][round % 6]
                        var secret = SecretBytes(zeroed: count)
                        let beganWithZeros = secret.withUnsafeBytes { $0.allSatisfy { $0 == 0 } }
                        secret.withUnsafeMutableBytes { bytes in
                            for index in bytes.indices { bytes[index] = mark }
                        }
                        let copy = SecretBytes(copying: secret)
                        return beganWithZeros && copy.isEqual(to: secret)
                            && copy.withUnsafeBytes { $0.allSatisfy { $0 == mark } }
                    }
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}
