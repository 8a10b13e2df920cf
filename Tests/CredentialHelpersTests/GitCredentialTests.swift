import CommandFailures
import DoorSupport
import Foundation
import OstiaryClient
import SecretMemory
import SeededRandomness
import Testing

@testable import CredentialHelpers

/// Git's lines.
@Suite("Credentials of git")
struct GitCredentialTests {
    private func parse(_ text: String) throws(DoorFailure) -> GitCredential {
        try GitCredential(parsing: SecretBytes(text))
    }

    private func refusal(_ text: String) -> String? {
        do {
            _ = try parse(text)
            return nil
        } catch { return error.code == -160 ? error.explanation : "\(error.code)" }
    }

    @Test func `all that git gives is read, and what is not known is passed over`() throws {
        let credential = try parse(
            """
            capability[]=authtype
            capability[]=state
            capability[]=later
            protocol=https
            host=example.com:8443
            path=a/b=c.git
            username=me
            password=p=ss
            password_expiry_utc=1700000000
            oauth_refresh_token=again
            wwwauth[]=Basic realm="x=y"
            state[]=other.seen=1
            unheard-of=1

            username=behind the end
            """)
        #expect(credential.networkProtocol == "https" && credential.host == "example.com:8443")
        #expect(credential.path == "a/b=c.git" && credential.username == "me")
        #expect(credential.password?.text == "p=ss" && credential.refreshToken?.text == "again")
        #expect(credential.expiry == 1_700_000_000)
        #expect(credential.capabilities == [.authtype, .state] && credential.states == ["other.seen=1"])
    }

    @Test func `an end without a line end, and no line at all, are ends`() throws {
        #expect(try parse("host=a").host == "a")
        #expect(try parse("").host == nil)
        #expect(try parse("\nhost=a\n").host == nil, "an empty line ends it")
    }

    @Test func `an empty value is a value`() throws {
        let credential = try parse("username=\npassword=\n")
        #expect(credential.username == "" && credential.password?.text == "")
    }

    @Test func `an empty state clears those before it`() throws {
        #expect(try parse("state[]=a\nstate[]=\nstate[]=b\n").states == ["b"])
    }

