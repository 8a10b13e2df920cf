import ExactNames
import Testing

@Suite("Whose program it is") struct ProgramOfOwnerTests {
    private let bytes: [UInt8] = [0xFF, 1, 2, 3, 4, 5, 6, 7, 0x80, 9, 10, 11, 12, 13, 14, 0xFE]

    @Test func `an owner keeps the bytes, also those of a slice`() throws {
        let owner = try #require(OwnerID(bytes: bytes))
        #expect(owner.bytes == bytes)
        let longer: [UInt8] = [7] + bytes
        #expect(OwnerID(bytes: longer.dropFirst()) == owner)
    }

    @Test(arguments: [0, 8, 15, 17, 32]) func `another number of bytes is no owner`(_ count: Int) {
        #expect(OwnerID(bytes: [UInt8](repeating: 1, count: count)) == nil)
    }

    @Test(arguments: 0..<16) func `owners that differ in one byte are two`(_ index: Int) throws {
        var others = bytes
        others[index] ^= 1
        let owner = try #require(OwnerID(bytes: bytes))
        let other = try #require(OwnerID(bytes: others))
        #expect(owner != other)
        #expect(Set([owner, other]).count == 2)
    }

    @Test func `the same name is another program for another owner, and for the daemon`() {
        let owners = [nil, OwnerID(bytes: bytes), OwnerID(bytes: Array(bytes.reversed()))]
        let programs = owners.map { ProgramOfOwner(owner: $0, program: "/usr/bin/one") }
        #expect(Set(programs).count == 3)
        #expect(programs[1] == ProgramOfOwner(owner: OwnerID(bytes: bytes), program: "/usr/bin/one"))
        #expect(programs[1] != ProgramOfOwner(owner: OwnerID(bytes: bytes), program: "/usr/bin/other"))
    }
}
