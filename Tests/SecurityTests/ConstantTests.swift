import Foundation
import Security
import Testing

/// The strings that programs write and compare, as Apple has them.
@Suite struct ConstantTests {
    static var table: [(CFString, String)] { [
        (kSecClass, "class"), (kSecClassGenericPassword, "genp"), (kSecClassInternetPassword, "inet"),
        (kSecClassKey, "keys"), (kSecClassCertificate, "cert"), (kSecClassIdentity, "idnt"),
        (kSecAttrAccessible, "pdmn"), (kSecAttrAccessControl, "accc"), (kSecAttrAccessGroup, "agrp"),
        (kSecAttrSynchronizable, "sync"), (kSecAttrSynchronizableAny, "syna"), (kSecAttrCreationDate, "cdat"),
        (kSecAttrModificationDate, "mdat"), (kSecAttrLabel, "labl"), (kSecAttrTokenID, "tkid"),
        (kSecAttrAccount, "acct"), (kSecAttrService, "svce"), (kSecAttrGeneric, "gena"),
        (kSecAttrSecurityDomain, "sdmn"), (kSecAttrServer, "srvr"), (kSecAttrProtocol, "ptcl"),
        (kSecAttrAuthenticationType, "atyp"), (kSecAttrPort, "port"), (kSecAttrPath, "path"),
        (kSecAttrDescription, "desc"), (kSecAttrComment, "icmt"), (kSecAttrCreator, "crtr"), (kSecAttrType, "type"),
        (kSecAttrIsInvisible, "invi"), (kSecAttrIsNegative, "nega"), (kSecAttrKeyClass, "kcls"),
        (kSecAttrApplicationLabel, "klbl"), (kSecAttrApplicationTag, "atag"), (kSecAttrKeyType, "type"),
        (kSecAttrKeySizeInBits, "bsiz"), (kSecAttrEffectiveKeySize, "esiz"), (kSecAttrIsPermanent, "perm"),
        (kSecAttrCanEncrypt, "encr"), (kSecAttrCanDecrypt, "decr"), (kSecAttrCanDerive, "drve"),
        (kSecAttrCanSign, "sign"), (kSecAttrCanVerify, "vrfy"), (kSecAttrCanWrap, "wrap"), (kSecAttrCanUnwrap, "unwp"),
        (kSecAttrCertificateType, "ctyp"), (kSecAttrCertificateEncoding, "cenc"), (kSecAttrSubject, "subj"),
        (kSecAttrIssuer, "issr"), (kSecAttrSerialNumber, "slnr"), (kSecAttrSubjectKeyID, "skid"),
        (kSecAttrPublicKeyHash, "pkhh"), (kSecAttrKeyClassPublic, "0"), (kSecAttrKeyClassPrivate, "1"),
        (kSecAttrKeyClassSymmetric, "2"), (kSecAttrKeyTypeRSA, "42"), (kSecAttrKeyTypeEC, "73"),
        (kSecAttrKeyTypeECSECPrimeRandom, "73"), (kSecAttrTokenIDSecureEnclave, "com.apple.setoken"),
        (kSecAttrAccessGroupToken, "com.apple.token"), (kSecPrivateKeyAttrs, "private"), (kSecPublicKeyAttrs, "public"),
            (kSecAttrAccessibleWhenUnlocked, "ak"), (kSecAttrAccessibleAfterFirstUnlock, "ck"),
            (kSecAttrAccessibleAlways, "dk"),
            (kSecAttrAccessibleWhenUnlockedThisDeviceOnly, "aku"),
            (kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly, "cku"),
        (kSecAttrAccessibleAlwaysThisDeviceOnly, "dku"), (kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, "akpu"),
        (kSecAttrProtocolFTP, "ftp "), (kSecAttrProtocolHTTPS, "htps"), (kSecAttrProtocolSOCKS, "sox "),
        (kSecAttrProtocolPOP3S, "pops"), (kSecAttrAuthenticationTypeHTTPBasic, "http"),
        (kSecAttrAuthenticationTypeDefault, "dflt"), (kSecMatchLimit, "m_Limit"), (kSecMatchLimitOne, "m_LimitOne"),
        (kSecMatchLimitAll, "m_LimitAll"), (kSecReturnData, "r_Data"), (kSecReturnAttributes, "r_Attributes"),
        (kSecReturnRef, "r_Ref"), (kSecReturnPersistentRef, "r_PersistentRef"), (kSecValueData, "v_Data"),
        (kSecValueRef, "v_Ref"), (kSecValuePersistentRef, "v_PersistentRef"), (kSecUseOperationPrompt, "u_OpPrompt"),
        (kSecUseAuthenticationUI, "u_AuthUI"), (kSecUseAuthenticationUIAllow, "u_AuthUIA"),
        (kSecUseAuthenticationUIFail, "u_AuthUIF"), (kSecUseAuthenticationUISkip, "u_AuthUIS"),
        (kSecUseAuthenticationContext, "u_AuthCtx"), (kSecUseNoAuthenticationUI, "u_NoAuthUI"),
        (kSecUseDataProtectionKeychain, "nleg"),
    ] }

