import DoorSupport
import OstiaryClient
import SecretMemory
import Testing

@testable import CredentialHelpers

/// The secret of an item, in its two forms.
@Suite("Secrets of credentials")
struct CredentialSecretTests {
    private func secret(_ lines: String) throws -> CredentialSecret? {
        CredentialSecret(try GitCredential(parsing: SecretBytes(lines)))
    }

    private func again(_ secret: CredentialSecret, account: String?) throws -> String {
        Secret(
            try CredentialSecret.credential(
                described: secret.description, account: account, secret.value.bytes
            ).answer()
        ).text
    }

    @Test func `a password alone is kept as it is`() throws {
        let kept = try #require(try secret("username=me\npassword=p=ss\n"))
        #expect(kept.description == "password" && kept.value.text == "p=ss")
        #expect(try again(kept, account: "me") == "username=me\npassword=p=ss\n")
    }

    @Test func `an empty password, and one with an expiry or a token, is kept in lines`() throws {
        let empty = try #require(try secret("username=\npassword=\n"))
        #expect(empty.description == "credential in lines" && empty.value.text == "username=\npassword=\n")
        #expect(try again(empty, account: "") == "username=\npassword=\n")
        let token = try #require(try secret("username=me\npassword=a\npassword_expiry_utc=9\noauth_refresh_token=r\n"))
        #expect(token.value.text == "password=a\npassword_expiry_utc=9\noauth_refresh_token=r\n")
        #expect(
            try again(token, account: "me")
                == "username=me\npassword=a\npassword_expiry_utc=9\noauth_refresh_token=r\n")
    }

    @Test func `an item says in which form its secret is and when it ends, and nothing else of it`() throws {
        let password = try #require(try secret("username=me\npassword=a\n"))
        #expect(password.attributes == ["desc": .text("password"), "icmt": .text("")])
        let token = try #require(try secret("username=me\npassword=a\npassword_expiry_utc=9\noauth_refresh_token=r\n"))
        #expect(
            token.attributes == ["desc": .text("credential in lines"), "icmt": .text("password_expiry_utc=9")])
        let endless = try #require(try secret("username=me\npassword=a\noauth_refresh_token=r\n"))
        #expect(endless.attributes == ["desc": .text("credential in lines"), "icmt": .text("")])
    }

    @Test func `another scheme is kept where git knows of it, and not for one use`() throws {
        let bearer = "authtype=Bearer\ncredential=token\n"
        #expect(try secret(bearer) == nil, "git has not said that it knows of schemes")
        #expect(try secret("capability[]=authtype\nephemeral=1\n" + bearer) == nil)
        #expect(try secret("capability[]=authtype\nauthtype=Bearer\n") == nil)
        let kept = try #require(try secret("capability[]=authtype\nephemeral=0\n" + bearer))
        #expect(kept.value.text == bearer)
        #expect(try again(kept, account: "") == bearer, "no username was given, so none is answered")
    }

    @Test func `nothing is kept of a credential without a password or a username`() throws {
        for lines in ["", "username=me\n", "password=a\n", "username=me\noauth_refresh_token=r\n"] {
            #expect(try secret(lines) == nil, "\(lines)")
        }
    }

    @Test func `an item that somebody else made holds a password`() throws {
        for description in [nil, "anything", "password"] {
            let read = try CredentialSecret.credential(
                described: description, account: "me", SecretBytes("password=x\nusername=y"))
            #expect(read.username == "me" && read.password?.text == "password=x\nusername=y")
        }
    }

    @Test func `lines that were damaged are refused`() throws {
        #expect(throws: DoorFailure.self) {
            try CredentialSecret.credential(
                described: CredentialSecret.linesDescription, account: "me", SecretBytes("no pair"))
        }
    }

    @Test func `two forms of the same bytes differ`() throws {
        let kept = try #require(try secret("username=me\npassword=a\n"))
        func isKept(_ text: String, _ description: String?) -> Bool {
            kept.isEqual(to: SecretBytes(text), described: description)
        }
        #expect(isKept("a", "password") && isKept("a", nil))
        #expect(!isKept("a", CredentialSecret.linesDescription) && !isKept("b", "password"))
    }
}
