import Foundation
import Security
import Testing

/// The ways in which programs write the constants of truth values.
@Suite struct TruthValueTests {
    /// A dictionary with the true value of `r_Data` and the false one of `r_Ref`.
    private func check(_ dictionary: CFDictionary, _ location: SourceLocation = #_sourceLocation) {
        #expect(dictionary["r_Data"] as? Bool == true, sourceLocation: location)
        #expect(dictionary["r_Ref"] as? Bool == false, sourceLocation: location)
        for key in ["r_Data", "r_Ref"] {
            let object = dictionary[key] as AnyObject
            #expect(CFGetTypeID(object) == CFBooleanGetTypeID(), sourceLocation: location)
        }
    }

    @Test func `the constants are values of dictionaries of every kind`() {
        var objects: [String: AnyObject] = [kSecReturnData as String: kCFBooleanTrue]
        objects[kSecReturnRef as String] = kCFBooleanFalse
        check(objects as CFDictionary)
        var values: [String: Any] = [kSecReturnData as String: kCFBooleanTrue as Any]
        values[kSecReturnRef as String] = kCFBooleanFalse
        check(values as CFDictionary)
        let named: [CFString: AnyObject] = [kSecReturnData: kCFBooleanTrue, kSecReturnRef: kCFBooleanFalse]
        check(named as CFDictionary)
        let unwrapped: [CFString: Any] = [kSecReturnData: kCFBooleanTrue!, kSecReturnRef: kCFBooleanFalse!]
        check(unwrapped as CFDictionary)
        let hashable: [String: AnyHashable] = ["r_Data": kCFBooleanTrue, "r_Ref": kCFBooleanFalse]
        #expect(hashable["r_Data"] as? Bool == true && hashable["r_Ref"] as? Bool == false)
        check(hashable as CFDictionary)
        let mutable = NSMutableDictionary()
        mutable.setObject(kCFBooleanTrue!, forKey: kSecReturnData)
        mutable[kSecReturnRef] = kCFBooleanFalse
        check(mutable)
    }

    @Test(arguments: [true, false]) func `one of the two is chosen by a condition`(isTrue: Bool) {
        var query: [String: Any] = [:]
        query["sync"] = isTrue ? kCFBooleanTrue : kCFBooleanFalse
        #expect(query["sync"] as? Bool == isTrue)
        #expect(CFBooleanGetValue(isTrue ? kCFBooleanTrue : kCFBooleanFalse) == isTrue)
    }

    @Test func `the constants are objects of the type of truth values`() {
        let object: CFTypeRef = kCFBooleanTrue
        #expect(CFGetTypeID(kCFBooleanTrue) == CFBooleanGetTypeID())
        #expect(CFGetTypeID(object) == CFBooleanGetTypeID())
        #expect(CFGetTypeID(kCFBooleanFalse as CFTypeRef) != CFNumberGetTypeID())
        #expect(kCFBooleanTrue as? Bool == true)
        #expect(kCFBooleanFalse as! Bool == false)
        #expect(kCFBooleanTrue != kCFBooleanFalse)
        #expect(CFEqual(kCFBooleanTrue, true as CFTypeRef))
    }

    @Test func `a number is no truth value`() {
        #expect(CFBooleanGetValue(kCFBooleanTrue) && !CFBooleanGetValue(kCFBooleanFalse))
        #expect(CFBooleanGetValue(true) && !CFBooleanGetValue(false))
        #expect(!CFBooleanGetValue(NSNumber(value: 1)))
        #expect(!CFBooleanGetValue(nil as CFNumber?))
    }

    @Test func `an object of a result is compared with the constants`() {
        let result: [String: Any] = ["a": true, "b": kCFBooleanFalse!]
        #expect(result["a"] as? NSNumber == kCFBooleanTrue)
        #expect((result["b"] as! CFNumber) == kCFBooleanFalse)
        #expect((result["a"] as! CFBoolean) == true)
    }
}