    @Test func `constants have Apple's strings`() {
        for (constant, string) in Self.table { #expect(constant as String == string) }
    }
}

@Suite struct CoreFoundationTypeTests {
    @Test func `truth values and numbers are different types`() {
        #expect(CFGetTypeID(true as CFTypeRef) == CFBooleanGetTypeID())
        #expect(CFGetTypeID(kCFBooleanFalse as CFTypeRef) == CFBooleanGetTypeID())
        for number in [1, 0] as [NSNumber] { #expect(CFGetTypeID(number) == CFNumberGetTypeID()) }
        #expect(CFGetTypeID(NSNumber(value: Int8(1))) == CFNumberGetTypeID())
        #expect(CFBooleanGetTypeID() != CFNumberGetTypeID())
        #expect(CFBooleanGetValue(kCFBooleanTrue) && !CFBooleanGetValue(kCFBooleanFalse))
    }

    @Test func `each type has its id`() {
        let objects: [(CFTypeRef, CFTypeID)] = [
            ("text" as CFString, CFStringGetTypeID()), (Data() as CFData, CFDataGetTypeID()),
            (Date() as CFDate, CFDateGetTypeID()), ([1] as CFArray, CFArrayGetTypeID()),
            (["a": 1] as CFDictionary, CFDictionaryGetTypeID()), (Set([1]) as CFSet, CFSetGetTypeID()),
            (kCFNull, CFNullGetTypeID()), (NSError(domain: "d", code: 1), CFErrorGetTypeID()),
        ]
        for (object, id) in objects { #expect(CFGetTypeID(object) == id) }
        #expect(Set(objects.map(\.1)).count == objects.count)
        #expect(CFGetTypeID(nil) == 0)
        #expect(CFGetTypeID(NSObject()) == 0)
    }

    @Test func `truth values survive the casts of queries`() {
        let query: [String: Any] = [
            kSecReturnData as String: kCFBooleanTrue as Any, "b": true, "n": NSNumber(value: true),
            "u": kCFBooleanTrue!
        ]
        let dictionary = query as CFDictionary
        for key in ["r_Data", "b", "n", "u"] { #expect(dictionary[key] as? Bool == true, "\(key)") }
    }

    @Test func `a Foundation string is the key that the string is`() {
        let result: [AnyHashable: Any] = [kSecAttrAccount: "me", "svce": 1]
        #expect(result["acct"] as? String == "me")
        #expect(result[kSecAttrService] as? Int == 1)
        #expect(AnyHashable(kSecClass) == AnyHashable("class"))
    }

    @Test func `an error gives back what it was made of`() throws {
        let cause = NSError(domain: "cause", code: 7)
        let info: [String: Any] = [
            kCFErrorLocalizedDescriptionKey as String: "told", kCFErrorUnderlyingErrorKey as String: cause,
        ]
        let error: CFError = CFErrorCreate(kCFAllocatorDefault, kCFErrorDomainOSStatus, -50, info as CFDictionary)
        #expect(CFErrorGetDomain(error) as String == "NSOSStatusErrorDomain")
        #expect(CFErrorGetCode(error) == -50)
        #expect(CFErrorCopyDescription(error) as String == "told")
        let copied = try #require(CFErrorCopyUserInfo(error) as? [String: Any])
        #expect(copied["NSUnderlyingError"] as? NSError == cause)
    }

    @Test func `objects are compared by value`() {
        #expect(CFEqual("a" as CFString, "a" as CFString))
        #expect(CFEqual(nil, nil))
        #expect(!CFEqual("a" as CFString, nil))
        #expect(!CFEqual("a" as CFString, 1 as CFNumber))
    }
}
