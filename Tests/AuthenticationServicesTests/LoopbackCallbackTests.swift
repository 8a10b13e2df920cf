import DetachedThreads
import Foundation
import Glibc
@testable import LoopbackCallback
import Testing

/// Which requests end a sign-in, and whose. Whether a connection is another user's is tried with tables that say so, because a test
/// has one user only; as root, with a real other user in `WebAuthenticationSessionTests`.
@Suite("Loopback callback", .timeLimit(.minutes(10))) struct LoopbackCallbackTests {
    private static let port: UInt16 = 8000

    private func verdict(_ target: String, path: String = "/done", page: String = "https://id.example.org")
        throws -> ExpectedRequest.Verdict
    {
        ExpectedRequest(path: path, from: try #require(URL(string: page))).verdict(on: target, port: Self.port)
    }

    private func isExpected(_ target: String, path: String = "/done", page: String = "https://id.example.org")
        throws -> Bool
    {
        guard case .expected(let url) = try verdict(target, path: path, page: page) else { return false }
        #expect(url.host == "127.0.0.1" && url.port == 8000)
        return true
    }

    // MARK: the request

    @Test(arguments: [
        ("/done", "/done"), ("/done?x=1", "/done"), ("/done/", "/done/"), ("/a%20b", "/a b"), ("/d%6fne", "/done"),
        ("/", "/"), ("/ümlaut", "/ümlaut"), ("/%C3%BCmlaut", "/ümlaut"),
    ])
    func `paths are compared without percent encoding`(target: String, path: String) throws {
        #expect(try isExpected(target, path: path))
    }

    @Test(arguments: [
        ("/done/", "/done"), ("/done", "/done/"), ("/done//", "/done/"), ("//done", "/done"), ("/done%2F", "/done"),
        ("/Done", "/done"), ("/done.", "/done"), ("/other/../done", "/done"), ("", "/"), ("*", "/"), ("done", "/done"),
        ("@evil.example/done", "/done"), (".evil.example/done", "/done"), (":1/done", "/done"),
        ("1/done", "/done"), ("http://127.0.0.1:8000/done", "/done"), ("x@127.0.0.1:8000/done", "/done"),
        ("//evil.example/done", "/done"), ("\\@evil.example/done", "/done"),
    ])
    func `every other target is not the one`(target: String, path: String) throws {
        #expect(try verdict(target, path: path) == .other)
    }

    @Test(arguments: [
        ("?state=a", "?state=a"), ("?state=a&code=1", "?x=1&state=a"), ("?code=1&state=a%2Bb", "?state=a%2Bb"),
        ("?state=a+b", "?state=a%20b"), ("?state=a%2bb", "?state=a+b"), ("?state=", "?state="),
        ("?code=1", "?nonce=1"), ("?state=any", "?nonce=1"),
    ])
    func `a return brings the state of the page`(returned: String, page: String) throws {
        #expect(try isExpected("/done" + returned, page: "https://id.example.org/login" + page))
    }

    @Test(arguments: [
        ("", "?state=a"), ("?code=1", "?state=a"), ("?state=b", "?state=a"), ("?state=A", "?state=a"),
        ("?state=", "?state=a"), ("?state", "?state=a"), ("?state=aa", "?state=a"), ("?State=a", "?state=a"),
        ("?state=b&state=a", "?state=a"), ("?state=a&state=a", "?state=a"), ("#state=a", "?state=a"),
        ("?x=state=a", "?state=a"), ("?state=e%CC%81", "?state=%C3%A9"), ("?state=a%00", "?state=a"),
    ])
    func `a return with another state, or with none, ends nothing`(returned: String, page: String) throws {
        #expect(try verdict("/done" + returned, page: "https://id.example.org/login" + page) == .foreignState)
    }

    // MARK: the user

    private func address(_ text: String, _ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr(text)
        address.sin_port = port.bigEndian
        return address
    }

    private func owners(in table: String) -> [uid_t] {
        SocketTables.owners(in: table, from: address("127.0.0.1", 40_000), to: address("127.0.0.1", 8_080))
    }

    private static let header =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"

    private func row(
        _ local: String = "0100007F:9C40", _ remote: String = "0100007F:1F90", state: String = "01",
        inode: String = "77"
    ) -> String {
        "\(Self.header)\n   9: \(local) \(remote) \(state) 00000000:00000000 00:00000000 00000000  1234        0 \(inode) 1 0 20\n"
    }

    /// The tables of a machine whose words have their lowest byte first, as those that Linux runs on here.
    @Test func `the owner of a connection is read from the kernel's table`() {
        #expect(owners(in: row()) == [1234])
        let mapped = "0000000000000000FFFF00000100007F"
        #expect(owners(in: row("\(mapped):9C40", "\(mapped):1F90")) == [1234])
        #expect(owners(in: row(state: "0A") + row()) == [1234])
    }

    @Test func `what is closed, another connection or no row at all tells no owner`() {
        #expect(owners(in: "") == [] && owners(in: Self.header) == [])
        for other in [
            row(state: "06"), row(state: "08"), row(inode: "0"), row("0100007F:9C41"), row("0200007F:9C40"),
            row("0100007F:9C40", "0100007F:1F91"), row("0100007F:1F90", "0100007F:9C40"),
            row("00000000:9C40", "00000000:1F90"),
            String(row().dropLast(20)),
        ] {
            #expect(owners(in: other) == [], "\(other)")
        }
    }

    /// The status of a request and whether it ended the waiting.
    private func answer(_ tables: SocketTables) async throws -> (status: String, hasEnded: Bool) {
        let listener = try CallbackListener(port: 0, tables: tables)
        let page = try #require(URL(string: "https://id.example.org"))
        let (ends, end) = AsyncStream.makeStream(of: URL.self)
        try listener.wait(for: ExpectedRequest(path: "/done", from: page)) { end.yield($0) }
        let status = try await Self.status(of: "http://127.0.0.1:\(listener.port)/done")
        // Tells whether the waiting went on, and lets the stream end.
        let isRunning = listener.stop()
        if isRunning { end.finish() }
        var url: URL?
        for await one in ends {
            url = one
            break
        }
        #expect((url == nil) == isRunning)
        return (status, !isRunning)
    }

    /// `000` where the connection was closed before curl read the answer.
    private static func status(of address: String) async throws -> String {
        let curl = Process()
        curl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        curl.arguments = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", address]
        let pipe = Pipe()
        curl.standardOutput = pipe
        await withCheckedContinuation { continuation in
            curl.terminationHandler = { _ in continuation.resume() }
            do { try curl.run() } catch {
                Issue.record("curl: \(error)")
                continuation.resume()
            }
        }
        return String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }

    @Test func `a connection of this user ends the waiting`() async throws {
        let (status, hasEnded) = try await answer(.ofKernel)
        #expect(status == "200" && hasEnded)
    }

    /// The kernel's own tables, but with another user in each row.
    private static let ofOtherUser = SocketTables {
        SocketTables.ofKernel.texts.map { table in
            table.split(separator: "\n").map { row in
                var fields = row.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
                if fields.count > 7, fields[7] == "\(geteuid())" { fields[7] = "\(geteuid() + 1)" }
                return fields.joined(separator: " ")
            }.joined(separator: "\n")
        }
    }

    @Test(arguments: [ofOtherUser, SocketTables { [] }, SocketTables { ["", "nonsense"] }])
    func `a connection of another user, or of one that cannot be told, is refused`(tables: SocketTables) async throws {
        let (status, hasEnded) = try await answer(tables)
        #expect(["403", "000"].contains(status) && !hasEnded, "\(status)")
    }

    @Test func `a user whom this namespace does not know is nobody's`() throws {
        let listener = try CallbackListener(port: 0)
        let client = try Self.connect(to: listener.port)
        defer { close(client) }
        #expect(!SocketTables.ofKernel.isConnection(client, of: 65_534))
    }

    /// The kernel gives such a table in several parts.
    @Test func `a connection is found on a machine with many others`() throws {
        let server = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(server) }
        try #require(listen(server, 512) == 0)
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(server, $0, &length) }
        }
        try #require(status == 0)
        var clients: [CInt] = []
        defer { for client in clients { close(client) } }
        for _ in 0..<300 { clients.append(try Self.connect(to: UInt16(bigEndian: address.sin_port))) }
        // Sockets of this process, seen from their other ends: some of each part in which the kernel gives its table.
        for number in clients.indices {
            let accepted = accept(server, nil, nil)
            if number.isMultiple(of: 20) { #expect(SocketTables.ofKernel.isConnection(accepted, of: geteuid())) }
            close(accepted)
        }
    }

    // MARK: several connections

    private static func connect(to port: UInt16) throws -> CInt {
        let client = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = port.bigEndian
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(status == 0)
        return client
    }

    @Test func `without a thread from the system nothing is waited for, and that is an error`() throws {
        let listener = try CallbackListener(port: 0)
        let page = try #require(URL(string: "https://id.example.org"))
        #expect(throws: CallbackListener.Failure(step: "thread", code: EAGAIN)) {
            try DetachedThread.$areRefused.withValue(true) {
                try listener.wait(for: ExpectedRequest(path: "/done", from: page)) { _ in }
            }
        }
    }

    /// Browsers open connections that they may use later. The silent ones here would be waited for longer than the test may take.
    @Test func `connections that say nothing keep no other one waiting`() async throws {
        let listener = try CallbackListener(port: 0, patience: .seconds(3_600))
        let silent = try (0..<3).map { _ in try Self.connect(to: listener.port) }
        defer { for client in silent { close(client) } }
        let page = try #require(URL(string: "https://id.example.org"))
        let (ends, end) = AsyncStream.makeStream(of: URL.self)
        try listener.wait(for: ExpectedRequest(path: "/done", from: page)) { end.yield($0) }
        #expect(try await Self.status(of: "http://127.0.0.1:\(listener.port)/done") == "200")
        for await url in ends {
            #expect(url.path == "/done")
            break
        }
    }
}
