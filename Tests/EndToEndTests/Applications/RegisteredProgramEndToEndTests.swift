import DaemonTestSupport
import Foundation
import Testing

/// Programs of one user that call the keychain, registered by the owner on a terminal, on a real daemon. Cases are
/// those of the acceptance list, by their numbers.
@Suite("Registered programs, end to end", .serialized)
struct RegisteredProgramEndToEndTests {
    private let daemon: PrivateDaemon
    private let mail: ProgramCopy
    private let news: ProgramCopy

    init() throws {
        daemon = try PrivateDaemon()
        mail = try ProgramCopy(of: "keychain-calls", as: "mail", in: daemon)
        news = try ProgramCopy(of: "keychain-calls", as: "news", in: daemon)
    }

    private func ostiary(_ arguments: [String], answers: [String]) throws {
        let run = try PlayedTerminal(BuiltProgram.named("ostiary"), arguments, answers: answers, in: daemon)
        try #require(run.status == 0, "\(run.screen)")
    }

    /// The owner says yes; no passcode is set.
    private func register(_ program: ProgramCopy, _ id: String, _ groups: [String] = []) throws {
        let options = ["--id", id] + groups.flatMap { ["--group", $0] }
        try ostiary(["app", "register", program.url.path] + options, answers: ["yes"])
    }

    private func adopt(_ program: ProgramCopy, as id: String? = nil) throws {
        try ostiary(["app", "adopt", program.url.path] + (id.map { ["--id", $0] } ?? []), answers: ["yes"])
    }

