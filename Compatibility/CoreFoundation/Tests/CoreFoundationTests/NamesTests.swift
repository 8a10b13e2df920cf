import CoreFoundation
import Security
import Testing

@Suite struct NamesTests {
    @Test func `the names of both modules are the same types`() {
        let query: CFDictionary =
            [kSecClass: kSecClassGenericPassword, kSecReturnData: kCFBooleanTrue!] as CFDictionary
        #expect(CFGetTypeID(query) == CFDictionaryGetTypeID())
        #expect((query as? [String: Any])?["class"] as? String == "genp")
        #expect(SecCopyErrorMessageString(errSecParam, nil) is CFString)
    }

    @Test func `an error that Security reports is one of Core Foundation`() {
        var error: Unmanaged<CFError>?
        #expect(SecAccessControlCreateWithFlags(kCFAllocatorDefault, "no class" as CFString, [], &error) == nil)
        #expect(CFErrorGetCode(error?.takeRetainedValue()) == CFIndex(errSecParam))
    }
}
