import ArgumentParser
import Configuration
import CryptoExtras
import FlyingFox
import Foundation
import GRDB
import Names
import X509
import Yams

// What these packages do where they found one of our modules, and what they did before.

/// swift-certificates converts to and from certificates of Security.
func certificates() throws {
    let key = P256.Signing.PrivateKey()
    let name = try DistinguishedName { CommonName("beside") }
    let certificate = try Certificate(
        version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: Certificate.PublicKey(key.publicKey),
        notValidBefore: Date(timeIntervalSinceNow: -60), notValidAfter: Date(timeIntervalSinceNow: 60), issuer: name,
        subject: name, signatureAlgorithm: .ecdsaWithSHA256, extensions: Certificate.Extensions(),
        issuerPrivateKey: Certificate.PrivateKey(key))
    let ours: SecCertificate = try .makeWithCertificate(certificate)
    precondition(SecCertificateCopySubjectSummary(ours)! as String == "beside", "the certificate is another one")
    let again = try Certificate(ours)
    precondition(again == certificate, "the certificate did not come back")
    let point = SecCertificateCopyKey(ours).flatMap { SecKeyCopyExternalRepresentation($0, nil) }
    precondition(point as Data? == key.publicKey.x963Representation, "the key is another one")
}

/// GRDB and Yams ask for Combine, swift-configuration for Core Foundation.
func others() throws {
    let count = try DatabaseQueue().read { try Int.fetchOne($0, sql: "SELECT 1") }
    let list = try YAMLDecoder().decode([String].self, from: "- a")
    precondition(count == 1 && list == ["a"], "GRDB or Yams does not read")
    _ = (_RSA.Signing.PrivateKey.self, ConfigReader(provider: InMemoryProvider(values: [:])))
}

/// FlyingFox hashes with CryptoKit to accept a web socket.
func webSocket() async throws {
    let request = HTTPRequest(
        method: .GET, version: .http11, path: "/", query: [],
        headers: [
            .host: "localhost", .connection: "Upgrade", .upgrade: "websocket", .webSocketVersion: "13",
            .webSocketKey: "dGhlIHNhbXBsZSBub25jZQ==",
        ], body: Data())
    let response = try await WebSocketHTTPHandler(handler: Echo()).handleRequest(request)
    // RFC 6455, 1.3.
    precondition(response.headers[.webSocketAccept] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "the hash is another one")
}

struct Echo: WSHandler {
    func makeFrames(for client: AsyncThrowingStream<WSFrame, any Error>) async throws -> AsyncStream<WSFrame> {
        AsyncStream { $0.finish() }
    }
}

@main struct Program: AsyncParsableCommand {
    func run() async throws {
        try certificates()
        try others()
        try await webSocket()
        print("beside Security: as before")
    }
}
