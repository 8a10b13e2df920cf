import Enclave
import EnclaveContract
import Foundation
import Glibc
import SecretMemory
import Testing

@testable import StoreKeys

@Suite struct StoreKeysFileTests {
    private let scratch = ScratchDirectory()
    private let otherScratch = ScratchDirectory()
    private let storeID = Data(repeating: 0x11, count: 16)
    private var path: String { scratch.path(StoreKeysFile.name) }
    private var file: StoreKeysFile { StoreKeysFile(directory: scratch.path, ownedBy: geteuid()) }

    init() throws {
        try scratch.make()
        try otherScratch.make()
    }

    private func enclave(_ scratch: ScratchDirectory? = nil) throws -> SoftwareEnclave {
        try SoftwareEnclave(directory: (scratch ?? self.scratch).path, ownedBy: geteuid(), createIfMissing: true)
    }

    private func create() throws { try file.create(RootSecret(), storeID: storeID, sealedBy: enclave()) }

    private func contents() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

    private func replace(with bytes: Data) throws {
        unlink(path)
        _ = try scratch.write(bytes, named: StoreKeysFile.name)
        try #require(chmod(path, 0o600) == 0)
    }

    private func expect(
        _ error: StoreKeysFileError, _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let enclave = try enclave()
        #expect(throws: error, comment, sourceLocation: sourceLocation) { _ = try file.read(openedBy: enclave) }
    }

    // MARK: making and reading

    @Test func `it gives the same keys each time, and the store that they belong to`() throws {
        try create()
        let (keys, id) = try file.read(openedBy: enclave())
        #expect(id == storeID)
        let code = keys.authenticationCode(for: Data(), label: "row")
        #expect(try file.read(openedBy: enclave()).keys.isValid(code, for: Data(), label: "row"))
    }

    @Test func `it has mode 0600 and holds no key in clear`() throws {
        let root = SecretBytes(random: 96)
        try file.create(RootSecret(SecretBytes(copying: root))!, storeID: storeID, sealedBy: enclave())
        var status = stat()
        try #require(stat(path, &status) == 0)
        #expect(status.st_mode & 0o7777 == 0o600)
        let clear = Data(exposing: root)
        for start in [0, 32, 64] { #expect(try contents().range(of: clear[start..<start + 8]) == nil) }
    }

    @Test func `one that is there is not replaced`() throws {
        try create()
        let before = try contents()
        try create()
        #expect(try contents() == before)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted() == [
                "device-secret", "store-keys",
            ])
    }

    @Test func `two stores have different keys`() throws {
        try create()
        let code = try file.read(openedBy: enclave()).keys.authenticationCode(for: Data(), label: "row")
        unlink(path)
        try create()
        #expect(try !file.read(openedBy: enclave()).keys.isValid(code, for: Data(), label: "row"))
    }

    // MARK: what is refused

    @Test func `a missing file is missing, and reading makes none`() throws {
        try expect(.missing)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["device-secret"])
    }

    @Test func `a leftover of an interrupted creation is not taken for it`() throws {
        try create()
        try #require(rename(path, path + ".leftover") == 0)
        try expect(.missing)
    }

    @Test func `one of another device is refused`() throws {
        try file.create(RootSecret(), storeID: storeID, sealedBy: enclave(otherScratch))
        try expect(.enclave(.unreadable))
    }

    @Test func `one of another kind of enclave is refused before it is opened`() throws {
        try create()
        var bytes = try contents()
        bytes[5] = EnclaveKind.tpm.code
        try replace(with: bytes)
        try expect(.enclave(.wrongKind))
    }

    @Test func `another store's name in it is noticed`() throws {
        try create()
        var bytes = try contents()
        bytes.replaceSubrange(6..<22, with: Data(repeating: 0x22, count: 16))
        try replace(with: bytes)
        try expect(.enclave(.unreadable))
    }

    @Test func `what was sealed for something else is not taken for keys`() throws {
        let head = Data("OSSK".utf8) + [1, 1] + storeID
        let sealed = try enclave().seal(
            SecretBytes(zeroed: 96), authorization: SecretBytes(zeroed: 0), context: Data("ostiary.log-key.v1".utf8))
        try replace(with: head + sealed)
        try expect(.enclave(.unreadable))
    }

    @Test func `a root secret of another size is refused`() throws {
        let head = Data("OSSK".utf8) + [1, 1] + storeID
        let sealed = try enclave().seal(
            SecretBytes(zeroed: 95), authorization: SecretBytes(zeroed: 0),
            context: Data("ostiary.store-keys.v1".utf8) + head)
        try replace(with: head + sealed)
        try expect(.unusable(.damaged))
    }

    @Test func `every flipped bit is found`() throws {
        try create()
        let good = try contents()
        for index in good.indices {
            var bytes = good
            bytes[index] ^= 1 << UInt8(index % 8)
            try replace(with: bytes)
            let error: StoreKeysFileError =
                switch index {
                case 0...3: .unusable(.damaged)
                case 4: .unusable(.unknownVersion)
                case 5: .unusable(.damaged)  // A kind that no enclave has.
                default: .enclave(.unreadable)
                }
            try expect(error, "byte \(index)")
        }
    }

    @Test func `every truncation, a byte too many and far too many are found`() throws {
        try create()
        let good = try contents()
        for count in 0..<good.count {
            try replace(with: good.prefix(count))
            try expect(count < 22 ? .unusable(.damaged) : .enclave(.unreadable), "\(count) bytes")
        }
        try replace(with: good + [0])
        try expect(.enclave(.unreadable))
        try replace(with: good + Data(count: 5000))
        try expect(.unusable(.damaged))
    }

    @Test(arguments: [0o640, 0o604, 0o660]) func `a file that others may touch is not trusted`(mode: Int) throws {
        try create()
        try #require(chmod(path, mode_t(mode)) == 0)
        try expect(.unusable(.permissive))
    }

    @Test func `a file of another user is not trusted`() throws {
        try create()
        let enclave = try enclave()
        #expect(throws: StoreKeysFileError.unusable(.foreignOwner)) {
            _ = try StoreKeysFile(directory: scratch.path, ownedBy: geteuid() + 1).read(openedBy: enclave)
        }
    }

    @Test func `a symbolic link is not followed, not even to a good file`() throws {
        try create()
        try #require(rename(path, scratch.path("elsewhere")) == 0 && symlink("elsewhere", path) == 0)
        try expect(.unusable(.notRegularFile))
    }
}
