import Foundation
import MessageBus
import SecretItems
import Testing

@testable import SecretService

@Suite struct ServedPathTests {
    private static let id = "00112233445566778899aabbccddeeff"

    @Test func `each object has one path, which leads back to it`() throws {
        let id = try #require(SecretID(Self.id))
        for object: ServedPath in [
            .service, .collection(.login), .collection(.session), .collection(.made(id)), .item(id, in: .login),
            .item(id, in: .made(id)), .alias(.standard), .session(1), .session(.max), .prompt(0),
        ] { #expect(ServedPath(object.text) == object, "\(object.text)") }
        #expect(ServedPath.item(id, in: .login).text == "/org/freedesktop/secrets/collection/login/\(Self.id)")
        #expect(
            id.bytes
                == Data([0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff]))
        #expect(SecretID(id.bytes) == id)
    }

    @Test(arguments: [
        "", "/", "/org/freedesktop/secret", "/org/freedesktop/secretsx", "/org/freedesktop/secrets/",
        "/org/freedesktop/secrets/collection", "/org/freedesktop/secrets/collection/",
        "/org/freedesktop/secrets/other/login",
        "/org/freedesktop/secrets/collection/Login", "/org/freedesktop/secrets/collection/portal",
        "/org/freedesktop/secrets/collection/login/", "/org/freedesktop/secrets/collection/login/1",
        "/org/freedesktop/secrets/collection/login/00112233445566778899AABBCCDDEEFF",
        "/org/freedesktop/secrets/collection/login/00112233445566778899aabbccddeeff/0",
        "/org/freedesktop/secrets/collection/login/00112233445566778899aabbccddeef",
        "/org/freedesktop/secrets/session/-1", "/org/freedesktop/secrets/session/+1",
        "/org/freedesktop/secrets/session/18446744073709551616", "/org/freedesktop/secrets/prompt/x",
        "/org/freedesktop/secrets/aliases/", "/org/freedesktop/secrets/aliases/a-b",
    ]) func `other paths lead nowhere`(path: String) { #expect(ServedPath(path) == nil) }

    @Test func `a further name has 1 to 64 letters, digits and underscores`() {
        #expect(AliasName("a_B9")?.text == "a_B9")
        #expect(AliasName(String(repeating: "a", count: 64)) != nil)
        for refused in ["", String(repeating: "a", count: 65), "a b", "ä", "a/b", "a\n"] {
            #expect(AliasName(refused) == nil)
        }
        #expect(AliasName("session")?.fixed == .session && AliasName("login")?.fixed == .login)
        #expect(AliasName.standard.fixed == nil && AliasName.standard.text == "default")
    }
}

@Suite struct BusFaultTests {
    @Test func `each refusal has its error, and its words`() {
        let cases: [(StoreRefusal, String)] = [
            (.locked, "org.freedesktop.Secret.Error.IsLocked"),
            (.notFound, "org.freedesktop.Secret.Error.NoSuchObject"),
            (.notPermitted("words"), "org.freedesktop.DBus.Error.AccessDenied"),
            (.noClient("words"), "org.freedesktop.DBus.Error.AccessDenied"),
            (.declined("words"), "org.freedesktop.DBus.Error.AuthFailed"),
            (.needsQuestion, "org.freedesktop.DBus.Error.AuthFailed"),
            (.nothingToProve, "org.freedesktop.DBus.Error.AuthFailed"),
            (.cancelled, "org.freedesktop.DBus.Error.AuthFailed"),
            (.tooMuch("words"), "org.freedesktop.DBus.Error.LimitsExceeded"),
            (.invalid("words"), "org.freedesktop.DBus.Error.InvalidArgs"),
            (.failed("words"), "org.freedesktop.DBus.Error.Failed"),
        ]
        for (refusal, name) in cases {
            let fault = BusFault(refusal)
            #expect(fault.name == name && !fault.message.isEmpty)
            if refusal.description == "words" { #expect(fault.message == "words") }
        }
    }
}
