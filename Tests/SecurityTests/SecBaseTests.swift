import Foundation
import KeyAlgorithms
import Security
import Testing

@Suite struct SecBaseTests {
    static let codes: [(OSStatus, Int32)] = [
        (noErr, 0), (errSecSuccess, 0), (errSecUnimplemented, -4), (errSecParam, -50), (errSecAllocate, -108),
        (errSecUserCanceled, -128), (errSecBadReq, -909), (errSecInternalComponent, -2070),
        (errSecNotAvailable, -25291), (errSecAuthFailed, -25293), (errSecDuplicateItem, -25299),
        (errSecItemNotFound, -25300), (errSecInteractionNotAllowed, -25308), (errSecInteractionRequired, -25315),
        (errSecDecode, -26275), (errSecMissingEntitlement, -34018), (errSecServiceNotAvailable, -67585),
        (errSecInvalidSignature, -67688), (errSecVerifyFailed, -67808),
    ]

    @Test(arguments: codes) func `a code has Apple's value`(code: OSStatus, value: Int32) {
        #expect(code == value)
    }

    @Test func `every refused parameter is errSecParam`() {
        for parameter in KeyAlgorithmError.Parameter.allCases {
            #expect(KeyAlgorithmError.invalidParameter(parameter).status == -50)
        }
    }

    static let errors: [(KeyAlgorithmError, OSStatus)] = [
        (.unsupportedAlgorithm, -50), (.decryptionFailed, -50), (.signatureMismatch, -67808),
        (.computationFailed, -26275),
    ]

    @Test(arguments: errors) func `an error has the code that Apple's calls report`(
        error: KeyAlgorithmError, status: OSStatus
    ) {
        #expect(error.status == status)
    }
}

@Suite struct SecKeyKeyExchangeParameterTests {
    @Test(arguments: [
        (SecKeyKeyExchangeParameter.requestedSize, "requestedSize"), (.sharedInfo, "sharedInfo"),
    ])
    func `a parameter has Apple's string`(parameter: SecKeyKeyExchangeParameter, name: String) {
        #expect(parameter.rawValue as String == name)
        #expect(parameter == SecKeyKeyExchangeParameter(rawValue: name as CFString))
    }

    @Test func `parameters are keys of a dictionary`() {
        let parameters: [SecKeyKeyExchangeParameter: Any] = [.requestedSize: 32, .sharedInfo: Data([1])]
        #expect(parameters[SecKeyKeyExchangeParameter(rawValue: "requestedSize" as CFString)] as? Int == 32)
        #expect(parameters[.sharedInfo] as? Data == Data([1]))
    }
}

@Suite struct CoreFoundationNamesTests {
    @Test func `the casts of Apple's clients compile and work`() {
        let query = ["class": "genp", "v_Data": Data([1, 2])] as [String: Any] as CFDictionary
        let result: CFTypeRef? = query
        #expect((result as? [String: Any])?["class"] as? String == "genp")
        #expect(("text" as CFString) as String == "text")
        #expect((Data([1, 2]) as CFData) as Data == Data([1, 2]))
        let error = Unmanaged<CFError>.passRetained(NSError(domain: "NSOSStatusErrorDomain", code: Int(errSecParam)))
        #expect((error.takeRetainedValue() as any Error as NSError).code == -50)
    }
}
