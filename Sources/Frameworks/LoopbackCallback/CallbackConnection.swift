import Foundation
import Glibc

/// One connection: the head of one HTTP request is read, and answered.
struct CallbackConnection {
    /// Longer than any address that a browser sends.
    private static let maximumByteCount = 16 << 10

    private let connection: CInt
    private let port: UInt16
    /// How long a whole request may take.
    private let patience: Duration

    init(_ connection: CInt, port: UInt16, patience: Duration) {
        self.connection = connection
        self.port = port
        self.patience = patience
    }

    /// Reads the request and answers it. Its address, if it is the expected one and ended the waiting.
    ///
    /// - Parameters:
    ///   - isOwn: whether the connection is of this process's user.
    ///   - end: ends the waiting; false if it has ended before.
    func serve(_ request: ExpectedRequest, isOwn: Bool, endingWith end: () -> Bool) -> URL? {
        guard isOwn else {
            answer("403 Forbidden", "A program of another user waits here.")
            return nil
        }
        guard let head = readHead() else {
            answer("400 Bad Request", "This is no request that can be read.")
            return nil
        }
        let lines = head.components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
        // A page elsewhere whose name leads here has another host.
        let hosts = lines.dropFirst().filter { $0.lowercased().hasPrefix("host:") }.map {
            $0.dropFirst(5).trimmingCharacters(in: .whitespaces)
        }
        guard words.count == 3, words[0] == "GET", words[2].hasPrefix("HTTP/1."), hosts == ["127.0.0.1:\(port)"] else {
            answer("404 Not Found", "Nothing is here.")
            return nil
        }
        switch request.verdict(on: words[1], port: port) {
        case .expected(let url):
            guard end() else {
                answer("410 Gone", "The sign-in has ended already. Go back to the program.")
                return nil
            }
            answer("200 OK", "You are signed in as far as this page is concerned. Close it and go back to the program.")
            return url
        case .foreignState:
            answer("403 Forbidden", "This page belongs to another sign-in. Go back to the program, and sign in again.")
        case .other: answer("404 Not Found", "Nothing is here.")
        }
        return nil
    }

    /// Everything up to the empty line; nil for what is too long, too slow or no text.
    private func readHead() -> String? {
        let deadline = ContinuousClock.now + patience
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while bytes.count <= Self.maximumByteCount {
            if let end = Self.end(of: bytes) { return String(validating: bytes[..<end], as: UTF8.self) }
            var readable = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
            let left = (deadline - .now) / .milliseconds(1)
            guard left > 0, poll(&readable, 1, CInt(clamping: Int(left.rounded(.up)))) > 0 else { return nil }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
        }
        return nil
    }

    private static func end(of bytes: [UInt8]) -> Int? {
        bytes.firstRange(of: [0x0d, 0x0a, 0x0d, 0x0a])?.lowerBound
    }

    private func answer(_ status: String, _ text: String) {
        let page = "<!doctype html><meta charset=utf-8><title>\(status)</title><p>\(text)\n"
        let reply = """
            HTTP/1.1 \(status)\r
            Content-Type: text/html; charset=utf-8\r
            Content-Length: \(page.utf8.count)\r
            Cache-Control: no-store\r
            Referrer-Policy: no-referrer\r
            Connection: close\r
            \r
            \(page)
            """
        let bytes = Array(reply.utf8)
        _ = send(connection, bytes, bytes.count, CInt(MSG_NOSIGNAL))
    }
}
