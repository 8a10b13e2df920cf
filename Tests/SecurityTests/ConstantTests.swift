import Foundation
import Security
import Testing

/// The strings that programs write and compare, as Apple has them.
@Suite struct ConstantTests {
    /// Those whose strings are public facts; the others are of Apple's file keychain and mean nothing here.
    static var table: [(CFString, String)] {
        [
            (kSecClass, "class"), (kSecClassGenericPassword, "genp"), (kSecClassInternetPassword, "inet"),
            (kSecClassKey, "keys"), (kSecClassCertificate, "cert"), (kSecClassIdentity, "idnt"),
            (kSecClassAppleSharePassword, "apls"), (kSecAttrAccessible, "pdmn"), (kSecAttrAccessControl, "accc"),
            (kSecAttrAccessGroup, "agrp"), (kSecAttrSynchronizable, "sync"), (kSecAttrSynchronizableAny, "syna"),
            (kSecAttrCreationDate, "cdat"), (kSecAttrModificationDate, "mdat"), (kSecAttrLabel, "labl"),
            (kSecAttrAlias, "alis"), (kSecAttrTokenID, "tkid"), (kSecAttrPersistantReference, "persistref"),
            (kSecAttrPersistentReference, "persistref"), (kSecAttrUUID, "UUID"), (kSecAttrSyncViewHint, "vwht"),
            (kSecAttrAccount, "acct"), (kSecAttrService, "svce"), (kSecAttrGeneric, "gena"),
            (kSecAttrSecurityDomain, "sdmn"), (kSecAttrServer, "srvr"), (kSecAttrProtocol, "ptcl"),
            (kSecAttrAuthenticationType, "atyp"), (kSecAttrPort, "port"), (kSecAttrPath, "path"),
            (kSecAttrDescription, "desc"), (kSecAttrComment, "icmt"), (kSecAttrCreator, "crtr"), (kSecAttrType, "type"),
            (kSecAttrScriptCode, "scrp"), (kSecAttrIsInvisible, "invi"), (kSecAttrIsNegative, "nega"),
            (kSecAttrHasCustomIcon, "cusi"), (kSecAttrKeyClass, "kcls"), (kSecAttrApplicationLabel, "klbl"),
            (kSecAttrApplicationTag, "atag"), (kSecAttrKeyType, "type"), (kSecAttrKeyCreator, "crtr"),
            (kSecAttrKeySizeInBits, "bsiz"), (kSecAttrEffectiveKeySize, "esiz"), (kSecAttrStartDate, "sdat"),
            (kSecAttrEndDate, "edat"), (kSecAttrIsPermanent, "perm"), (kSecAttrIsPrivate, "priv"),
            (kSecAttrIsModifiable, "modi"), (kSecAttrIsSensitive, "sens"), (kSecAttrWasAlwaysSensitive, "asen"),
            (kSecAttrIsExtractable, "extr"), (kSecAttrWasNeverExtractable, "next"), (kSecAttrCanEncrypt, "encr"),
            (kSecAttrCanDecrypt, "decr"), (kSecAttrCanDerive, "drve"), (kSecAttrCanSign, "sign"),
            (kSecAttrCanVerify, "vrfy"), (kSecAttrCanSignRecover, "snrc"), (kSecAttrCanVerifyRecover, "vyrc"),
            (kSecAttrCanWrap, "wrap"), (kSecAttrCanUnwrap, "unwp"), (kSecAttrTokenOID, "toid"),
            (kSecAttrCertificateType, "ctyp"), (kSecAttrCertificateEncoding, "cenc"), (kSecAttrSubject, "subj"),
            (kSecAttrIssuer, "issr"), (kSecAttrSerialNumber, "slnr"), (kSecAttrSubjectKeyID, "skid"),
            (kSecAttrPublicKeyHash, "pkhh"), (kSecAttrVolume, "volm"), (kSecAttrAddress, "addr"),
            (kSecAttrAccessibleWhenUnlocked, "ak"), (kSecAttrAccessibleAfterFirstUnlock, "ck"),
            (kSecAttrAccessibleAlways, "dk"), (kSecAttrAccessibleWhenUnlockedThisDeviceOnly, "aku"),
            (kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly, "cku"), (kSecAttrAccessibleAlwaysThisDeviceOnly, "dku"),
            (kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, "akpu"), (kSecAttrAccessibleUntilReboot, "f"),
            (kSecAttrKeyClassPublic, "0"), (kSecAttrKeyClassPrivate, "1"), (kSecAttrKeyClassSymmetric, "2"),
            (kSecAttrKeyTypeRSA, "42"), (kSecAttrKeyTypeEC, "73"), (kSecAttrKeyTypeECSECPrimeRandom, "73"),
            (kSecAttrKeyTypeEd25519, "105"), (kSecAttrKeyTypeX25519, "106"),
            (kSecAttrTokenIDSecureEnclave, "com.apple.setoken"), (kSecAttrAccessGroupToken, "com.apple.token"),
            (kSecPrivateKeyAttrs, "private"), (kSecPublicKeyAttrs, "public"), (kSecAttrProtocolFTP, "ftp "),
            (kSecAttrProtocolFTPAccount, "ftpa"), (kSecAttrProtocolHTTP, "http"), (kSecAttrProtocolIRC, "irc "),
            (kSecAttrProtocolNNTP, "nntp"), (kSecAttrProtocolPOP3, "pop3"), (kSecAttrProtocolSMTP, "smtp"),
            (kSecAttrProtocolSOCKS, "sox "), (kSecAttrProtocolIMAP, "imap"), (kSecAttrProtocolLDAP, "ldap"),
            (kSecAttrProtocolAppleTalk, "atlk"), (kSecAttrProtocolAFP, "afp "), (kSecAttrProtocolTelnet, "teln"),
            (kSecAttrProtocolSSH, "ssh "), (kSecAttrProtocolFTPS, "ftps"), (kSecAttrProtocolHTTPS, "htps"),
            (kSecAttrProtocolHTTPProxy, "htpx"), (kSecAttrProtocolHTTPSProxy, "htsx"),
            (kSecAttrProtocolFTPProxy, "ftpx"),
            (kSecAttrProtocolSMB, "smb "), (kSecAttrProtocolRTSP, "rtsp"), (kSecAttrProtocolRTSPProxy, "rtsx"),
            (kSecAttrProtocolDAAP, "daap"), (kSecAttrProtocolEPPC, "eppc"), (kSecAttrProtocolIPP, "ipp "),
            (kSecAttrProtocolNNTPS, "ntps"), (kSecAttrProtocolLDAPS, "ldps"), (kSecAttrProtocolTelnetS, "tels"),
            (kSecAttrProtocolIMAPS, "imps"), (kSecAttrProtocolIRCS, "ircs"), (kSecAttrProtocolPOP3S, "pops"),
            (kSecAttrAuthenticationTypeNTLM, "ntlm"), (kSecAttrAuthenticationTypeMSN, "msna"),
            (kSecAttrAuthenticationTypeDPA, "dpaa"), (kSecAttrAuthenticationTypeRPA, "rpaa"),
            (kSecAttrAuthenticationTypeHTTPBasic, "http"), (kSecAttrAuthenticationTypeHTTPDigest, "httd"),
            (kSecAttrAuthenticationTypeHTMLForm, "form"), (kSecAttrAuthenticationTypeDefault, "dflt"),
            (kSecMatchLimit, "m_Limit"), (kSecMatchLimitOne, "m_LimitOne"), (kSecMatchLimitAll, "m_LimitAll"),
            (kSecMatchPolicy, "m_Policy"), (kSecMatchIssuers, "m_Issuers"),
            (kSecMatchEmailAddressIfPresent, "m_EmailAddressIfPresent"),
            (kSecMatchSubjectContains, "m_SubjectContains"),
            (kSecMatchHostOrSubdomainOfHost, "m_HostOrSubdomainOfHost"),
            (kSecMatchCaseInsensitive, "m_CaseInsensitive"),
            (kSecMatchTrustedOnly, "m_TrustedOnly"), (kSecMatchValidOnDate, "m_ValidOnDate"),
            (kSecMatchItemList, "m_ItemList"), (kSecMatchSearchList, "m_SearchList"), (kSecReturnData, "r_Data"),
            (kSecReturnAttributes, "r_Attributes"), (kSecReturnRef, "r_Ref"),
            (kSecReturnPersistentRef, "r_PersistentRef"),
            (kSecValueData, "v_Data"), (kSecValueRef, "v_Ref"), (kSecValuePersistentRef, "v_PersistentRef"),
            (kSecUseItemList, "u_ItemList"), (kSecUseOperationPrompt, "u_OpPrompt"),
            (kSecUseNoAuthenticationUI, "u_NoAuthUI"), (kSecUseAuthenticationUI, "u_AuthUI"),
            (kSecUseAuthenticationUIAllow, "u_AuthUIA"), (kSecUseAuthenticationUIFail, "u_AuthUIF"),
            (kSecUseAuthenticationUISkip, "u_AuthUIS"), (kSecUseAuthenticationContext, "u_AuthCtx"),
            (kSecUseDataProtectionKeychain, "nleg"), (kSecUseUserIndependentKeychain, "u_UserIndependentKeychain"),
        ]
    }

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
            "u": kCFBooleanTrue!,
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
