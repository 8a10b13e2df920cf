import Glibc
import ProcessFacts
import Testing

@Suite struct ProcessStatusTests {
    private static let tail =
        " 34816 77 4194560 120 0 0 0 1 2 0 0 20 0 1 0 987654 6950912 2000 18446744073709551615 1 1 0"

    private func parse(_ text: String) -> ProcessStatus? { ProcessStatus(parsing: Array(text.utf8)) }

    @Test(arguments: [
        "bash", "a b", "((sd-pam))", ") R 1 1 1 1 1", "x) S 9 9 9 9 9 (y", "", "line\nend", "żółw",
    ])
    func `fields are counted behind the last parenthesis`(_ name: String) throws {
        let status = try #require(parse("42 (\(name)) S 1 77 40" + Self.tail + "\n"))
        #expect(status.state == UInt8(ascii: "S"))
        #expect(status.processGroup == 77)
        #expect(status.session == 40)
        #expect(status.terminalDevice == 34816)
        #expect(status.foregroundGroup == 77)
        #expect(status.startTime == 987654)
        #expect(status.isInForeground && !status.isStopped && !status.isDead)
    }

    @Test func `a name that is not UTF-8 is no obstacle`() {
        let text = Array("42 (".utf8) + [0xFF, 0x29, 0xC3] + Array(") S 1 77 40\(Self.tail)".utf8)
        #expect(ProcessStatus(parsing: text)?.session == 40)
    }

    @Test(arguments: [("T", true), ("t", true), ("S", false), ("R", false), ("D", false)])
    func `stopped is told from waiting`(_ state: String, _ isStopped: Bool) {
        #expect(parse("42 (x) \(state) 1 77 40" + Self.tail)?.isStopped == isStopped)
    }

    @Test(arguments: ["Z", "X"]) func `a zombie is dead`(_ state: String) {
        #expect(parse("42 (x) \(state) 1 77 40" + Self.tail)?.isDead == true)
    }

    @Test func `without a terminal nothing is in the foreground`() throws {
        let status = try #require(parse("42 (x) S 1 -1 40 0 -1 4194560 120 0 0 0 1 2 0 0 20 0 1 0 987654 1 1"))
        #expect(!status.isInForeground)
        #expect(status.terminalDevice == 0)
    }

    @Test func `another group in front means background`() {
        #expect(parse("42 (x) S 1 76 40" + Self.tail)?.isInForeground == false)
    }

    @Test func `a device number with the highest bit set is read as the kernel means it`() {
        let text = "42 (x) S 1 77 40 -2147448832 77 4194560 120 0 0 0 1 2 0 0 20 0 1 0 987654 1 1"
        #expect(parse(text)?.terminalDevice == 0x8000_8800)
    }

    @Test(arguments: [
        "", ")", "42 (x", "42 (x)", "42 (x) ", "42 (x) S", "42 (x) S 1 77", "42 (x)S 1 77 40 1 1",
        "42 (x) SS 1 77 40 34816 77",
        "42 (x) S 1 a 40 34816 77 4194560 120 0 0 0 1 2 0 0 20 0 1 0 987654 1 1",
        "42 (x) S 1 77 40 34816 77 4194560 120 0 0 0 1 2 0 0 20 0 1 0 -5 1 1",
        "42 (x) S 1 99999999999 40 34816 77 4194560 120 0 0 0 1 2 0 0 20 0 1 0 987654 1 1",
    ])
    func `other texts are no status`(_ text: String) {
        #expect(parse(text) == nil)
    }

    @Test func `this process is found, and an id that cannot be is not`() {
        #expect(ProcessStatus(of: getpid())?.session == getsid(0))
        #expect(ProcessStatus(of: -1) == nil)
        #expect(ProcessStatus(of: .max) == nil)
    }
}
