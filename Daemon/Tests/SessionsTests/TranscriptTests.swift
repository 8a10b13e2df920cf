import AccessControl
import Crypto
import Foundation
import OstiaryMessages
import OstiaryWire
import PromptProtocol
import Testing
import UnixSocket
import WireTranscripts

@testable import BrokerTestSupport

/// The daemon of today with programs of former versions. They send recorded bytes, and it must answer with recorded bytes.
@Suite("Programs of former versions", .timeLimit(.minutes(10)))
struct TranscriptTests {
    private let fixture: BrokerFixture

    init() throws { fixture = try BrokerFixture() }

    /// A connection on which an answer that does not come fails the test.
    private func connect() throws -> UnixSocket {
        let socket = try UnixSocket.connect(to: fixture.socketPath)
        try socket.setReceiveTimeout(seconds: 60)
        return socket
    }

    @Test func `each version that is spoken besides the newest has its transcript`() {
        let own = ProtocolVersions.ofThisBuild
        #expect(WireTranscript.versions == Array(own.oldest..<own.newest))
    }

    @Test(arguments: WireTranscript.versions)
    func `a program of a former version gets the answers of then, byte by byte`(version: UInt32) throws {
        try fixture.setPasscode()
        let client = try fixture.client()
        let right = try client.create("golden", AccessControl(availability: .always, using: .unrestricted))
        try client.addItem(["acct": .text("n\u{E9}")], data: Data("secret".utf8))
        let bound = try Requirement(anyOf: [FactorSet.passcode])
        try client.addItem(["acct": .text("bound")], data: Data("secret".utf8), accessControl: .item(bound))
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        var values: [String: [UInt8]] = [:]
        try WireTranscript.ofProtocol(version).play(.program, on: connect(), values: &values)
        #expect(fixture.prompter.askedKinds == [.enterPasscode])
        #expect(values["right"] == Array(right.rightID) && values["public-key"] == Array(right.publicKey))
        let signature = try P256.Signing.ECDSASignature(derRepresentation: #require(values["signature"]))
        let key = try P256.Signing.PublicKey(x963Representation: right.publicKey)
        #expect(key.isValidSignature(signature, for: SHA256.hash(data: Data("challenge".utf8))))
    }

    // MARK: frames of another version than the agreed one

    private static func request(_ id: UInt64, _ body: WireRequest.OneOf_Body) -> WireRequest {
        .with { ($0.id, $0.body) = (id, body) }
    }

    @Test(arguments: [(7, 8), (8, 7)] as [(UInt32, UInt32)])
    func `a frame of another version than the agreed one ends the connection`(agreed: UInt32, other: UInt32) throws {
        let socket = try connect()
        var reader = FrameReader(socket: socket)
        let greeting = try reader.next(WireGreeting.self).message
        #expect(greeting.versions == .ofThisBuild)
        let hello = WireHello.with { ($0.protocolVersion, $0.nonce) = (agreed, greeting.nonce) }
        try FrameWriter.send(Self.request(1, .hello(hello)), on: socket)
        let accepted = try reader.next(WireReply.self).message
        #expect(accepted.body == .done(.init()))
        let find = Self.request(2, .findItems(.init()))
        try FrameWriter.send(find, in: agreed, on: socket)
        let answer = try reader.next(WireReply.self).message
        #expect(answer.id == 2)
        try FrameWriter.send(find, in: other, on: socket)
        #expect(throws: FrameReadError.closed) { _ = try reader.next(WireReply.self) }
    }
}
