import LocalAuthentication
import Testing

@Suite struct LAErrorBridgingTests {
    private static func stored(_ code: Int, domain: String = LAErrorDomain) -> any Error {
        NSError(domain: domain, code: code, userInfo: [NSLocalizedDescriptionKey: "told"])
    }

    private func castGenerically<Target>(_ error: any Error, to type: Target.Type) -> Target? { error as? Target }

    @Test(arguments: [-1, -2, -9, -1004, -77])
    func `an NSError of the domain casts to LAError with its code`(code: Int) {
        let error = Self.stored(code)
        #expect((error as? LAError)?.code.rawValue == code)
        #expect(castGenerically(error, to: LAError.self)?.errorCode == code)
        #expect((error as? LAError)?.localizedDescription == "told")
    }

    @Test(arguments: [NSOSStatusErrorDomain, NSCocoaErrorDomain, ""])
    func `an NSError of another domain does not cast to LAError`(domain: String) {
        let error = Self.stored(-2, domain: domain)
        #expect(error as? LAError == nil)
        #expect(castGenerically(error, to: LAError.self) == nil)
    }

    @Test(arguments: [-1, -2, -9, -1004, -77])
    func `an LAError casts to NSError with domain, code and userInfo`(code: Int) throws {
        let error: any Error = LAError(try #require(LAError.Code(rawValue: code)), userInfo: ["key": "value"])
        let bridged = error as NSError
        #expect(bridged.domain == LAErrorDomain)
        #expect(bridged.code == code)
        #expect(bridged.userInfo["key"] as? String == "value")
        #expect(castGenerically(error, to: NSError.self)?.code == code)
    }

    @Test(arguments: [true, false])
    func `a catch pattern with a code matches both forms`(isStored: Bool) {
        do {
            throw isStored ? Self.stored(-2) : LAError(.userCancel)
        } catch LAError.userCancel {
            return
        } catch {
            Issue.record("not matched: \(error)")
        }
    }

    @Test(arguments: [true, false])
    func `a catch pattern with another code matches neither form`(isStored: Bool) {
        do {
            throw isStored ? Self.stored(-2) : LAError(.userCancel)
        } catch LAError.appCancel {
            Issue.record("matched")
        } catch {}
    }

    @Test(arguments: [true, false])
    func `a catch with a cast matches both forms`(isStored: Bool) {
        do {
            throw isStored ? Self.stored(-8) : LAError(.biometryLockout)
        } catch let error as LAError {
            #expect(error.code == .biometryLockout)
        } catch {
            Issue.record("not matched: \(error)")
        }
        do {
            throw isStored ? Self.stored(-8) : LAError(.biometryLockout)
        } catch let error as NSError {
            #expect(error.code == -8)
        }
    }

    @Test func `errors of one code are equal and others are not`() {
        #expect(LAError(.userCancel) == LAError(.userCancel))
        #expect(LAError(.userCancel) != LAError(.appCancel))
        #expect(LAError(.touchIDLockout) == LAError(.biometryLockout))
    }

    @Test func `cause and delay are read from userInfo and absent otherwise`() {
        let error = LAError(.authenticationFailed, userInfo: [LAError.causeKey: "a.b", LAError.retryAfterKey: 30.0])
        #expect(error.cause == "a.b")
        #expect(error.retryAfter == 30)
        #expect(LAError(.authenticationFailed).cause == nil)
        #expect(LAError(.authenticationFailed).retryAfter == nil)
    }
}
