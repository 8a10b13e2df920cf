import CommonCrypto
import Darwin
import Foundation
import System

// Code for macOS as it is written there; Documentation/stand-ins.md gives it its modules.

@main struct App {
    static func main() throws {
        let text = Data("abc".utf8)
        var digest = [UInt8](repeating: 0, count: Int(CC_SHA256_DIGEST_LENGTH))
        text.withUnsafeBytes { _ = CC_SHA256($0.baseAddress, CC_LONG(text.count), &digest) }
        // FIPS 180-4, SHA-256 of "abc".
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        precondition(digest.map { String(format: "%02x", $0) }.joined() == expected, "another digest")
        var code = [UInt8](repeating: 0, count: Int(CC_SHA256_DIGEST_LENGTH))
        CCHmac(CCHmacAlgorithm(kCCHmacAlgSHA256), "Jefe", 4, "what do ya want for nothing?", 28, &code)
        // RFC 4231, test case 2.
        let tag = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        precondition(code.map { String(format: "%02x", $0) }.joined() == tag, "another code")
        precondition(timingsafe_bcmp(digest, digest, 32) == 0, "equal bytes differ")
        precondition(timingsafe_bcmp(digest, code, 32) != 0, "other bytes are equal")
        memset_s(&code, code.count, 0, code.count)
        precondition(code.allSatisfy { $0 == 0 } && Darwin.getpid() > 0, "not wiped")
        let file = try FileDescriptor.open(FilePath("/dev").appending("null"), .readOnly)
        try file.close()
        #if !canImport(Darwin) || !canImport(System) || !canImport(CommonCrypto) || os(macOS)
            #error("the names mean something else in a condition")
        #endif
        print("stand-ins: as on macOS")
    }
}
