import Cancellations
import FingerprintReader
import Foundation
import Glibc
import PAMProtocol
import PAMTestSupport
import PromptProtocol
import StoreTestSupport
import TerminalTestSupport
import Testing

@testable import PAMBiometry

/// Attempts with the real libpam, its own modules, those of pam_wrapper, and a module of the test's own.
@Suite(.timeLimit(.minutes(10))) struct RecognitionTests {
    let services: PAMServices

    init() throws { services = try PAMServices() }

    // MARK: results

    @Test func `a module that says yes recognised the user`() throws {
        try services.write("auth required pam_permit.so\n")
        #expect(try services.recognize { _ in Issue.record("a text") } == .success(.recognized))
    }

    @Test func `a module that says no did not`() throws {
        try services.write("auth required pam_deny.so\n")
        #expect(try services.recognize() == .success(.notRecognized))
    }

    static let codes: [(String, Result<PAMRecognition, PAMFailure>)] = [
        ("success", .success(.recognized)), ("auth_err", .success(.notRecognized)),
        ("maxtries", .success(.notRecognized)), ("perm_denied", .success(.notRecognized)),
        ("user_unknown", .failure(.userUnknown)), ("authinfo_unavail", .failure(.unavailable)),
        ("cred_insufficient", .failure(.unavailable)), ("new_authtok_reqd", .failure(.unavailable)),
        ("acct_expired", .failure(.unavailable)), ("try_again", .failure(.unavailable)),
        ("system_err", .failure(.unavailable)), ("conv_again", .failure(.unavailable)),
        ("incomplete", .failure(.unavailable)), ("abort", .failure(.unavailable)),
        ("module_unknown", .failure(.moduleUnusable)), ("open_err", .failure(.moduleUnusable)),
    ]

    @Test(arguments: codes) func `only success recognises`(
        _ code: String, _ expected: Result<PAMRecognition, PAMFailure>
    )
        throws
    {
        for control in ["required", "requisite"] {
            try services.write("auth \(control) pam_debug.so auth=\(code)\n")
            #expect(try services.recognize() == expected)
        }
    }

    @Test func `a module that says nothing recognised nobody`() throws {
        try services.write("auth required pam_debug.so auth=ignore\n")
        #expect(try services.recognize() == .success(.notRecognized))
    }

    @Test func `a module that is missing is unusable`() throws {
        try services.write("auth required pam_not_installed.so\n")
        #expect(try services.recognize() == .failure(.moduleUnusable))
    }

    @Test func `a file that is no module is unusable`() throws {
        try services.write("words", to: "pam_test.so")
        try services.write("auth required \(services.folder.path("pam_test.so"))\n")
        #expect(try services.recognize() == .failure(.moduleUnusable))
    }

    @Test func `a module that puts another user in this one's place decided nothing`() throws {
        try services.writeModule("other-user")
        #expect(try services.recognize() == .failure(.unavailable))
    }

    // MARK: questions

    @Test func `a module that asks for the password fails, and shows nothing`() throws {
        for module in ["pam_unix.so", "/usr/lib/\(Self.triplet)/pam_wrapper/pam_matrix.so passdb=/dev/null"] {
            try services.write("auth required \(module)\n")
            #expect(try services.recognize { _ in Issue.record("a text") } == .failure(.asked))
        }
    }

    @Test func `a module that asks and then says yes fails`() throws {
        // Typed and hidden, typed and shown, yes or no, bytes, unknown.
        for style in [1, 2, 5, 7, 99] {
            try services.writeModule("say-style \(style)")
            #expect(try services.recognize { _ in Issue.record("a text") } == .failure(.asked))
        }
        try services.writeModule("say-style 4")
        #expect(try services.recognize() == .success(.recognized))
    }

    @Test func `texts and errors are told, and are no result`() throws {
        try services.write("auth required /usr/lib/\(Self.triplet)/pam_wrapper/pam_chatty.so info error num_lines=2\n")
        var texts: [PAMText] = []
        #expect(try services.recognize { texts.append($0) } == .success(.recognized))
        #expect(
            Set(texts.map { "\($0.isError) \($0.text)" }) == [
                "false Authentication succeeded", "true Authentication generated an error",
            ])
    }

    static var triplet: String {
        #if arch(x86_64)
            "x86_64-linux-gnu"
        #else
            "aarch64-linux-gnu"
        #endif
    }

    // MARK: modules that misbehave

    @Test(arguments: ["crash", "abort", "exit"])
    func `a module that ends the helper decided nothing`(_ way: String) throws {
        try services.writeModule(way)
        #expect(try services.recognize() == .failure(.helperEnded))
    }

    @Test func `a helper that is killed decided nothing`() throws {
        try services.writeStarter("kill -9 $PPID; sleep 1000")
        #expect(try services.recognize() == .failure(.helperEnded))
    }

    @Test func `a module that hangs is ended in time`() throws {
        try services.writeModule("hang")
        #expect(try services.recognize(within: .milliseconds(300)) == .failure(.timedOut))
        #expect(runningPrompts(named: "ostiary-pam").isEmpty)
    }

    @Test func `what a module has started ends with the attempt`() throws {
        try services.writeStarter("sleep 1000", isAwaited: false)
        var processID: pid_t?
        #expect(try services.recognize { processID = pid_t($0.text.string) } == .success(.recognized))
        let started = try #require(processID)
        try eventually("it ended") { !isRunning(started) }
    }

    @Test func `bytes that are no report end the attempt`() throws {
        try services.writeModule("garbage")
        #expect(try services.recognize() == .failure(.unexpected))
    }

    @Test func `a module that never stops talking is ended`() throws {
        try services.writeScript("yes")
        var count = 0
        #expect(try services.recognize { _ in count += 1 } == .failure(.unexpected))
        #expect(count == 201)
    }

    // MARK: cancelling

    @Test func `an attempt that is cancelled ends at once`() throws {
        try services.writeStarter("sleep 1000")
        let stop = try PollableCancellation()
        var processID: pid_t?
        let result = try services.recognize(until: stop) { text in
            processID = pid_t(text.text.string)
            stop.cancel()
        }
        #expect(result == .failure(.stopped))
        #expect(runningPrompts(named: "ostiary-pam").isEmpty)
        let module = try #require(processID)
        try eventually("the module ended") { !isRunning(module) }
    }

    @Test func `a result that came before the cancel was noticed does not count`() throws {
        try services.writeScript("echo begun")
        let stop = try PollableCancellation()
        let result = try services.recognize(until: stop) { _ in
            stop.cancel()
            try eventually("the helper ended") { runningPrompts(named: "ostiary-pam").isEmpty }
        }
        #expect(result == .failure(.stopped))
    }

    @Test func `nothing is started for an attempt that was cancelled before`() throws {
        try services.writeScript("touch \(services.folder.path)/begun")
        let stop = try PollableCancellation()
        stop.cancel()
        #expect(try services.recognize(until: stop) == .failure(.stopped))
        #expect(access(services.folder.path("begun"), F_OK) != 0)
    }

    // MARK: before it begins

    @Test func `a service file that is refused starts nothing`() throws {
        #expect(try services.recognize() == .failure(.service(.missing(services.folder.path("face")))))
        try services.write("auth required pam_permit.so\nauth required pam_permit.so\n")
        #expect(
            try services.recognize() == .failure(.service(.severalModules(services.folder.path("face"), line: 2))))
        #expect(throws: PAMFailure.service(.badName("../face"))) { try services.recognizer("../face").serviceFile() }
    }

    @Test func `without the helper nobody is recognised`() throws {
        try services.write("auth required pam_permit.so\n")
        let recognizer = services.recognizer(program: services.folder.path("ostiary-pam"))
        let reason = "the helper could not be started: posix_spawn \(services.folder.path("ostiary-pam")): "
        #expect(throws: PAMFailure.withoutHelper(reason: reason + "No such file or directory")) {
            try recognizer.recognize(until: PollableCancellation()) { _ in }
        }
    }
}
