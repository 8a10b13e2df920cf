import Crypto
import EnclaveContract
import Foundation
import Glibc
import SecretMemory
import Testing

@testable import Enclave

@Suite struct DeviceSecretTests {
    private let scratch = ScratchDirectory()
    private var path: String { scratch.path(DeviceSecretFile.name) }

    init() throws { try scratch.make() }

    private func open(
        ownedBy owner: uid_t = geteuid(), createIfMissing: Bool = false
    ) throws(EnclaveError) -> SoftwareEnclave {
        try SoftwareEnclave(directory: scratch.path, ownedBy: owner, createIfMissing: createIfMissing)
    }

    private static func seal(in enclave: SoftwareEnclave) throws -> Data {
        try enclave.seal(SecretBytes(zeroed: 32), authorization: SecretBytes(zeroed: 0), context: Data())
    }

    private static func unseal(_ blob: Data, in enclave: SoftwareEnclave) throws {
        _ = try enclave.unseal(blob, authorization: SecretBytes(zeroed: 0), context: Data())
    }

    private func contents() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

    private func replace(with bytes: Data) throws {
        unlink(path)
        _ = try scratch.write(bytes, named: DeviceSecretFile.name)
        try #require(chmod(path, 0o600) == 0)
    }

    // MARK: creating

    @Test func `a new store gets a secret of mode 0600, and nothing else lies beside it`() throws {
        _ = try open(createIfMissing: true)
        var status = stat()
        try #require(stat(path, &status) == 0)
        #expect(status.st_mode & 0o7777 == 0o600)
        #expect(status.st_size == 69)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [DeviceSecretFile.name])
    }

    @Test func `a secret that is there is used and not replaced`() throws {
        let blob = try Self.seal(in: open(createIfMissing: true))
        let bytes = try contents()
        try Self.unseal(blob, in: open(createIfMissing: true))
        #expect(try contents() == bytes)
    }

    @Test func `two new stores have different secrets`() throws {
        _ = try open(createIfMissing: true)
        let first = try contents()
        unlink(path)
        _ = try open(createIfMissing: true)
        #expect(try contents() != first)
    }

