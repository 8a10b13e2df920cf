import AccessControl
import Crypto
import Foundation
import OstiaryMessages
import PromptProtocol
import Testing

@testable import BrokerTestSupport

@Suite("A right with a rule per operation")
struct OperationRuleTests {
    let fixture: BrokerFixture
    let client: TestClient

    init() throws {
        fixture = try BrokerFixture()
        try fixture.setPasscode()
        client = try fixture.client()
    }

    private func right(_ requirements: [AccessControl.Operation: Requirement]) throws -> WireRight {
        try client.create(
            "right", AccessControl(availability: .always, requirements: requirements), secret: "secret of right")
    }

    @Test func `what is not permitted is refused after the authorization too`() throws {
        let right = try right([.sign: Requirement(anyOf: [.passcode]), .read: .unrestricted])
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let context = try client.openContext()
        #expect(try client.authorize(right, in: context) == ["passcode"])
        #expect(try client.sign(right, in: context))
        #expect(try client.secret(of: right, in: context) == "secret of right")
        #expect(
            try refusal { _ = try client.decrypt(Data(count: 100), with: right, in: context) } == .operationNotPermitted
        )
        #expect(try refusal { _ = try client.exchange(right, in: context) } == .operationNotPermitted)
    }

    @Test func `one authorization covers all uses, so the strictest of them is asked for`() throws {
        let right = try right([.sign: Requirement(anyOf: [.passcode]), .read: .unrestricted])
        fixture.prompter.prepare([.cancel])
        let context = try client.openContext()
        #expect(try refusal { _ = try client.authorize(right, in: context) } == .userCancel)
        #expect(try refusal { _ = try client.secret(of: right, in: context) } == .notAuthorized)
        #expect(try refusal { _ = try client.sign(right, in: context) } == .notAuthorized)
    }

    @Test func `requirements of several operations are all asked for, each factor once`() throws {
        fixture.prompter.prepare(Array(repeating: .text(BrokerFixture.applicationPassword), count: 2))
        let right = try right([
            .sign: Requirement(anyOf: [[.passcode, .applicationPassword]]),
            .read: Requirement(anyOf: [.applicationPassword]), .decrypt: Requirement(anyOf: [.applicationPassword]),
        ])
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .text(BrokerFixture.applicationPassword)])
        let context = try client.openContext()
        #expect(try client.authorize(right, in: context) == ["passcode", "application-password"])
        #expect(fixture.prompter.askedKinds == [.enterPasscode, .applicationPassword])
        #expect(try client.sign(right, in: context))
        #expect(try client.secret(of: right, in: context) == "secret of right")
    }

    @Test func `without authorization nothing is done, in another context neither`() throws {
        let right = try right([.sign: .unrestricted, .read: .unrestricted, .keyExchange: .unrestricted])
        let authorized = try client.openContext()
        let other = try client.openContext()
        _ = try client.authorize(right, in: authorized)
        #expect(try client.exchange(right, in: authorized))
        for context in [other, 0, 999] {
            let expected: WireFailureCode = context == other ? .notAuthorized : .unknownContext
            #expect(try refusal { _ = try client.sign(right, in: context) } == expected)
            #expect(try refusal { _ = try client.secret(of: right, in: context) } == expected)
        }
        #expect(try refusal { _ = try fixture.client().sign(right, in: authorized) } == .unknownContext)
    }

    @Test(arguments: ["deauthorize", "lock", "remove"])
    func `a grant ends with`(what: String) throws {
        let right = try right([.sign: .unrestricted, .delete: .unrestricted])
        let context = try client.openContext()
        _ = try client.authorize(right, in: context)
        switch what {
        case "deauthorize": try client.deauthorize(context)
        case "lock": try fixture.client().lock()
        default: try fixture.client().remove("right")
        }
        #expect(try refusal { _ = try client.sign(right, in: context) } == .notAuthorized)
    }

    @Test func `a lock while the person is asked is not survived by the answer`() throws {
        let right = try right([.sign: Requirement(anyOf: [.passcode])])
        let other = try fixture.client()
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let path = fixture.socketPath
        fixture.prompter.duringNextQuestion { try? TestClient(socketPath: path).lock() }
        let context = try client.openContext()
        #expect(try refusal { _ = try client.authorize(right, in: context) } == .systemCancel)
        #expect(try refusal { _ = try client.sign(right, in: context) } == .notAuthorized)
        #expect(try !other.status().unlocked)
    }

    @Test func `a right that is removed while the person is asked is not granted`() throws {
        let right = try right([.sign: Requirement(anyOf: [.passcode]), .delete: .unrestricted])
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let path = fixture.socketPath
        fixture.prompter.duringNextQuestion { try? TestClient(socketPath: path).remove("right") }
        let context = try client.openContext()
        #expect(try refusal { _ = try client.authorize(right, in: context) } == .notFound)
        #expect(try refusal { _ = try client.sign(right, in: context) } == .notAuthorized)
    }

    @Test func `where asking is not allowed nobody is asked`() throws {
        let right = try right([.sign: Requirement(anyOf: [.passcode])])
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let context = try client.openContext()
        let code = try refusal {
            try client.authorize(rightID: right.rightID, in: context, interactive: false)
        }
        #expect(code == .notInteractive)
        #expect(fixture.prompter.asked.isEmpty)
    }
}
