import Foundation
import Testing

@testable import ostiary

@Suite("Text for people")
struct TextTests {
    @Test(arguments: [
        ("2fa", "2fa"), ("Schlüssel ✓", "Schlüssel ✓"), ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"), ("\r", "\\u{d}"),
        ("\u{7f}", "\\u{7f}"),
        ("a\u{202e}b", "a\\u{202e}b"), ("\u{200b}", "\\u{200b}"), ("\u{9b}31m", "\\u{9b}31m"),
        ("\u{2028}", "\\u{2028}"),
        ("two\nlines", "two\nlines"), ("\u{e000}", "\\u{e000}"),
    ])
    func `what could steer a terminal is escaped`(text: String, visible: String) {
        #expect(text.visibleText == visible)
    }

    @Test(arguments: [
        ("2fa", "2fa"), ("a b", "a b"), ("", ""), ("\u{a0}", "\\u{a0}"), (" ", "\\u{20}"), (" a ", "\\u{20}a\\u{20}"),
        ("a  b", "a \\u{20}b"), ("a\nb", "a\\u{a}b"), ("\u{3164}", "\\u{3164}"), ("\u{2800}", "\\u{2800}"),
        ("\u{200b}", "\\u{200b}"), ("\u{2068}a\u{2069}", "\\u{2068}a\\u{2069}"),
        ("\u{5d0}\u{5d1}", "\u{2068}\u{5d0}\u{5d1}\u{2069}"), ("1\u{634}", "\u{2068}1\u{634}\u{2069}"),
        ("\u{202e}\u{5d0}", "\u{2068}\\u{202e}\u{5d0}\u{2069}"),
    ])
    func `a name shows all of itself, and keeps its direction to itself`(name: String, visible: String) {
        #expect(name.visibleName == visible)
    }

    @Test(arguments: [
        ("the rights “a” and “b”", "the rights “a” and “b”"),
        ("“\u{5d0}” and “b”", "“\u{2068}\u{5d0}\u{2069}” and “\u{2068}b\u{2069}”"),
        ("\u{5d0}” “x", "\u{5d0}” “\u{2068}x\u{2069}"), ("“\u{2069}\u{5d0}”", "“\u{2068}\\u{2069}\u{5d0}\u{2069}”"),
    ])
    func `what is quoted in a message keeps its direction to itself`(text: String, visible: String) {
        #expect(text.visibleText == visible)
    }

    @Test func `a quoted name cannot end its quotation`() {
        #expect("a” “b".quotedName == "“a\\u{201d} \\u{201c}b”")
        #expect("\u{5d0}".quotedName == "“\u{5d0}”")
    }

    @Test func `a cell that is read from right to left leaves the columns where they are`() {
        var table = TextTable(header: ["NAME", "B"])
        table.append("\u{5d0}\u{5d1}\u{5d2}\u{5d3}\u{5d4}", "x")
        table.append("\u{a0}", "y")
        #expect(
            table.text
                == "NAME    B\n\u{2068}\u{5d0}\u{5d1}\u{5d2}\u{5d3}\u{5d4}\u{2069}   x\n\\u{a0}  y")
    }

    @Test func `a line stays a line`() { #expect("a\n\nb\n".visibleLine == "a b") }

    @Test(arguments: [
        (0, "0 s"), (-1, "0 s"), (.nan, "0 s"), (0.2, "1 s"), (59.5, "1 min"), (60, "1 min"), (243, "4 min 3 s"),
        (3600, "1 h"), (3661, "1 h 1 min 1 s"), (1e300, "more than a century"), (.infinity, "more than a century"),
    ])
    func `a wait is rounded up`(seconds: Double, text: String) { #expect(DurationText.text(seconds: seconds) == text) }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (1_769_860_800.25, "2026-01-31T12:00:00.250Z"),
        (253_402_300_799, "9999-12-31T23:59:59.000Z"),
    ])
    func `a time is ISO 8601 in UTC`(seconds: Double, text: String) {
        #expect(Timestamp(secondsSince1970: seconds).iso8601 == text)
    }

    @Test(arguments: [-1, 253_402_300_800, 1e300, .infinity, -.infinity, .nan])
    func `what is no time does no harm`(seconds: Double) {
        #expect(Timestamp(secondsSince1970: seconds).iso8601 == nil)
        #expect(Timestamp(secondsSince1970: seconds).localText() == "unknown time")
    }

    @Test func `a time for people is in their zone`() throws {
        let zone = try #require(TimeZone(secondsFromGMT: 3600))
        #expect(Timestamp(secondsSince1970: 1_769_860_800).localText(in: zone) == "2026-01-31 13:00:00+01:00")
    }

    @Test func `columns are aligned and cells harmless`() {
        var table = TextTable(header: ["A", "LONG", "C"])
        table.append("wide\u{1b}", "", "x")
        table.append("é", "y", "")
        #expect(table.text == "A           LONG  C\nwide\\u{1b}        x\né           y")
    }

    @Test(arguments: [
        ("plain text\n\twith tab", true), ("", true), ("ü€😀", true), ("\u{1b}[31m", false), ("\u{9b}31m", false),
        ("a\0", false), ("a\rb", false), ("\u{7f}", false),
    ])
    func `control characters are no text`(text: String, isText: Bool) {
        var text = text
        text.withUTF8 { #expect(PrintableText.isPrintable(UnsafeRawBufferPointer($0)) == isText) }
    }

    @Test(arguments: [[0xff], [0x61, 0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80]] as [[UInt8]])
    func `what is not UTF-8 is no text`(bytes: [UInt8]) {
        bytes.withUnsafeBytes { #expect(!PrintableText.isPrintable($0)) }
    }

    @Test func `progress counts up to a total that is known`() {
        #expect(ProgressLine.text("Reading", 3 << 20, 10 << 20) == "Reading 3 MiB of 10 MiB")
        #expect(ProgressLine.text("Reading", 3 << 20, nil) == "Reading 3 MiB")
        #expect(ProgressLine.text("Reading", 3 << 20, 1 << 20) == "Reading 3 MiB")
    }
}