    @Test func `many creators at once end with one secret`() throws {
        let blobs = Collected()
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            do { blobs.add(try Self.seal(in: open(createIfMissing: true))) } catch { Issue.record(error) }
        }
        #expect(blobs.values.count == 8)
        for blob in blobs.values { try Self.unseal(blob, in: open()) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [DeviceSecretFile.name])
    }

    @Test func `a damaged secret is never replaced by a new one`() throws {
        try replace(with: Data(count: 69))
        #expect(throws: EnclaveError.deviceSecretUnreadable(.damaged)) { _ = try open(createIfMissing: true) }
        #expect(try contents() == Data(count: 69))
    }

    @Test func `a leftover of an interrupted creation is not taken for the secret`() throws {
        _ = try open(createIfMissing: true)
        try #require(rename(path, path + ".leftover") == 0)
        #expect(throws: EnclaveError.deviceSecretMissing) { _ = try open() }
    }

    // MARK: missing is not unreadable

    @Test func `a missing secret is missing, and opening does not make one`() throws {
        #expect(throws: EnclaveError.deviceSecretMissing) { _ = try open() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).isEmpty)
    }

    @Test func `a missing folder is missing, for a new store too`() throws {
        for create in [true, false] {
            #expect(throws: EnclaveError.deviceSecretMissing) {
                _ = try SoftwareEnclave(
                    directory: scratch.path("absent"), ownedBy: geteuid(), createIfMissing: create)
            }
        }
    }

    // MARK: whose file it is

    @Test(arguments: [0o640, 0o620, 0o610, 0o604, 0o602, 0o601, 0o660, 0o666])
    func `a file that group or others may touch is not trusted`(mode: Int) throws {
        _ = try open(createIfMissing: true)
        try #require(chmod(path, mode_t(mode)) == 0)
        #expect(throws: EnclaveError.deviceSecretUnreadable(.permissive)) { _ = try open() }
    }

    @Test(arguments: [0o770, 0o702, 0o777])
    func `a folder that group or others may write is not trusted`(mode: Int) throws {
        _ = try open(createIfMissing: true)
        try #require(chmod(scratch.path, mode_t(mode)) == 0)
        #expect(throws: EnclaveError.deviceSecretUnreadable(.permissive)) { _ = try open() }
        #expect(throws: EnclaveError.deviceSecretUnreadable(.permissive)) { _ = try open(createIfMissing: true) }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func `a file or folder of another user is not trusted`() throws {
        _ = try open(createIfMissing: true)
        try #require(chown(path, 65534, 65534) == 0)
        #expect(throws: EnclaveError.deviceSecretUnreadable(.foreignOwner)) { _ = try open() }
        try #require(chown(path, 0, 0) == 0 && chown(scratch.path, 65534, 65534) == 0)
        #expect(throws: EnclaveError.deviceSecretUnreadable(.foreignOwner)) { _ = try open() }
    }

    @Test func `the owner is who the store says, not who the process is`() throws {
        _ = try open(createIfMissing: true)
        #expect(throws: EnclaveError.deviceSecretUnreadable(.foreignOwner)) { _ = try open(ownedBy: geteuid() + 1) }
    }

    @Test func `a symbolic link is not followed, not even to a good secret`() throws {
        _ = try open(createIfMissing: true)
        try #require(rename(path, scratch.path("elsewhere")) == 0 && symlink("elsewhere", path) == 0)
        #expect(throws: EnclaveError.deviceSecretUnreadable(.notRegularFile)) { _ = try open() }
        #expect(throws: EnclaveError.deviceSecretUnreadable(.notRegularFile)) { _ = try open(createIfMissing: true) }
    }

    @Test func `a folder or pipe in its place is refused without waiting`() throws {
        try #require(mkdir(path, 0o700) == 0)
        #expect(throws: EnclaveError.deviceSecretUnreadable(.notRegularFile)) { _ = try open() }
        try #require(rmdir(path) == 0 && mkfifo(path, 0o600) == 0)
        #expect(throws: EnclaveError.deviceSecretUnreadable(.notRegularFile)) { _ = try open() }
    }

    // MARK: format

    @Test func `every flipped bit is found`() throws {
        _ = try open(createIfMissing: true)
        let good = try contents()
        for index in good.indices {
            var bytes = good
            bytes[index] ^= 1 << UInt8(index % 8)
            try replace(with: bytes)
            let defect: PrivateFileDefect = index == 4 ? .unknownVersion : .damaged
            #expect(throws: EnclaveError.deviceSecretUnreadable(defect), "byte \(index)") { _ = try open() }
        }
    }

    @Test func `every truncation and a byte too many are found`() throws {
        _ = try open(createIfMissing: true)
        let good = try contents()
        for bytes in (0..<good.count).map({ good.prefix($0) }) + [good + [0], good + good] {
            try replace(with: Data(bytes))
            #expect(throws: EnclaveError.deviceSecretUnreadable(.damaged), "\(bytes.count) bytes") { _ = try open() }
        }
    }

    @Test func `the layout is magic, version, secret and check`() throws {
        let head = Data("OSDS".utf8) + [2]
        let file = DeviceSecretFormat.encode(SecretBytes(Data(0..<32)))
        let expected =
            head + Data(0..<32)
            + Data(HMAC<SHA256>.authenticationCode(for: head, using: SymmetricKey(data: Data(0..<32))))
        #expect(Data(exposing: file) == expected)
        let decoded = try DeviceSecretFormat.decode(file)
        #expect(Data(exposing: decoded) == Data(0..<32))
    }

    @Test(arguments: [0, 1, 3] as [UInt8])
    func `a secret of another version is refused and stays`(version: UInt8) throws {
        let head = Data("OSDS".utf8) + [version]
        let check = HMAC<SHA256>.authenticationCode(for: head, using: SymmetricKey(data: Data(0..<32)))
        try replace(with: head + Data(0..<32) + Data(check))
        let before = try contents()
        #expect(throws: EnclaveError.deviceSecretUnreadable(.unknownVersion)) { _ = try open(createIfMissing: true) }
        #expect(try contents() == before)
    }
}

/// A set that several threads add to.
private final class Collected: @unchecked Sendable {
    // SAFETY: (@unchecked) `storage` is touched only while the lock is held.
    private let lock = NSLock()
    private var storage: Set<Data> = []

    func add(_ value: Data) { lock.withLock { _ = storage.insert(value) } }
    var values: Set<Data> { lock.withLock { storage } }
}