    @Test func `case 35: an item of each of two groups is found by its label without naming a group`() throws {
        try register(mail, "com.example.mail", ["com.example.one", "com.example.two"])
        #expect(try mail.run("add", "first") == ["add: 0"])
        #expect(try mail.run("add", "second", "com.example.two") == ["add: 0"])
        #expect(try mail.run("find", "first") == ["find: 0", "data: first"])
        #expect(try mail.run("find", "second") == ["find: 0", "data: second"])
        #expect(
            try mail.run("list", "all") == [
                "list: 0", "found: first in com.example.one", "found: second in com.example.two",
            ])
        #expect(try mail.run("list", "all", "com.example.two") == ["list: 0", "found: second in com.example.two"])
        #expect(try mail.run("list", "all", "com.example.mail") == ["list: -25300"])
    }

    @Test func `case 36: an item in a group that the program is not in is not found by its label`() throws {
        try register(mail, "com.example.mail", ["com.example.one"])
        try register(news, "com.example.news", ["com.example.two"])
        #expect(try mail.run("add", "secret") == ["add: 0"])
        #expect(try news.run("find", "secret") == ["find: -25300"])
        #expect(try news.run("list", "all") == ["list: -25300"])
        #expect(try news.run("delete", "secret") == ["delete: -25300"])
        #expect(try news.run("update", "secret") == ["update: -25300"])
        #expect(try mail.run("find", "secret") == ["find: 0", "data: secret"])
    }

    @Test func `cases 39 and 40: a group that the program is not in is refused by name`() throws {
        try register(mail, "com.example.mail", ["com.example.one"])
        try register(news, "com.example.news")
        #expect(try mail.run("add", "secret") == ["add: 0"])
        #expect(try news.run("add", "own") == ["add: 0"])
        for group in ["com.example.one", "com.example.mail", "of.nobody", mail.url.path, news.url.path] {
            for call in ["add", "find", "update", "delete", "list", "move"] {
                #expect(try news.run(call, "own", group) == ["\(call): -34018"], "\(group)")
            }
        }
        #expect(try news.run("list", "all") == ["list: 0", "found: own in com.example.news"])
    }

    @Test func `case 42: an item that names no group lands in the first of the registration, before the program's id`()
        throws
    {
        try register(mail, "com.example.mail", ["com.example.associated", "com.example.other"])
        try register(news, "com.example.news")
        #expect(try mail.run("add", "mine") == ["add: 0"])
        #expect(try mail.run("list", "all") == ["list: 0", "found: mine in com.example.associated"])
        #expect(try mail.run("find", "mine", "com.example.mail") == ["find: -25300"])
        #expect(try news.run("add", "mine") == ["add: 0"])
        #expect(try news.run("list", "all") == ["list: 0", "found: mine in com.example.news"])
    }

    @Test func `programs with a group in common share its items, and nothing else`() throws {
        try register(mail, "com.example.mail", ["com.example.shared"])
        try register(news, "com.example.news", ["com.example.shared"])
        #expect(try mail.run("add", "shared") == ["add: 0"])
        #expect(try mail.run("add", "private", "com.example.mail") == ["add: 0"])
        #expect(try news.run("list", "all") == ["list: 0", "found: shared in com.example.shared"])
        #expect(try news.run("find", "shared") == ["find: 0", "data: shared"])
        #expect(try news.run("find", "private") == ["find: -25300"])
        #expect(try news.run("move", "shared", "com.example.news") == ["move: 0"])
        #expect(try mail.run("find", "shared") == ["find: -25300"], "it was taken out of the group")
        #expect(try news.run("delete", "shared") == ["delete: 0"])
    }

    @Test func `programs without a registration see their own items alone`() throws {
        #expect(try mail.run("add", "secret") == ["add: 0"])
        #expect(try news.run("find", "secret") == ["find: -25300"])
        #expect(try news.run("find", "secret", mail.url.path) == ["find: -34018"])
        #expect(try mail.run("list", "all") == ["list: 0", "found: secret in \(mail.url.path)"])
        // A registration is another application than the path was.
        try register(mail, "com.example.mail")
        #expect(try mail.run("find", "secret") == ["find: -25300"])
        #expect(try mail.run("find", "secret", mail.url.path) == ["find: -34018"])
        try ostiary(["app", "remove", "com.example.mail"], answers: ["yes"])
        #expect(try mail.run("find", "secret") == ["find: 0", "data: secret"])
    }

    /// No program is without a group here; to one that was replaced, those of its registration are closed.
    @Test func `cases 37 and 38: a replaced program is another one until the owner adopts it, and hears how`() throws {
        try register(mail, "com.example.mail", ["com.example.one"])
        #expect(try mail.run("add", "secret") == ["add: 0"])
        try mail.rebuild()
        for call in ["add", "find", "update", "delete", "list", "move"] {
            #expect(try mail.run(call, "secret", "com.example.one") == ["\(call): -34018"])
            #expect(try mail.run(call, "secret") == ["\(call): -34018"])
        }
        let refused = try mail.run("make-key", "key")
        #expect(refused.first == "make key: -34018")
        #expect(refused.last?.contains("ostiary app adopt \(mail.url.path)") == true, "\(refused)")
        try adopt(mail)
        #expect(try mail.run("find", "secret") == ["find: 0", "data: secret"])
        #expect(try mail.run("make-key", "key") == ["make key: 0"])
        #expect(try mail.run("sign", "key") == ["sign: 0"])
    }

    @Test func `a copied program is another one until the owner adopts it in the place of the first`() throws {
        try register(mail, "com.example.mail", ["com.example.one"])
        #expect(try mail.run("add", "secret") == ["add: 0"])
        let copy = try ProgramCopy(of: "keychain-calls", as: "copy", in: daemon)
        #expect(try copy.run("find", "secret") == ["find: -25300"])
        #expect(try copy.run("find", "secret", "com.example.one") == ["find: -34018"])
        #expect(try copy.run("delete", "secret") == ["delete: -25300"])
        try adopt(copy, as: "com.example.mail")
        #expect(try copy.run("find", "secret") == ["find: 0", "data: secret"])
        #expect(try mail.run("find", "secret") == ["find: -25300"], "one application has one program")
    }

    @Test func `a key of the enclave belongs to the group that its maker names`() throws {
        try register(mail, "com.example.mail", ["com.example.one", "com.example.two"])
        try register(news, "com.example.news", ["com.example.two"])
        #expect(try mail.run("make-key", "shared", "com.example.two") == ["make key: 0"])
        #expect(try mail.run("make-key", "first") == ["make key: 0"])
        #expect(try mail.run("sign", "shared") == ["sign: 0"])
        #expect(try mail.run("sign", "first") == ["sign: 0"])
        #expect(try news.run("sign", "shared") == ["sign: 0"], "it is in this group alone")
        #expect(try news.run("sign", "first") == ["sign: -25300"])
        let foreign = try news.run("make-key", "mine", "com.example.one")
        #expect(foreign.first == "make key: -34018")
        #expect(try news.run("sign", "mine") == ["sign: -25300"])
    }

    @Test func `a key that only another program can use hides none`() throws {
        try register(mail, "com.example.mail", ["com.example.shared"])
        try register(news, "com.example.news", ["com.example.shared"])
        #expect(try news.run("make-key", "release", "com.example.news") == ["make key: 0"])
        #expect(try news.run("move-key", "release", "com.example.shared") == ["move key: 0"])
        #expect(try mail.run("count-keys", "all") == ["count keys: -25300", "keys: 0"])
        #expect(try mail.run("sign", "release") == ["sign: -25300"])
        for label in ["release", "other"] {
            #expect(try mail.run("make-software-key", label) == ["make software key: 0"])
        }
        #expect(try mail.run("count-keys", "all") == ["count keys: 0", "keys: 2"])
        #expect(try mail.run("sign", "release") == ["sign: 0"], "the other program's comes first, and does not count")
        #expect(try news.run("count-keys", "all") == ["count keys: 0", "keys: 3"])
        #expect(try mail.run("count-keys", "all", "com.example.shared") == ["count keys: 0", "keys: 2"])
    }

    @Test func `a prompt names a registered program by its id beside the path`() throws {
        try register(mail, "com.example.mail")
        let passcode = PrivateDaemon.passcode
        try ostiary(["passcode", "set"], answers: [passcode, passcode])
        for (program, isRegistered) in [(mail, true), (news, false)] {
            #expect(try program.run("protect", "secret") == ["protect: 0"])
            let run = try PlayedTerminal(program.url, ["find", "secret"], answers: [passcode], in: daemon)
            #expect(run.screen.contains("find: 0"), "\(run.screen)")
            #expect(run.shows("Known as com.example.mail For") == isRegistered, "\(run.screen)")
            #expect(run.shows("Known as") == isRegistered)
            #expect(run.shows("Program \(program.url.path) (process"))
        }
    }

    @Test func `a passcode that is proved in a context counts for its searches until it is invalidated`() throws {
        let passcode = PrivateDaemon.passcode
        try ostiary(["passcode", "set"], answers: [passcode, passcode])
        #expect(try mail.run("protect", "secret") == ["protect: 0"])
        // More answers than there are to be prompts, so that one more would be seen.
        let shown = try mail.runShowingPrompts(
            "context", "secret", answers: Array(repeating: passcode, count: 7))
        #expect(
            shown == [
                "prompt", "first in a context: 0", "data: secret", "again in it: 0", "data: secret",
                "prompt", "evaluate: 0", "evaluated before: 0", "data: secret", "invalidated: -25293",
                "prompt", "without one: 0", "data: secret", "prompt", "without one again: 0", "data: secret",
            ])
    }

    @Test func `case 88: a person who breaks off is not asked again, and the call says so`() throws {
        let passcode = PrivateDaemon.passcode
        try ostiary(["passcode", "set"], answers: [passcode, passcode])
        #expect(try mail.run("protect", "secret") == ["protect: 0"])
        #expect(try mail.run("find", "secret", answers: ["\u{3}"]) == ["find: -128"])
        #expect(try news.run("protect", "other") == ["protect: 0"])
        #expect(try news.run("find", "other", answers: [passcode]) == ["find: 0", "data: other"])
        #expect(try news.runUnattended("find", "other") == ["find: -25308"], "nobody can be asked")
        let wrong = ["wrong 1", "wrong 2", "wrong 3"]
        #expect(try news.run("find", "other", answers: wrong) == ["find: -25293"], "that is no cancelling")
    }
}
