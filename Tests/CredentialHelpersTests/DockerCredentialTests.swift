import DoorSupport
import Foundation
import SecretMemory
import SeededRandomness
import Testing

@testable import CredentialHelpers

/// Docker's documents and texts.
@Suite("Credentials of docker")
struct DockerCredentialTests {
    private func parse(_ text: String) throws(DoorFailure) -> DockerCredential {
        try DockerCredential(parsing: SecretBytes(text))
    }

    private func refusal(_ text: String) -> String? {
        do {
            _ = try parse(text)
            return nil
        } catch {
            return error.code == -160
                ? String(error.explanation.dropFirst("The input cannot be used: ".count).prefix { $0 != "." })
                : "\(error.code)"
        }
    }

    private struct Document: Codable, Equatable {
        var ServerURL: String
        var Username: String
        var Secret: String
    }

    @Test func `what docker sends is read`() throws {
        let credential = try parse(
            #" { "ServerURL" : "https://index.docker.io/v1/" , "Username":"me","Secret":"p\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\uDE00" } "#
                + "\n")
        #expect(credential.serverURL == "https://index.docker.io/v1/" && credential.username == "me")
        #expect(credential.secret.text == "p\"\\/\u{8}\u{C}\n\r\tAé😀")
    }

    @Test func `members that are not known are passed over`() throws {
        let credential = try parse(#"{"a":"b","c":1.5e+3,"d":true,"e":null,"Secret":"s","f":false}"#)
        #expect(credential.secret.text == "s" && credential.serverURL == "" && credential.username == "")
        #expect(try parse("{}").serverURL == "")
    }

    @Test(arguments: [
        ("", "the object of JSON is cut off"), ("{", "the object of JSON is cut off"),
        ("[]", "it is no object of JSON"),
        (#"{"a""#, "the object of JSON is cut off"), (#"{"a":}"#, "a member of the object is no text"),
        (#"{"a":{}}"#, "a member of the object is no text"), (#"{"a":[1]}"#, "a member of the object is no text"),
        (#"{"Secret":1}"#, "it is no object of JSON"), (#"{"a":"b"} x"#, "something follows the object of JSON"),
        (#"{"a":"b",}"#, "it is no object of JSON"), (#"{"a":"b" "c":"d"}"#, "it is no object of JSON"),
        (#"{"Secret":"a","Secret":"b"}"#, "a member of the object is given twice"),
        (#"{"Secret":"\x"}"#, "a text holds an unknown escape"),
        (#"{"Secret":"\u12g4"}"#, "a text holds an unknown escape"),
        (#"{"Secret":"\ud83d"}"#, "a text holds half a character"),
        (#"{"Secret":"\udE00"}"#, "a text holds half a character"),
        (#"{"Secret":"\ud83d\ud83d"}"#, "a text holds half a character"),
        ("{\"Secret\":\"a\nb\"}", "a text holds a control character"),
        (#"{"ServerURL":"a\u0000b"}"#, "ServerURL is no text"),
        (#"{"Username":"a"#, "the object of JSON is cut off"),
    ])
    func `what is no document is refused, and nothing of it is repeated`(text: String, defect: String) {
        #expect(refusal(text) == defect)
    }

    @Test func `a server that is too long is refused`() {
        for count in [1024, 1025] {
            let text = #"{"ServerURL":""# + String(repeating: "a", count: count) + #""}"#
            #expect(refusal(text) == (count == 1024 ? nil : "ServerURL is too long"))
        }
    }

    @Test func `another reader of JSON reads what was written`() throws {
        let values = ["", "plain", "\"\\\u{1}\u{1F}\n\t/<>&", "é😀\u{2028}"]
        for value in values {
            let credential = DockerCredential(serverURL: "https://a/\(value)", username: value, secret: Secret(value))
            let text = Secret(credential.document()).text
            #expect(text.hasSuffix("}\n") && text.dropLast().contains("\n") == false)
            #expect(
                try JSONDecoder().decode(Document.self, from: Data(text.utf8))
                    == Document(ServerURL: "https://a/\(value)", Username: value, Secret: value))
        }
        let list = Secret(DockerCredential.list(["https://b/": "x\"", "a": "y"])).text
        #expect(list == #"{"a":"y","https://b/":"x\""}"# + "\n")
        #expect(Secret(DockerCredential.list([:])).text == "{}\n")
    }

    @Test func `no bytes trap the reader`() {
        var generator = SeededGenerator(seed: 21)
        let alphabet = Array(#"{}[]":,\u0d8cS "#.utf8) + [0, 0xFF, 0x0A]
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0..<48, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator)!
            }
            do { _ = try DockerCredential(parsing: SecretBytes(Data(bytes))) } catch {
                #expect(error.code == -160)
            }
        }
    }

    @Test(arguments: [
        "https://index.docker.io/v1/", "ghcr.io", "localhost:5000", "https://a:443", "http://[::1]:80/v2?x=y#z",
        "a/b:c",
        "://x", "https:/one", "HTTPS://A", "a:b", "https://", "https:///path", "index.docker.io:0/v1",
    ])
    func `the parts of a server give the same text again`(server: String) {
        let place = CredentialPlace(dockerServer: server)
        let scheme = place.networkProtocol.isEmpty ? "" : "\(place.networkProtocol)://"
        #expect(scheme + place.host + (place.path ?? "") == server)
        #expect(place.software == .docker && place.path != nil)
    }
}
