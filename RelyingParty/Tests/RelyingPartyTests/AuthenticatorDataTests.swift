import CanonicalCBOR
import Foundation
import Testing

@testable import RelyingParty

@Suite struct AuthenticatorDataTests {
    private func error(_ bytes: [UInt8], hasCredential: Bool) -> AuthenticatorDataError? {
        do {
            _ = try AuthenticatorData(bytes[...], hasCredential: hasCredential)
            return nil
        } catch {
            return error
        }
    }

    private static func registration(extensions: CBORItem? = nil) throws -> [UInt8] {
        var authenticator = try TestAuthenticator()
        authenticator.extensions = extensions
        return authenticator.authenticatorData(registers: true)
    }

    @Test func `all fields are read`() throws {
        var authenticator = try TestAuthenticator()
        authenticator.counter = 0x0102_0304
        authenticator.extensions = .map([(.text("credProtect"), .number(2))])
        let bytes = authenticator.authenticatorData(registers: true)
        let data = try AuthenticatorData(bytes[...], hasCredential: true)
        #expect(data.flags == [.userPresent, .userVerified, .hasCredential, .hasExtensions])
        #expect(data.signatureCounter == 0x0102_0304 && data.extensions?["credProtect"]?.integer == 2)
        #expect(data.credential.map { Array($0.aaguid) } == authenticator.aaguid)
        #expect(data.credential.map { Array($0.id) } == authenticator.credentialID)
        #expect(data.credential.map { Array($0.publicKey) } == authenticator.key.cose)
    }

    /// Without extensions every truncation is refused: up to the key by its place, within the key by CBOR.
    @Test func `each truncation is refused`() throws {
        let bytes = try Self.registration()
        let keyStart = 37 + 18 + 32
        for count in 0..<bytes.count {
            let expected: AuthenticatorDataError =
                count < keyStart ? .truncated : .publicKeyNotCBOR(CBORError(.truncated, at: count - keyStart))
            #expect(error(Array(bytes.prefix(count)), hasCredential: true) == expected)
        }
        let assertion = try TestAuthenticator().authenticatorData(registers: false)
        #expect(assertion.count == 37)
        for count in 0..<37 {
            #expect(error(Array(assertion.prefix(count)), hasCredential: false) == .truncated)
        }
    }

    @Test func `each truncation of extensions is refused`() throws {
        let plain = try Self.registration().count
        let bytes = try Self.registration(extensions: .map([(.text("hmac-secret"), .boolean(true))]))
        for count in plain..<bytes.count {
            let expected = AuthenticatorDataError.extensionsNotCBOR(CBORError(.truncated, at: count - plain))
            #expect(error(Array(bytes.prefix(count)), hasCredential: true) == expected)
        }
    }

    @Test func `bytes after the last field are refused`() throws {
        #expect(error(try Self.registration() + [0], hasCredential: true) == .trailingBytes(1))
        let extended = try Self.registration(extensions: .map([])) + [0xA0, 0]
        #expect(error(extended, hasCredential: true) == .trailingBytes(2))
        let assertion = try TestAuthenticator().authenticatorData(registers: false)
        #expect(error(assertion + [0], hasCredential: false) == .trailingBytes(1))
    }

    @Test func `flags and fields must agree`() throws {
        var bytes = try Self.registration()
        #expect(error(bytes, hasCredential: false) == .credentialNotExpected)
        bytes[32] &= ~0x40
        #expect(error(bytes, hasCredential: true) == .credentialMissing)
        #expect(error(bytes, hasCredential: false) == .trailingBytes(bytes.count - 37))
        var assertion = try TestAuthenticator().authenticatorData(registers: false)
        assertion[32] |= 0x80
        #expect(error(assertion, hasCredential: false) == .extensionsNotCBOR(CBORError(.truncated, at: 0)))
    }

    @Test func `a credential ID has 1 to 1,023 bytes`() throws {
        var authenticator = try TestAuthenticator()
        for count in [1, 1023] {
            authenticator.credentialID = [UInt8](repeating: 1, count: count)
            #expect(error(authenticator.authenticatorData(registers: true), hasCredential: true) == nil)
        }
        for count in [0, 1024, 65535] {
            authenticator.credentialID = [UInt8](repeating: 1, count: count)
            #expect(
                error(authenticator.authenticatorData(registers: true), hasCredential: true)
                    == .credentialIDLength(count))
        }
    }

    @Test(
        arguments: [
            (CBORItem.text("x"), nil), (.array([]), nil), (.raw([0xBF, 0xFF]), .indefiniteLength),
            (.map([(.text("a"), .null), (.text("a"), .null)]), .duplicateKey),
            (.map([(.text("b"), .null), (.text("a"), .null)]), .keysOutOfOrder),
            (.map([(.text("a"), .raw([0xF9, 0, 0]))]), .unsupportedType),
        ] as [(CBORItem, CBORError.Reason?)])
    func `extensions are a map in canonical CBOR`(_ item: CBORItem, _ reason: CBORError.Reason?) throws {
        let found = error(try Self.registration(extensions: item), hasCredential: true)
        guard let reason else {
            #expect(found == .extensionsNotMap)
            return
        }
        guard case .extensionsNotCBOR(let cbor)? = found else {
            Issue.record("\(String(describing: found))")
            return
        }
        #expect(cbor.reason == reason)
    }
}
