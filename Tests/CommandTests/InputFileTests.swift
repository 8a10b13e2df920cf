import CommandFailures
import Foundation
import KeyAlgorithms
import OstiaryMessages
import SecretMemory
import Testing

@testable import ostiary

@Suite("Input files")
struct InputFileTests {
    private let folder: CommandFolder

    init() throws { folder = try CommandFolder() }

    private func input(_ content: Data) throws -> InputFile {
        try #require(InputFile(argument: try folder.file("input", content)))
    }

    @Test func `a secret of the limit is read and one byte more is refused`() throws {
        let limit = RightCreate.secretByteLimit
        #expect(limit == 64 * 1024)
        let bytes = try RightCreate.read(input(Data(repeating: 7, count: limit)))
        #expect(Data(exposing: bytes) == Data(repeating: 7, count: limit))
        let path = folder.path("input")
        let error = #expect(throws: CommandError.self) {
            _ = try RightCreate.read(input(Data(repeating: 7, count: limit + 1)))
        }
        #expect(error == .inputTooLarge(name: path, limit: limit))
    }

    @Test func `an empty secret is refused`() throws {
        let path = folder.path("input")
        let error = #expect(throws: CommandError.self) { _ = try RightCreate.read(input(Data())) }
        #expect(error == .emptySecret(name: path))
    }

    @Test func `a secret keeps every byte`() throws {
        let content = Data((0...255).map { UInt8($0) } + [10, 10])
        #expect(Data(exposing: try RightCreate.read(input(content))) == content)
    }

    @Test func `an endless file is refused at the limit`() throws {
        let zeros = try #require(InputFile(argument: "/dev/zero"))
        let error = #expect(throws: CommandError.self) { _ = try zeros.data(limit: 1000) }
        #expect(error == .inputTooLarge(name: "/dev/zero", limit: 1000))
    }

    @Test(arguments: ["missing", "."])
    func `a file that cannot be read is named`(name: String) throws {
        let path = folder.path(name)
        let file = try #require(InputFile(argument: path))
        let error = #expect(throws: CommandError.self) { _ = try file.data(limit: 10) }
        let failure = try #require(error)
        #expect(failure.failureClass.name == "unreadableInput")
        #expect(failure.description.contains(path))
    }

    @Test(arguments: [0, 1, (1 << 20) - 1, 1 << 20, (2 << 20) + 1])
    func `a message is hashed piece by piece`(size: Int) throws {
        let content = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 / 251) })
        let algorithm = try AlgorithmName.algorithm(named: "ecdsa-sha384", for: .sign)
        let signing = try SigningInput(input(content), for: algorithm, keepsContent: true)
        #expect(signing.digest == HashAlgorithm.sha384.digest(of: content))
        #expect(signing.algorithm.rawValue == "algid:sign:ECDSA:digest-X962:SHA384")
    }

    @Test(arguments: [0, 1, WireLimits.tailByteCount, WireLimits.tailByteCount + 1, (1 << 20) + 1])
    func `a message that a question can show is kept whole`(size: Int) throws {
        let content = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 / 251) })
        let algorithm = try AlgorithmName.algorithm(named: "ecdsa-sha256", for: .sign)
        let signing = try SigningInput(input(content), for: algorithm, keepsContent: true)
        #expect(signing.content == (size <= WireLimits.tailByteCount ? content : nil))
    }

    @Test(arguments: [
        ("ecdsa-digest-sha256", 32), ("ecdsa-raw-digest-sha1", 20), ("ecdsa-digest", 1), ("ecdsa-digest", 100),
    ])
    func `a digest is taken as it is`(name: String, size: Int) throws {
        let digest = Data(repeating: 9, count: size)
        let signing = try SigningInput(
            input(digest), for: AlgorithmName.algorithm(named: name, for: .sign), keepsContent: true)
        #expect(signing.digest == digest)
    }

    @Test(arguments: [
        ("ecdsa-digest-sha256", 31), ("ecdsa-digest-sha256", 33), ("ecdsa-digest-sha512", 32), ("ecdsa-digest", 0),
    ])
    func `a digest of a wrong length is refused`(name: String, size: Int) throws {
        let file = try input(Data(count: size))
        let algorithm = try AlgorithmName.algorithm(named: name, for: .sign)
        let error = #expect(throws: CommandError.self) {
            _ = try SigningInput(file, for: algorithm, keepsContent: true)
        }
        #expect(error == .keyAlgorithm(.invalidParameter(.digestLength)))
    }

    @Test func `only a lone dash is standard input`() throws {
        #expect(try #require(InputFile(argument: "-")).isStandardInput)
        #expect(try !#require(InputFile(argument: "./-")).isStandardInput)
        #expect(InputFile(argument: "") == nil)
    }
}
