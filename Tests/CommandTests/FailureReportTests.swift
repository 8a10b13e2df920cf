import ArgumentParser
import CommandFailures
import Foundation
import OstiaryClient
import OstiaryMessages
import Testing

@testable import ostiary

@Suite("What is said about a failure")
struct FailureReportTests {
    @Test(arguments: [
        (OstiaryError.Code(.lockedOut), "Too many wrong tries. Try again in 59 s."),
        (
            OstiaryError.Code(.cooldown),
            "This program's questions were cancelled several times; it may ask again in 59 s."
        ),
    ])
    func `how long to wait is said once, and as a number in JSON`(code: OstiaryError.Code, explanation: String) throws {
        let report = FailureReport(OstiaryError(code, explanation, retryAfter: .seconds(59)))
        #expect(report.text == "ostiary: \(explanation)")
        #expect(report.status == .refused)
        #expect(report.document.message == explanation)
        #expect(try JSONOutput.text(report.document, on: .oneLine).hasSuffix(#","retryAfterSeconds":59}"#))
    }

    @Test func `a wait is in whole seconds, rounded up`() {
        let report = FailureReport(OstiaryError(.init(.lockedOut), "Wait.", retryAfter: .milliseconds(58_200)))
        #expect(report.document.retryAfterSeconds == 59)
    }

    @Test func `a mistyped subcommand is said behind the first line, and in JSON`() throws {
        let error = #expect(throws: (any Error).self) { try Ostiary.parseAsRoot(["right", "lst"]) }
        let report = FailureReport(try #require(error), arguments: ["right", "lst"])
        #expect(report.status == .usage)
        #expect(
            report.text.hasPrefix(
                "Error: There is no command `ostiary right lst`.\nDid you mean `ostiary right list`?\nUsage: "))
        #expect(
            report.document.message == "There is no command `ostiary right lst`. Did you mean `ostiary right list`?")
    }

    @Test func `without a wait JSON has no number for it`() throws {
        let report = FailureReport(OstiaryError(.init(.notFound), "There is none."))
        #expect(
            try JSONOutput.text(report.document, on: .oneLine)
                == #"{"code":60,"message":"There is none.","name":"notFound"}"#)
    }

    private static let long = String(repeating: "x", count: 61)
    private static let cut = String(repeating: "x", count: 60) + "…"

    @Test(arguments: [
        ("'\(long)'", [long], "'\(cut)'"), ("'\(long)' for '--a'", ["--a=\(long)"], "'\(cut)' for '--a'"),
        ("b=\(long)", ["--a=b=\(long)"], "b=" + String(repeating: "x", count: 58) + "…"),
        ("\(long)yy \(long)", [long, long + "yy"], "\(cut) \(cut)"),
        (String(repeating: "x", count: 60), [String(repeating: "x", count: 60)], String(repeating: "x", count: 60)),
        ("nothing of it", [long, ""], "nothing of it"),
    ])
    func `a message repeats no more than 60 characters of an argument`(
        message: String, arguments: [String], shown: String
    ) {
        #expect(EchoedArguments.clipped(in: message, arguments) == shown)
    }
}
