import Foundation
import SeededRandomness
import StoreTestSupport
import Testing

@testable import Vault

/// The digest of a list is kept up to date in groups; nobody may see that in the value.
@Suite("The digest of a list")
struct ListDigestTests {
    private let protector = TestProtector()

    private static func code(_ number: Int) -> RowCode { RowCode(high: UInt64(number), low: ~UInt64(number)) }

    /// Computed at once, after all codes were set.
    private func value(_ codes: [RowCode]) throws -> Data {
        var digest = ListDigest(bucketCount: codes.count)
        for (bucket, code) in codes.enumerated() { digest[bucket] = code }
        return try digest.value(by: protector)
    }

    @Test(arguments: [1, 64, 65, 200])
    func `a digest that is kept up to date is the one that is computed at once`(bucketCount: Int) throws {
        var random = SeededGenerator(seed: UInt64(bucketCount))
        var codes = Array(repeating: RowCode.none, count: bucketCount)
        var kept = ListDigest(bucketCount: bucketCount)
        for round in 1...50 {
            for _ in 0..<Int.random(in: 0..<4, using: &random) {
                let bucket = Int.random(in: 0..<bucketCount, using: &random)
                codes[bucket] = Self.code(round)
                kept[bucket] = codes[bucket]
            }
            #expect(try kept.value(by: protector) == value(codes))
        }
    }

    @Test func `the code and the place of every bucket count`() throws {
        let codes = (0..<130).map { Self.code($0 + 1) }
        var seen: Set<Data> = [try value(codes)]
        for bucket in codes.indices {
            var changed = codes
            changed[bucket] = .none
            #expect(seen.insert(try value(changed)).inserted)
            changed = codes
            changed.swapAt(bucket, (bucket + 1) % codes.count)
            #expect(seen.insert(try value(changed)).inserted)
        }
    }

    @Test func `a digest that could not be computed is computed the next time`() throws {
        let failing = FailingProtector()
        var digest = ListDigest(bucketCount: 65)
        let former = try digest.value(by: failing)
        digest[64] = Self.code(1)
        failing.failAtNextList()
        #expect(throws: FailingProtector.Failure.self) { try digest.value(by: failing) }
        let value = try digest.value(by: failing)
        #expect(value != former)
        #expect(try value == self.value(Array(repeating: .none, count: 64) + [Self.code(1)]))
    }
}
