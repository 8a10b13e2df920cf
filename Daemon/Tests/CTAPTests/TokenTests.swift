import AuthenticatorRequests
import CanonicalCBOR
import ExactNames
import Synchronization
import Testing

@testable import CTAP

/// How long tokens and lists stand, what they are good for, and what an authenticator holds between two commands.
@Suite final class TokenTests {
    private let storage = CountingStorage()
    private let seconds: Time
    private var authenticator: CTAPAuthenticator

    private final class Time: Sendable {
        private let now = Mutex(Duration.zero)
        var current: Duration { now.withLock { $0 } }
        func set(_ seconds: Int) { now.withLock { $0 = .seconds(seconds) } }
    }

    init() {
        let time = Time()
        seconds = time
        authenticator = .forTests(storage) { time.current }
    }

    private static let domain = "example.com"
    private static let hash = [UInt8](repeating: 7, count: 32)

    /// Gives a token, as a finger does, and no question before it.
    private func give(_ permissions: PINUserToken.Permissions, for domain: ExactName? = nil) {
        authenticator.token = PINUserToken(
            permissions, for: domain, isUserPresent: true, proof: nil, at: seconds.current)
    }

    private func code(_ message: [UInt8]) throws -> CBORValue {
        .bytes(PINProtocol.two.authenticationCode(message, key: try #require(authenticator.token).value))
    }

    private static let wrong = CBORValue.bytes([UInt8](repeating: 0, count: 32))

    private static func creation(
        of account: UInt8 = 1, named name: String = "ada", at domain: String = TokenTests.domain,
        isDiscoverable: Bool = true, code: CBORValue? = nil
    ) -> [UInt8] {
        [1]
            + CBORValue.map([
                1: .bytes(hash), 2: .map(["id": .text(domain)]),
                3: .map(["id": .bytes([account]), "name": .text(name)]),
                4: .array([.map(["alg": .number(-7), "type": .text("public-key")])]),
                7: .map(["rk": .boolean(isDiscoverable), "uv": code == nil ? .boolean(true) : nil]), 8: code,
                9: code.map { _ in .number(2) },
            ]).encoded
    }

    private static func assertion(at domain: String = TokenTests.domain, code: CBORValue? = nil) -> [UInt8] {
        [2] + CBORValue.map([1: .text(domain), 2: .bytes(hash), 6: code, 7: code.map { _ in .number(2) }]).encoded
    }

    private static func management(_ subcommand: Int, _ details: CBORValue? = nil, code: CBORValue? = nil) -> [UInt8] {
        [10]
            + CBORValue.map([
                1: .number(subcommand), 2: details, 3: code.map { _ in .number(2) }, 4: code,
            ]).encoded
    }

    private func make(_ account: UInt8, at domain: String = TokenTests.domain) {
        #expect(authenticator.status(Self.creation(of: account, at: domain)) == .success)
    }

    // MARK: how long

    @Test func `a code that does not fit lengthens no token`() throws {
        make(1)
        for command in [
            Self.management(1, code: Self.wrong), Self.creation(code: Self.wrong), Self.assertion(code: Self.wrong),
        ] {
            seconds.set(0)
            give(.credentialManagement)
            seconds.set(29)
            #expect(authenticator.status(command) == .pinAuthInvalid)
            let code = try code([1])
            seconds.set(30)
            #expect(authenticator.status(Self.management(1, code: code)) == .pinAuthInvalid)
            #expect(authenticator.token == nil)
        }
    }

    @Test func `a code for something else than the token permits lengthens no token`() throws {
        make(1)
        give([.getAssertion, .makeCredential], for: "example.org")
        seconds.set(29)
        let code = try code(Self.hash)
        #expect(authenticator.status(Self.assertion(code: code)) == .pinAuthInvalid)
        #expect(authenticator.status(Self.creation(code: code)) == .pinAuthInvalid)
        #expect(authenticator.status(Self.management(1, code: try self.code([1]))) == .pinAuthInvalid)
        seconds.set(30)
        #expect(authenticator.status(Self.assertion(at: "example.org", code: code)) == .pinAuthInvalid)
        #expect(authenticator.token == nil)
    }

    @Test func `a use makes half a minute ten minutes, and no more`() throws {
        make(1)
        give(.credentialManagement)
        let request = Self.management(1, code: try code([1]))
        for (time, status) in [(29, CTAPStatus.success), (300, .success), (628, .success), (629, .pinAuthInvalid)] {
            seconds.set(time)
            #expect(authenticator.status(request) == status, "after \(time) s")
        }
    }

    @Test(arguments: [2, 4])
    func `a list that nobody reads on is gone after half a minute`(_ subcommand: Int) throws {
        for (number, domain) in [(UInt8(1), "a.example"), (2, "b.example"), (3, "c.example")] {
            make(number, at: subcommand == 2 ? domain : Self.domain)
        }
        let hash = CBORValue.map([1: .bytes(AuthenticatorData.hash(of: ExactName(Self.domain)))])
        let details = subcommand == 4 ? hash : nil
        give(.credentialManagement)
        let code = try code([UInt8(subcommand)] + (details?.encoded ?? []))
        let first = Self.management(subcommand, details, code: code)
        let next = Self.management(subcommand + 1)
        for (waits, status) in [([29, 29], CTAPStatus.success), ([30], .notAllowed), ([29, 30], .notAllowed)] {
            var time = 0
            seconds.set(time)
            give(.credentialManagement)
            let code = try self.code([UInt8(subcommand)] + (details?.encoded ?? []))
            #expect(authenticator.status(Self.management(subcommand, details, code: code)) == .success)
            for (index, wait) in waits.enumerated() {
                time += wait
                seconds.set(time)
                #expect(authenticator.status(next) == (index == waits.count - 1 ? status : .success), "\(waits)")
            }
        }
        #expect(authenticator.status(first) == .pinAuthInvalid)
    }

    @Test func `a list that nobody reads on is wiped without another command`() throws {
        for domain in ["a.example", "b.example"] { make(1, at: domain) }
        give(.credentialManagement)
        #expect(authenticator.status(Self.management(2, code: try code([2]))) == .success)
        seconds.set(29)
        authenticator.dropExpired()
        #expect(authenticator.enumeration != nil)
        seconds.set(30)
        authenticator.dropExpired()
        #expect(authenticator.enumeration == nil)
    }

    // MARK: replacing

    @Test func `a question to make a credential names the account whose credential that destroys`() {
        make(1)
        #expect(storage.questions.map(\.replaced) == [[]])
        #expect(authenticator.status(Self.creation(named: "bob")) == .success)
        #expect(storage.questionCount == 2)
        #expect(storage.questions.last?.replaced.map(\.name) == ["ada"])
        #expect(storage.questions.last?.user?.name == "bob")
        #expect(storage.replaced.count == 1 && storage.credentials().count == 1)
    }

    @Test func `a token destroys no credential without a question that names its account`() throws {
        make(1)
        let former = storage.credentials().map(\.identifier)
        give(.makeCredential, for: ExactName(Self.domain))
        #expect(authenticator.status(Self.creation(named: "bob", code: try code(Self.hash))) == .success)
        #expect(storage.questionCount == 2)
        #expect(storage.questions.last?.purpose == .makeCredential)
        #expect(storage.questions.last?.replaced.map(\.name) == ["ada"])
        #expect(storage.replaced == former)
    }

    @Test func `who does not agree keeps the credential, and no new one is made`() throws {
        make(1)
        let former = storage.credentials().map(\.identifier)
        storage.refuseAll()
        give(.makeCredential, for: ExactName(Self.domain))
        #expect(authenticator.status(Self.creation(code: try code(Self.hash))) == .operationDenied)
        #expect(authenticator.status(Self.creation()) == .operationDenied)
        #expect(storage.credentials().map(\.identifier) == former && storage.replaced.isEmpty)
        #expect(storage.signatureCount == 1)
    }

    @Test func `a token makes without another question what destroys nothing`() throws {
        make(1)
        let requests: [(UInt8, String, Bool)] = [
            (2, Self.domain, true), (1, "example.org", true), (1, Self.domain, false),
        ]
        for (account, domain, isDiscoverable) in requests {
            give(.makeCredential, for: ExactName(domain))
            let before = storage.questionCount
            let creation = Self.creation(
                of: account, at: domain, isDiscoverable: isDiscoverable, code: try code(Self.hash))
            #expect(authenticator.status(creation) == .success)
            #expect(storage.questionCount == before && storage.replaced.isEmpty)
        }
        #expect(storage.credentials().count == 4)
    }

    @Test func `a credential that comes while the user is asked is not destroyed`() throws {
        make(1)
        let former = storage.credentials().map(\.identifier)
        storage.duringNextQuestion { [storage] in
            var other = CTAPAuthenticator.forTests(storage)
            #expect(other.status(Self.creation(of: 9, at: "example.org")) == .success)
            #expect(other.status(Self.creation(named: "carol")) == .success)
        }
        #expect(authenticator.status(Self.creation(named: "bob")) == .success)
        // The other client's question was the one that named the first one; this client's question named it too.
        #expect(Set(storage.replaced) == Set(former))
        #expect(
            Set(storage.credentials().compactMap(\.user.name)) == ["ada", "bob", "carol"],
            "that of example.org is called ada")
    }

    @Test func `an assertion reads the credentials once, with a question and with a token`() throws {
        make(1)
        var before = storage.readCount
        #expect(authenticator.status(Self.assertion()) == .success)
        #expect(storage.readCount == before + 1)
        give(.getAssertion, for: ExactName(Self.domain))
        before = storage.readCount
        #expect(authenticator.status(Self.assertion(code: try code(Self.hash))) == .success)
        #expect(storage.readCount == before + 1)
    }

    @Test func `a credential that is removed during the question leaves its place to the next one`() throws {
        make(1)
        make(2)
        let newest = try #require(storage.credentials().first?.identifier)
        storage.duringNextQuestion { [storage] in storage.remove(newest) }
        let before = storage.signatureCount
        #expect(authenticator.status(Self.assertion()) == .success)
        #expect(storage.signatureCount == before + 1)
    }

    @Test func `when each credential is removed during the question, there is none`() throws {
        make(1)
        storage.duringNextQuestion { [storage] in
            for credential in storage.credentials() { storage.remove(credential.identifier) }
        }
        #expect(authenticator.status(Self.assertion()) == .noCredentials)
    }

    // MARK: between two commands

    @Test func `between two commands it holds neither storage nor user, and does nothing`() throws {
        make(1)
        make(2)
        var storage: CountingStorage? = CountingStorage()
        weak let held = storage
        authenticator.use(try #require(storage), try #require(storage))
        #expect(authenticator.status(Self.creation()) == .success)
        authenticator.rest()
        storage = nil
        #expect(held == nil)
        #expect(authenticator.status([11]) == .operationDenied)
        for request in [Self.creation(), Self.assertion(), [4]] { #expect(authenticator.status(request) != .success) }
    }

    @Test func `what waits for the next command is there after a rest`() throws {
        make(1)
        make(2)
        #expect(authenticator.status(Self.assertion()) == .success)
        give(.credentialManagement)
        authenticator.rest()
        authenticator.use(storage, storage)
        #expect(authenticator.status([8]) == .success)
        #expect(authenticator.status(Self.management(1, code: try code([1]))) == .success)
    }

    // MARK: what stands

    @Test func `what a client may do without another question is told, and for how long`() throws {
        make(1)
        make(2)
        #expect(authenticator.liveAuthorizations.isEmpty)
        give([.makeCredential, .getAssertion], for: ExactName(Self.domain))
        let signing = try #require(authenticator.liveAuthorizations.first)
        #expect(signing.operations == [.make, .sign] && signing.relyingParty == ExactName(Self.domain))
        #expect(signing.number != 0 && signing.end == .seconds(30))
        #expect(authenticator.status(Self.assertion(code: try code(Self.hash))) == .success)
        // The token is used up; the other account waits.
        let waiting = authenticator.liveAuthorizations
        #expect(waiting.map(\.operations) == [[.sign]] && waiting.map(\.relyingParty) == [ExactName(Self.domain)])
        #expect(authenticator.status([8]) == .success)
        #expect(authenticator.liveAuthorizations.isEmpty)
        give(.credentialManagement)
        #expect(authenticator.liveAuthorizations.map(\.end) == [.seconds(30)])
        #expect(authenticator.status(Self.management(1, code: try code([1]))) == .success)
        #expect(authenticator.liveAuthorizations.map(\.end) == [.seconds(600)])
        #expect(authenticator.liveAuthorizations.map(\.operations) == [[.manage]])
        seconds.set(600)
        #expect(authenticator.liveAuthorizations.isEmpty)
    }
}
