import AccessControl
import Crypto
import Dispatch
import Foundation
import OstiaryMessages
import SecretMemory
import Testing

@testable import Broker
@testable import BrokerTestSupport

/// An enclave that does not answer at once, as a chip.
@Suite("An enclave", .timeLimit(.minutes(10)))
struct SlowEnclaveTests {
    enum Use: CaseIterable { case sign, decrypt, exchange, decapsulate }

    private static let always = AccessControl(availability: .always, using: .unrestricted)
    private let interlude = Interlude()

    private func fixture(isImmediate: Bool) throws -> BrokerFixture {
        try BrokerFixture(around: { [interlude] enclave in
            InterludeEnclave(enclave: enclave, interlude: interlude, isImmediate: isImmediate)
        })
    }

    /// A request that uses a key which is authorized in a context of the client.
    private func request(_ use: Use, _ client: TestClient) throws -> (body: WireRequest.OneOf_Body, tail: Data) {
        let context = try client.openContext()
        guard use != .decapsulate else {
            let key = try client.createKey(.mlKem768, Self.always)
            try client.authorize(rightID: key.keyID, in: context)
            let made = try MLKEM768.PublicKey(rawRepresentation: key.publicKey).encapsulate()
            return (.decapsulate(.with { ($0.contextID, $0.keyID) = (context, key.keyID) }), made.encapsulated)
        }
        let right = try client.create("right", Self.always, replace: true)
        try client.authorize(rightID: right.rightID, in: context)
        let peer = P256.KeyAgreement.PrivateKey().publicKey.x963Representation
        switch use {
        case .exchange, .decapsulate:
            let request = WireExchangeRequest.with {
                ($0.contextID, $0.rightID, $0.peerPublicKey) = (context, right.rightID, peer)
                $0.algorithm = "algid:keyexchange:ECDH"
            }
            return (.exchange(request), Data())
        case .sign:
            let request = WireSignRequest.with {
                ($0.contextID, $0.rightID) = (context, right.rightID)
                $0.algorithm = "algid:sign:ECDSA:digest-X962:SHA256"
            }
            return (.sign(request), Data(SHA256.hash(data: Data())))
        case .decrypt:
            // The key is used, and then nothing comes out.
            let request = WireDecryptRequest.with {
                ($0.contextID, $0.rightID) = (context, right.rightID)
                $0.algorithm = "algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM"
            }
            return (.decrypt(request), peer + Data(count: 32))
        }
    }

    @Test(arguments: Use.allCases)
    func `that is slow keeps nothing waiting but the request that uses it`(use: Use) throws {
        let fixture = try fixture(isImmediate: false)
        defer { withExtendedLifetime(fixture) {} }
        let client = try fixture.client()
        let request = try request(use, client)
        let (isUsed, isDone) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        interlude.next {
            isUsed.signal()
            _ = isDone.wait(timeout: .now() + 120)
        }
        let id = try client.send(request.body, tail: SecretBytes(bytes: request.tail))
        #expect(isUsed.wait(timeout: .now() + 120) == .success)
        // This reads the next answer, and throws if it is another request's.
        #expect(try client.status().rights.count >= 0)
        isDone.signal()
        let answer = try client.answer()
        #expect(answer.id == id && answer.refused?.code == (use == .decrypt ? .decryptionFailed : nil))
    }

    @Test(arguments: Use.allCases)
    func `that answers at once is used by the connection's own thread, in order`(use: Use) throws {
        let fixture = try fixture(isImmediate: true)
        defer { withExtendedLifetime(fixture) {} }
        let client = try fixture.client()
        let request = try request(use, client)
        interlude.next { usleep(100_000) }
        let ids = [
            try client.send(request.body, tail: SecretBytes(bytes: request.tail)), try client.send(.status(.init())),
        ]
        #expect(try [client.answer().id, client.answer().id] == ids)
    }
}