    @Test(arguments: [
        ("host", "a line is no pair of key and value"), ("=value\n", "a line is no pair of key and value"),
        ("host=a\u{0}b\n", "a line holds a NUL or a carriage return"),
        ("pass\u{0}word=a\n", "a line holds a NUL or a carriage return"),
        ("host=a\r\n", "a line holds a NUL or a carriage return"),
        ("password=a\rb\n", "a line holds a NUL or a carriage return"),
        ("host=a\nhost=b\n", "host is given twice"), ("password=a\npassword=a\n", "password is given twice"),
        ("username=a\nusername=\n", "username is given twice"),
    ])
    func `lines that are none are refused, and nothing of them is repeated`(text: String, defect: String) {
        #expect(
            refusal(text)
                == "The input cannot be used: \(defect). Nothing was done. Helpers are started by git or docker.")
    }

    @Test func `a line end in a value is another line, and never part of the value`() throws {
        // A host that was made with a line end would be the host of somebody else's password.
        let credential = try parse("protocol=https\nhost=good.example\nusername=a\nb=c\n")
        #expect(credential.username == "a")
        #expect(
            refusal("protocol=https\nhost=evil.example\nhost=good.example\n")?.contains("host is given twice") == true)
    }

    @Test func `names that are no text or too long are refused, and secrets may be either`() throws {
        var bytes = Array("host=a".utf8) + [0xFF, 0x0A]
        var error = #expect(throws: DoorFailure.self) {
            try GitCredential(parsing: SecretBytes(Data(bytes)))
        }
        #expect(error?.code == -160 && error?.explanation.contains("host is no UTF-8 text") == true)
        bytes = Array("password=a".utf8) + [0xFF, 0x0A]
        let credential = try GitCredential(parsing: SecretBytes(Data(bytes)))
        #expect(credential.password?.bytes.count == 2)
        for count in [1024, 1025] {
            let text = "host=" + String(repeating: "a", count: count) + "\n"
            #expect((refusal(text) == nil) == (count == 1024))
        }
        error = nil
        #expect(try parse("password=" + String(repeating: "a", count: 20_000)).password?.bytes.count == 20_000)
    }

    @Test func `lines of other helpers may be long and no text`() throws {
        let long = String(repeating: "a", count: 5000)
        #expect(try parse("wwwauth[]=\(long)\nstate[]=\(long)\nhost=a\n").host == "a")
    }

    @Test func `an expiry that is no number is none`() throws {
        for text in ["", "-1", "soon", "18446744073709551616"] {
            #expect(try parse("password_expiry_utc=\(text)\n").expiry == nil)
        }
    }

    @Test func `an answer has capabilities first, and is read as it was written`() throws {
        var credential = GitCredential()
        credential.capabilities = [.authtype, .state]
        (credential.authtype, credential.credential) = ("Bearer", Secret("token"))
        (credential.username, credential.password) = ("me", Secret("p=ss"))
        (credential.expiry, credential.refreshToken) = (7, Secret("again"))
        credential.states = ["ostiary.item=00"]
        #expect(
            Secret(credential.answer()).text == """
                capability[]=authtype
                capability[]=state
                authtype=Bearer
                credential=token
                username=me
                password=p=ss
                password_expiry_utc=7
                oauth_refresh_token=again
                state[]=ostiary.item=00

                """)
        let read = try GitCredential(parsing: credential.answer())
        #expect(Secret(read.answer()).text == Secret(credential.answer()).text)
    }

    // MARK: the answer to a question

    private static let state = "state[]=ostiary.item=00000000000000000000000000000000\n"

    /// What git gets of kept lines at the second 100.
    private func answer(_ capabilities: String, _ kept: String) throws -> String? {
        guard
            let lines = GitCredentialHelper.answer(
                to: try parse(capabilities), try parse(kept), of: Data(count: 16), now: 100)
        else { return nil }
        return Secret(lines).text
    }

    @Test func `a credential that is not over goes to git with the state of its item, where git knows of states`()
        throws
    {
        let kept = "username=me\npassword=t\npassword_expiry_utc=101\noauth_refresh_token=r\n"
        #expect(try answer("", kept) == kept)
        #expect(try answer("capability[]=state\n", kept) == "capability[]=state\n" + kept + Self.state)
        let bearer = "authtype=Bearer\ncredential=c\npassword_expiry_utc=101\n"
        #expect(try answer("", bearer) == nil)
        #expect(try answer("capability[]=authtype\n", bearer) == "capability[]=authtype\n" + bearer)
    }

    @Test(arguments: [1, 99, 100])
    func `of one that is over git gets the refresh token alone, and no state that would make another's secret ours`(
        expiry: Int
    ) throws {
        let capabilities = "capability[]=authtype\ncapability[]=state\n"
        let bearer = "authtype=Bearer\ncredential=c\n"
        for secret in ["password=t\n", bearer, "password=t\n" + bearer] {
            let kept = "username=me\n\(secret)password_expiry_utc=\(expiry)\n"
            #expect(try answer(capabilities, kept) == nil)
            let renewable = kept + "oauth_refresh_token=r\n"
            for known in ["", capabilities] {
                #expect(try answer(known, renewable) == "username=me\noauth_refresh_token=r\n")
            }
        }
    }

    @Test func `no bytes trap the reader`() {
        var generator = SeededGenerator(seed: 20)
        let alphabet = Array("hostpaswrd=[]\n\r\u{0}\u{FF}0".utf8)
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0..<64, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator)!
            }
            do { _ = try GitCredential(parsing: SecretBytes(Data(bytes))) } catch {
                #expect(error.code == -160)
            }
        }
    }

    // MARK: the place

    private func place(_ text: String) throws -> CredentialPlace { try parse(text).place() }

    @Test(arguments: [
        "", "protocol=https\n", "host=a\n", "protocol=\nhost=a\n", "protocol=https\nhost=\n", "username=a\n",
    ])
    func `a credential without protocol or host is nowhere`(text: String) throws {
        let error = #expect(throws: DoorFailure.self) { try place(text) }
        #expect(error?.code == -160 && error?.exitStatus == .failed)
    }

    @Test func `a certificate has a path in place of a host`() throws {
        #expect(try place("protocol=cert\nhost=\npath=home/me/key.pem\n").label == "cert:///home/me/key.pem")
    }

    @Test(arguments: [
        ("example.com", "example.com", 0), ("example.com:8443", "example.com", 8443), ("[::1]:8080", "[::1]", 8080),
        ("[::1]", "[::1]", 0), ("::1", "::1", 0), ("a:0", "a:0", 0), ("a:080", "a:080", 0), ("a:65536", "a:65536", 0),
        ("a:x", "a:x", 0), (":80", ":80", 0), ("a:+80", "a:+80", 0), ("a:", "a:", 0),
        ("2001:db8::1:80", "2001:db8::1:80", 0),
    ])
    func `a host and its port give the same text again`(host: String, server: String, port: Int) {
        let place = CredentialPlace(.git, networkProtocol: "https", host: host)
        #expect(place.server == server && Int(place.port) == port && place.host == host)
    }

    @Test func `a search names what was given, and an item everything`() throws {
        let place = try place("protocol=https\nhost=a:81\n")
        #expect(Set(place.searched.keys) == ["agrp", "sdmn", "ptcl", "srvr", "port"])
        #expect(place.searched["agrp"] == .text("ostiary.doors") && place.searched["sdmn"] == .text("git"))
        #expect(place.searched["port"] == .number(81))
        #expect(place.exact["path"] == .text("") && place.exact["acct"] == .text(""))
        #expect(CredentialPlace(.docker, networkProtocol: "https", host: "a:81").searched["sdmn"] == .text("docker"))
    }

    @Test func `only an item's id of ours is a state of ours`() throws {
        let state = try #require(CredentialState(parsing: "ostiary.item=000102030405060708090a0b0c0d0eff"))
        #expect(Array(state.item) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255])
        #expect(state.text == "ostiary.item=000102030405060708090a0b0c0d0eff")
        for text in [
            "", "ostiary.item=", "ostiary.item=00", "other.item=000102030405060708090a0b0c0d0eff",
            "ostiary.item=000102030405060708090a0b0c0d0efff", "ostiary.item=00010203040506070809+a0b0c0d0eff",
            "ostiary.item=zz0102030405060708090a0b0c0d0eff",
        ] { #expect(CredentialState(parsing: text) == nil, "\(text)") }
    }
}
