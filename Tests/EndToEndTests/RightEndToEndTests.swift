import DaemonTestSupport
import Foundation
import Testing

/// Apps written against Apple's names, on a terminal, against the real daemon.
@Suite("Rights, end to end", .serialized)
struct RightEndToEndTests {
    private static let passcode = PrivateDaemon.passcode
    private let daemon: PrivateDaemon

    init() throws {
        daemon = try PrivateDaemon(.withPasscode)
    }

    /// The scenario's lines of the form `name: outcome`, without what the prompts drew.
    private func run(_ scenario: String, answers: [String] = []) throws -> [String] {
        let run = try PlayedTerminal(
            BuiltProgram.named("right-scenarios"), [scenario], answers: answers, in: daemon)
        #expect(run.status == 0, "\(run.screen)")
        return run.screen.split(whereSeparator: \.isNewline).map(String.init).filter {
            $0.range(of: #"^[a-z][a-z0-9 ]*: "#, options: .regularExpression) != nil
        }
    }

    @Test func `a key signs while its right is authorized, and at no other time`() throws {
        #expect(
            try run("life-cycle", answers: [Self.passcode]) == [
                "at first: 0", "check: ok", "after check: 0", "sign before: LAError -1", "authorize: ok",
                "authorized: 2", "sign after: ok", "deauthorized: 3", "sign deauthorized: LAError -1",
            ])
    }

    @Test func `a wrong passcode authorizes nothing`() throws {
        #expect(
            try run("life-cycle", answers: ["wrong horse 1", "wrong horse 2", "wrong horse 3"]) == [
                "at first: 0", "check: ok", "after check: 0", "sign before: LAError -1", "authorize: LAError -1",
                "authorized: 3", "sign after: LAError -1", "deauthorized: 3", "sign deauthorized: LAError -1",
            ])
    }

    @Test func `an authorization belongs to the instance and ends with the stored right`() throws {
        #expect(
            try run("fetched", answers: [Self.passcode]) == [
                "other state: 0", "sign with other: LAError -1", "sign with first: ok",
                "sign removed: LAError -1",
            ])
    }

    @Test(.timeLimit(.minutes(10)))
    func `a program is told when its grant ends, by use, time, owner, lock and the daemon's end`() throws {
        #expect(
            try run("limits", answers: Array(repeating: Self.passcode, count: 6)) == [
                "used up: 3", "used up again: LAError -1", "idle: 3", "idle again: LAError -1", "too old: 3",
                "too old again: LAError -1", "revoked: 3", "revoked again: LAError -1", "locked: 3",
                "locked again: LAError -1", "killed: 3", "killed again: LAError -1",
            ])
    }

    @Test func `keys sign, decrypt and exchange, each only with its own partner`() throws {
        #expect(
            try run("keys", answers: [Self.passcode, Self.passcode]) == [
                "public key: 65", "verify: ok", "verify other: NSOSStatusErrorDomain -67808", "decrypt: ok",
                "decrypt with other: NSOSStatusErrorDomain -50", "exchange: equal",
                "sign with ecies: NSOSStatusErrorDomain -50",
            ])
    }

    @Test func `a secret is readable only while its right is authorized, and is no larger than documented`() throws {
        #expect(
            try run("secret", answers: [Self.passcode, Self.passcode]) == [
                "before: LAError -1", "after: the secret", "all of the room: ok", "more: NSOSStatusErrorDomain -50",
                "more: NSOSStatusErrorDomain -50", "found: NSOSStatusErrorDomain -25300",
                "none: NSOSStatusErrorDomain -25300",
            ])
    }

    @Test func `the store keeps an existing right and names what it does not have`() throws {
        #expect(
            try run("store") == [
                "duplicate: NSOSStatusErrorDomain -25299", "kept: same key", "unknown: NSOSStatusErrorDomain -25300",
                "remove unknown: NSOSStatusErrorDomain -25300", "remove: ok", "removed: NSOSStatusErrorDomain -25300",
                "remove all: ok", "all removed: NSOSStatusErrorDomain -25300",
            ])
    }

    @Test func `policies ask for the passcode once per context and never pretend a sensor`() throws {
        #expect(
            try run("policies", answers: [Self.passcode]) == [
                "can owner: true 0", "can biometrics: false -6", "owner: ok", "owner again: ok",
                "biometrics: LAError -6", "not interactive: LAError -1004", "invalidated: LAError -10",
            ])
    }

    @Test func `contexts and rights that are dropped at once still ask and reply`() throws {
        #expect(
            try run("dropped", answers: [Self.passcode, Self.passcode]) == ["policy: true", "right: true"])
    }

    @Test func `biometry is not available, and its fallback works`() throws {
        #expect(
            try run("requirements", answers: [Self.passcode]) == [
                "biometry: LAError -6", "current set: LAError -6", "default: ok", "authorize: ok", "state: 2",
                "save biometry: LAError -6",
            ])
    }
}
