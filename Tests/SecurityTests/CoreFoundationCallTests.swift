import Foundation
import Security
import Testing

/// The calls of Core Foundation that programs make around those of the keychain.
@Suite struct CoreFoundationCallTests {
    @Test func `data is a copy of the bytes`() throws {
        var bytes: [UInt8] = [1, 2, 3]
        let copies = [
            CFDataCreate(kCFAllocatorDefault, bytes, bytes.count),
            CFDataCreateWithBytesNoCopy(nil, bytes, bytes.count, kCFAllocatorNull),
        ]
        bytes[0] = 9
        for copy in copies {
            let copy = try #require(copy)
            #expect(copy as Data == Data([1, 2, 3]))
            #expect(CFDataGetLength(copy) == 3)
            #expect(Array(UnsafeBufferPointer(start: CFDataGetBytePtr(copy), count: 3)) == [1, 2, 3])
        }
    }

    @Test func `no bytes are empty data, and lengths that no bytes have are none`() {
        #expect(CFDataGetLength(CFDataCreate(nil, nil, 0)) == 0)
        #expect(CFDataCreate(nil, nil, 0) != nil)
        for length in [1, -1, .min] { #expect(CFDataCreate(nil, nil, length) == nil) }
        for length in [-1, .min] { #expect(CFDataCreateWithBytesNoCopy(nil, [1], length, nil) == nil) }
        #expect(CFDataGetLength(nil) == 0)
        #expect(CFDataGetBytePtr(nil) == nil)
    }

    @Test func `data is filled, copied and cut`() throws {
        let data = try #require(CFDataCreateMutable(nil, 0))
        CFDataAppendBytes(data, [1, 2, 3], 3)
        let (copy, other) = (CFDataCreateCopy(nil, data), CFDataCreateMutableCopy(nil, 0, data))
        CFDataAppendBytes(data, [4], 1)
        CFDataGetMutableBytePtr(data)[0] = 9
        CFDataSetLength(other, 1)
        #expect(data as Data == Data([9, 2, 3, 4]) && copy! as Data == Data([1, 2, 3]) && other! as Data == Data([1]))
        CFDataAppendBytes(data, [5], -1)
        CFDataAppendBytes(data, nil, 1)
        CFDataAppendBytes(nil, [5], 1)
        CFDataSetLength(data, -1)
        CFDataSetLength(nil, 1)
        #expect(data.length == 4)
        #expect(CFDataCreateMutable(nil, -1) == nil && CFDataCreateMutableCopy(nil, -1, data) == nil)
        #expect(CFDataCreateMutableCopy(nil, 0, nil) == nil && CFDataCreateCopy(nil, nil) == nil)
        #expect(CFDataGetMutableBytePtr(nil) == nil)
    }

    @Test func `copies of containers and texts go their own way`() throws {
        let (array, dictionary) = (NSMutableArray(array: [1]), NSMutableDictionary(dictionary: ["a": 1]))
        let arrays = (CFArrayCreateCopy(nil, array), CFArrayCreateMutableCopy(nil, 0, array))
        let dictionaries = (CFDictionaryCreateCopy(nil, dictionary), CFDictionaryCreateMutableCopy(nil, 0, dictionary))
        array.add(2)
        dictionary["b"] = 2
        arrays.1?.removeAllObjects()
        dictionaries.1?["c"] = 3
        #expect(arrays.0 == [1] as NSArray && arrays.1 == [] as NSArray)
        #expect(dictionaries.0 == ["a": 1] as NSDictionary && dictionaries.1 == ["a": 1, "c": 3] as NSDictionary)
        let text = CFStringCreateMutableCopy(nil, 0, "green" as CFString)
        text?.append("er")
        #expect(text == "greener" as NSString && CFStringCreateCopy(nil, text) == "greener" as NSString)
        #expect(CFStringGetCStringPtr(text, CFStringBuiltInEncodings.UTF8.rawValue) == nil)
        #expect(CFArrayCreateCopy(nil, nil) == nil && CFDictionaryCreateCopy(nil, nil) == nil)
        #expect(CFArrayCreateMutableCopy(nil, -1, array) == nil && CFArrayCreateMutableCopy(nil, 0, nil) == nil)
        #expect(CFDictionaryCreateMutableCopy(nil, -1, dictionary) == nil)
        #expect(CFDictionaryCreateMutableCopy(nil, 0, nil) == nil && CFStringCreateCopy(nil, nil) == nil)
        #expect(CFStringCreateMutableCopy(nil, -1, text) == nil && CFStringCreateMutableCopy(nil, 0, nil) == nil)
    }

    @Test func `now is between before and after`() {
        let before = Date().timeIntervalSinceReferenceDate
        let now = CFAbsoluteTimeGetCurrent()
        #expect(before <= now && now <= Date().timeIntervalSinceReferenceDate)
        #expect(Date(timeIntervalSince1970: kCFAbsoluteTimeIntervalSince1970).timeIntervalSinceReferenceDate == 0)
        #expect(MemoryLayout<FourCharCode>.size == 4 && OSType.self == FourCharCode.self)
    }

    @Test func `containers are counted`() {
        #expect(CFArrayGetCount([1, 2] as CFArray) == 2)
        #expect(CFDictionaryGetCount(["a": 1] as CFDictionary) == 1)
        #expect(CFArrayGetCount(nil) == 0 && CFDictionaryGetCount(nil) == 0)
    }

    @Test func `a value is set by its name, and removed by nil`() {
        let query = NSMutableDictionary()
        query.setValue("me", forKey: kSecAttrAccount as String)
        query.setValue(kCFBooleanTrue, forKey: kSecReturnData as String)
        #expect(query["acct"] as? String == "me")
        #expect(query[kSecReturnData] as? Bool == true)
        query.setValue(nil, forKey: "acct")
        #expect(query.count == 1)
        #expect(query.value(forKey: "r_Data") as? Bool == true)
    }

    @Test func `a number is given in the type that has it, and in no other`() {
        var (byte, word, long, fraction) = (Int8(0), Int32(0), Int64(0), Double(0))
        #expect(CFNumberGetValue(300 as CFNumber, .sInt32Type, &word) && word == 300)
        #expect(CFNumberGetValue(300 as CFNumber, .sInt64Type, &long) && long == 300)
        #expect(CFNumberGetValue(0.5 as CFNumber, .doubleType, &fraction) && fraction == 0.5)
        #expect(!CFNumberGetValue(300 as CFNumber, .charType, &byte) && byte == 0)
        #expect(!CFNumberGetValue(0.5 as CFNumber, .cfIndexType, &long) && long == 300)
        #expect(!CFNumberGetValue(nil, .intType, &word) && !CFNumberGetValue(1 as CFNumber, .intType, nil))
        word = -7
        #expect(CFNumberCreate(nil, .intType, &word) == -7 as CFNumber)
        #expect(CFNumberCreate(nil, .intType, nil) == nil)
    }

    @Test func `a text is made of a C string in an encoding that is known`() {
        let (ascii, utf8) = (CFStringBuiltInEncodings.ASCII.rawValue, CFStringBuiltInEncodings.UTF8.rawValue)
        #expect(CFStringCreateWithCString(nil, "gr\u{FC}n", utf8) == "gr\u{FC}n" as CFString)
        #expect(CFStringCreateWithCString(nil, "green", ascii) == "green" as CFString)
        #expect(CFStringCreateWithCString(nil, "gr\u{FC}n", ascii) == nil)
        #expect(CFStringCreateWithCString(nil, "green", 0) == nil)
        #expect(CFStringCreateWithCString(nil, nil, utf8) == nil)
        #expect(CFStringCreateWithCString(nil, [-1, 0], utf8) == nil)
    }

    @Test func `a text is written with its zero byte, or not at all`() {
        let utf8 = CFStringBuiltInEncodings.UTF8.rawValue
        var buffer = [CChar](repeating: 1, count: 5)
        #expect(!CFStringGetCString("green" as CFString, &buffer, 5, utf8))
        #expect(buffer == [1, 1, 1, 1, 1])
        #expect(CFStringGetCString("blue" as CFString, &buffer, 5, utf8))
        #expect(buffer == [98, 108, 117, 101, 0])
        #expect(!CFStringGetCString("a" as CFString, &buffer, -1, utf8) && !CFStringGetCString(nil, &buffer, 5, utf8))
        #expect(CFStringGetLength("gr\u{FC}n" as CFString) == 4 && CFStringGetLength(nil) == 0)
        #expect(CFStringGetMaximumSizeForEncoding(2, utf8) == 6)
        for length in [-1, .max] { #expect(CFStringGetMaximumSizeForEncoding(length, utf8) == -1) }
    }

    @Test(
        arguments: [
            ("a", "b", [], .compareLessThan), ("b", "a", [], .compareGreaterThan), ("a", "a", [], .compareEqualTo),
            ("a", "A", [], .compareGreaterThan), ("a", "A", .compareCaseInsensitive, .compareEqualTo),
            ("a10", "a9", [], .compareLessThan), ("a10", "a9", .compareNumerically, .compareGreaterThan),
            ("e\u{301}", "\u{E9}", [], .compareLessThan), ("e\u{301}", "\u{E9}", .compareNonliteral, .compareEqualTo),
            ("\u{E9}", "e", [.compareDiacriticInsensitive, .compareNonliteral], .compareEqualTo),
            ("", "a", [.compareBackwards, .compareAnchored], .compareLessThan),
            ("a", "a", .compareLocalized, .compareEqualTo),
        ] as [(String, String, CFStringCompareFlags, CFComparisonResult)])
    func `texts are ordered as the flags say`(
        first: String, second: String, flags: CFStringCompareFlags, expected: CFComparisonResult
    ) {
        #expect(CFStringCompare(first as CFString, second as CFString, flags) == expected)
    }

    @Test func `nil comes before every text`() {
        #expect(CFStringCompare(nil, "" as CFString, []) == .compareLessThan)
        #expect(CFStringCompare("" as CFString, nil, []) == .compareGreaterThan)
        #expect(CFStringCompare(nil, nil, []) == .compareEqualTo)
    }

    @Test func `a date is a number of seconds, and dates have an order`() throws {
        let (earlier, later) = (try #require(CFDateCreate(nil, 86_400.5)), CFDateCreate(nil, 86_500))
        #expect(earlier as Date == Date(timeIntervalSinceReferenceDate: 86_400.5))
        #expect(CFDateGetAbsoluteTime(earlier) == 86_400.5)
        #expect(CFDateGetTimeIntervalSinceDate(later, earlier) == 99.5)
        #expect(CFDateGetTimeIntervalSinceDate(earlier, later) == -99.5)
        #expect(CFDateCompare(earlier, later, nil) == .compareLessThan)
        #expect(CFDateCompare(later, earlier, nil) == .compareGreaterThan)
        #expect(CFDateCompare(earlier, CFDateCreate(nil, 86_400.5), nil) == .compareEqualTo)
    }

    @Test func `a date that is nil comes first and has no time`() {
        let date = CFDateCreate(nil, -1)
        #expect(CFDateGetAbsoluteTime(nil) == 0)
        #expect(CFDateGetTimeIntervalSinceDate(nil, date) == 0 && CFDateGetTimeIntervalSinceDate(date, nil) == 0)
        #expect(CFDateCompare(nil, date, nil) == .compareLessThan)
        #expect(CFDateCompare(date, nil, nil) == .compareGreaterThan)
        #expect(CFDateCompare(nil, nil, nil) == .compareEqualTo)
    }

    @Test func `an error says what to do, or nothing`() {
        let advice: [CFString: Any] = [kCFErrorLocalizedRecoverySuggestionKey: "Try again."]
        let error = CFErrorCreate(nil, kCFErrorDomainPOSIX, 4, advice as CFDictionary)
        #expect(CFErrorCopyRecoverySuggestion(error) as String? == "Try again.")
        #expect(CFErrorCopyRecoverySuggestion(CFErrorCreate(nil, kCFErrorDomainPOSIX, 4, nil)) == nil)
        #expect(CFErrorCopyRecoverySuggestion(nil) == nil)
    }

    @Test func `the keys of an Info.plist are Apple's, in the forms that programs write`() {
        let list: [String: Any] = ["CFBundleIdentifier": "com.example.app", "CFBundleName": "App"]
        #expect(list[kCFBundleIdentifierKey as String] as? String == "com.example.app")
        #expect((list as NSDictionary)[kCFBundleNameKey!] as? String == "App")
        #expect(Bundle.main.object(forInfoDictionaryKey: kCFBundleIdentifierKey as String) as? String == nil)
        let keys: [(CFString?, String)] = [
            (kCFBundleIdentifierKey, "CFBundleIdentifier"), (kCFBundleVersionKey, "CFBundleVersion"),
            (kCFBundleExecutableKey, "CFBundleExecutable"), (kCFBundleLocalizationsKey, "CFBundleLocalizations"),
            (kCFBundleInfoDictionaryVersionKey, "CFBundleInfoDictionaryVersion"),
            (kCFBundleDevelopmentRegionKey, "CFBundleDevelopmentRegion"),
        ]
        for (key, text) in keys { #expect(key as String? == text) }
    }

    @Test func `the names of whole numbers are Swift's`() {
        let (signed, unsigned): (NSInteger, NSUInteger) = (-1, 1)
        #expect(type(of: signed) == Int.self && type(of: unsigned) == UInt.self)
    }

    @Test func `types have names`() {
        for (id, name) in [
            (CFStringGetTypeID(), "CFString"), (CFBooleanGetTypeID(), "CFBoolean"), (SecKeyGetTypeID(), "SecKey"),
            (SecIdentityGetTypeID(), "SecIdentity"), (CFGetTypeID(1 as CFNumber), "CFNumber"),
        ] { #expect(CFCopyTypeIDDescription(id) as String? == name) }
        for id in [0, 1000, .max] as [CFTypeID] { #expect(CFCopyTypeIDDescription(id) == nil) }
    }
}
