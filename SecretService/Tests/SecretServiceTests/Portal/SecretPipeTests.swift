import Foundation
import Glibc
import SecretItems
import SecretMemory
import Testing
import UnixSocket

@testable import SecretService

/// The end through which an application gets its secret. The application chooses it.
@Suite(.timeLimit(.minutes(10))) struct SecretPipeTests {
    private let secret = HeldSecret(SecretBytes(Data("a secret".utf8)))
    private let refusal = StoreRefusal.failed("The application does not take its secret.")

    private func pipe(_ number: CInt) -> SecretPipe {
        SecretPipe(descriptor: SharedDescriptor(Descriptor(owning: number)))
    }

    /// Reading end and writing end.
    private func ends(ofSocket isSocket: Bool) throws -> (reader: CInt, writer: CInt) {
        var ends: [CInt] = [-1, -1]
        let result = isSocket ? socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) : Glibc.pipe(&ends)
        try #require(result == 0)
        return (ends[0], ends[1])
    }

    private func read(_ number: CInt) -> String {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = Glibc.read(number, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }

    @Test func `a pipe gets it, and waits afterwards as before`() throws {
        let (reader, writer) = try ends(ofSocket: false)
        defer { close(reader) }
        let flags = fcntl(writer, F_GETFL)
        let written = pipe(writer)
        try written.write(secret)
        #expect(read(reader) == "a secret")
        #expect(fcntl(written.descriptor.number, F_GETFL) == flags)
    }

    @Test func `a socket gets it`() throws {
        let (reader, writer) = try ends(ofSocket: true)
        defer { close(reader) }
        try pipe(writer).write(secret)
        #expect(read(reader) == "a secret")
    }

    @Test(arguments: [false, true]) func `an end that nobody reads gets nothing`(isSocket: Bool) throws {
        let (reader, writer) = try ends(ofSocket: isSocket)
        close(reader)
        #expect(throws: refusal) { try pipe(writer).write(secret) }
    }

    /// A terminal can say that it has room, and then have its writer wait for as long as the application wants.
    @Test(arguments: ["/dev/null", "/dev/ptmx"])
    func `what is neither a pipe nor a socket gets nothing`(path: String) throws {
        let number = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(number >= 0)
        #expect(throws: refusal) { try pipe(number).write(secret) }
    }
}
