import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// The same program at two paths that people cannot tell apart: `café` with one character for the é, and with two. For the kernel
/// these are two files, so they are two programs for everything that the daemon decides by a program's name.
@Suite(.timeLimit(.minutes(10))) struct SpellingTests {
    private let stage: RegistrationStage
    /// The path in Unicode's form C, and in form D.
    private let (composed, decomposed): (String, String)

    init() throws {
        stage = try RegistrationStage()
        let root = stage.daemon.folders.root
        for name in ["caf\u{E9}", "cafe\u{301}"] {
            try FileManager.default.createDirectory(atPath: root.path(name), withIntermediateDirectories: false)
            try FileManager.default.copyItem(atPath: Caller.program, toPath: root.path(name) + "/tool")
        }
        (composed, decomposed) = (root.path("caf\u{E9}") + "/tool", root.path("cafe\u{301}") + "/tool")
        try #require(composed == decomposed && !composed.utf8.elementsEqual(decomposed.utf8))
    }

    private func tool(_ path: String) throws -> RawClient { try stage.tool(path).client }

    private static func makeKey() -> WireRequest.OneOf_Body {
        .createKey(
            .with {
                $0.kind = .p256
                $0.accessControl = Data(
                    AccessControl(availability: .whenUnlocked, using: .unrestricted).canonicalBytes)
            })
    }

    @Test func `are two programs with rights of their own`() throws {
        let (one, other) = (try tool(composed), try tool(decomposed))
        #expect(try one.status().caller.program.utf8.elementsEqual(composed.utf8))
        #expect(try other.status().caller.program.utf8.elementsEqual(decomposed.utf8))
        let right = try #require(try one.ask(.createRight("mine", .unrestricted, hasSecret: true), tail: [1, 2]).right)
        #expect(try other.ask(.findRight("mine")).refusal == .notFound)
        if case .rights(let list)? = try other.ask(.listRights(.init())).body { #expect(list.rights.isEmpty) }
        let context = try other.openContext()
        for body in [
            WireRequest.OneOf_Body.authorize(right.rightID, in: context),
            .removeRight(.with { $0.which = .rightID(right.rightID) }),
        ] { #expect(try other.ask(body).refusal == .notFound) }
        #expect(try other.ask(.createRight("mine", .unrestricted)).right != nil, "the name is free")
        if case .done(let done)? = try other.ask(.removeAllRights(.init())).body { #expect(done.count == 1) }
        #expect(try one.ask(.findRight("mine")).right?.rightID == right.rightID)
    }

    @Test func `are two programs with keys and items of their own`() throws {
        let (one, other) = (try tool(composed), try tool(decomposed))
        guard case .key(let key)? = try one.ask(Self.makeKey()).body else {
            Issue.record("no key")
            return
        }
        #expect(try one.ask(.addItem("account", in: nil), tail: [7]).items?.count == 1)
        #expect(try other.ask(.findKey(.with { $0.keyID = key.keyID })).refusal == .notFound)
        #expect(
            try other.ask(.removeKey(.with { ($0.keyID, $0.question) = (key.keyID, .reason("x")) })).refusal
                == .notFound)
        let context = try other.openContext()
        #expect(try other.ask(.authorize(key.keyID, in: context)).refusal == .notFound)
        #expect(try other.ask(.findItems()).refusal == .notFound)
        #expect(try other.ask(.findItems(in: composed)).refusal == .missingEntitlement)
        #expect(try other.ask(.deleteItems("account")).refusal == .notFound)
        let claim = WireRequest.OneOf_Body.addItem(
            .with { ($0.itemClass, $0.keyID) = ("keys", key.keyID) })
        #expect(try other.ask(claim).refusal == .notFound)
        #expect(try one.ask(.findKey(.with { $0.keyID = key.keyID })).refusal == nil)
        #expect(try one.ask(.findItems()).tail == [7])
    }

    @Test func `are registered one by one`() throws {
        try stage.register(composed, as: "com.example.one", groups: ["com.example.shared"])
        #expect(try tool(composed).status().caller.applicationID == "com.example.one")
        let other = try tool(decomposed).status().caller
        #expect(other.applicationID.isEmpty && !other.accessGroups.contains("com.example.shared"))
        try stage.register(decomposed, as: "com.example.other", groups: [])
        #expect(try tool(decomposed).status().caller.applicationID == "com.example.other")
        #expect(try tool(composed).status().caller.applicationID == "com.example.one")
    }

    @Test func `only the registered browser is a browser`() throws {
        stage.terminal.clearScreen()
        let id = try stage.owner.client.send(
            .registerApplication(
                .with {
                    ($0.path, $0.applicationID, $0.isBrowser) = (composed, "com.example.browser", true)
                    $0.question = .reason("to test")
                }), descriptor: stage.terminal.slave.number)
        stage.terminal.answer("Type yes to go on: ", with: "yes")
        try #require(try stage.owner.client.answer(to: id).refusal == nil)
        let information: [UInt8] = [4]
        #expect(try tool(composed).ask(.authenticatorCommand(.init()), tail: information).refusal == nil)
        let answer = try tool(decomposed).ask(.authenticatorCommand(.init()), tail: information)
        #expect(answer.refusal == .missingEntitlement && answer.cause == "browser.not-registered")
    }

    @Test func `a revocation for one leaves the other's contexts`() throws {
        let one = try tool(composed)
        let right = try #require(try one.ask(.createRight("mine", .unrestricted)).right).rightID
        let context = try one.openContext()
        #expect(try one.ask(.authorize(right, in: context)).factors == [])
        let revocation = try stage.owner.client.ask(.revokeGrants(.with { $0.which = .program(decomposed) }))
        #expect(revocation.refusal == .notFound)
        #expect(try one.ask(.sign(right, in: context), tail: WireRequest.OneOf_Body.digest).isDone)
        #expect(try stage.owner.client.ask(.revokeGrants(.with { $0.which = .program(composed) })).refusal == nil)
        #expect(
            try one.ask(.sign(right, in: context), tail: WireRequest.OneOf_Body.digest).refusal == .notAuthorized)
    }

    @Test func `a link of one spelling to a folder of the other is a link`() throws {
        let root = stage.daemon.folders.root
        let real = root.path("e\u{301}")
        try FileManager.default.createDirectory(atPath: real, withIntermediateDirectories: false)
        try FileManager.default.copyItem(atPath: Caller.program, toPath: real + "/tool")
        try #require(symlink(real, root.path("\u{E9}")) == 0)
        let request = WireRegisterApplicationRequest.with {
            ($0.path, $0.applicationID) = (root.path("\u{E9}") + "/tool", "com.example.linked")
            $0.question = .reason("to test")
        }
        let answer = try stage.owner.client.ask(.registerApplication(request))
        #expect(answer.refusal == .invalidParameter && answer.cause == "application.path")
    }
}
