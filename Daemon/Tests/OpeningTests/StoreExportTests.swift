import Foundation
import ProtectedObjects
import SecretMemory
import Testing

@testable import Opening

/// The bytes of a store on its way.
@Suite("Parts of a store on its way") struct StoreExportTests {
    private static let beginning = TransferBeginning(
        hasPasscode: true, itemCount: 3, registrationCount: 2, keyCount: 1,
        key: [UInt8](repeating: 9, count: TransferCode.keyByteCount))

    @Test func `the beginning has the documented bytes`() {
        #expect(
            Self.beginning.bytes
                == [1, 1, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1] + [UInt8](repeating: 9, count: 32))
        #expect(TransferBeginning(Self.beginning.bytes) == Self.beginning)
    }

    @Test func `another version, another length and another flag are no beginning`() {
        let bytes = Self.beginning.bytes
        #expect(TransferBeginning([2] + bytes.dropFirst()) == nil)
        #expect(TransferBeginning([1, 2] + bytes.dropFirst(2)) == nil)
        for count in 0..<bytes.count { #expect(TransferBeginning(Array(bytes.prefix(count))) == nil) }
        #expect(TransferBeginning(bytes + [0]) == nil)
    }

    @Test func `a part is its kind, both lengths, its head and its secret`() throws {
        let pipe = Pipe()
        let writer = TransferWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        try writer.write(.item, [1, 2, 3], SecretBytes(Data("ab".utf8)))
        try pipe.fileHandleForWriting.close()
        #expect(
            pipe.fileHandleForReading.readDataToEndOfFile()
                == Data([3, 0, 0, 0, 3, 0, 0, 0, 2, 1, 2, 3, 0x61, 0x62]))
    }
}
