import AccessControl
import Foundation
import OstiaryMessages
import PromptProtocol
import StoreTestSupport
import Testing

@testable import Broker
@testable import BrokerTestSupport

/// Where a context keeps what was proved, no answer counts once, and the question does not say so.
@Suite struct KeptAnswerTests {
    @Test func `a question says whether the program keeps the answer`() throws {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        let client = try fixture.client()
        try client.addItem(["acct": .text("me")], accessControl: .item(.passcode))
        let contexts = [
            (0, false), (try client.openContext(), false), (try client.openContext(keepingFactors: true), true),
        ]
        for (context, isKept) in contexts as [(UInt64, Bool)] {
            fixture.prompter.prepare([.text(BrokerFixture.passcode)])
            #expect(try client.itemData(TestClient.query(), use: TestClient.use(context)) == "data")
            #expect(fixture.prompter.asked.map(\.isKept) == [isKept])
        }
    }

    @Test func `a wrong entry does not change that`() throws {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        let client = try fixture.client()
        try client.addItem(["acct": .text("me")], accessControl: .item(.passcode))
        fixture.prompter.prepare([.text("wrong"), .text(BrokerFixture.passcode)])
        let context = try client.openContext(keepingFactors: true)
        _ = try client.itemData(TestClient.query(), use: TestClient.use(context))
        #expect(fixture.prompter.asked.map(\.isKept) == [true, true])
    }
}
