public import SecretBuffers

/// A secret that is being edited: UTF-8 in locked memory of fixed size. Its characters are counted as GTK's entries
/// count them, in Unicode scalars. Removed bytes are wiped.
public struct EditedSecret: ~Copyable {
    private var bytes: SecretBytes
    /// Bytes in use.
    public private(set) var count = 0

    public init(capacity: Int) { bytes = SecretBytes(zeroed: capacity) }

    /// Inserts UTF-8 before a character; behind the last one if there are fewer.
    ///
    /// - Returns: the number of inserted characters; nil if there is no room, then nothing changes.
    public mutating func insert(_ text: UnsafeRawBufferPointer, before index: Int) -> Int? {
        guard text.count <= bytes.count - count else { return nil }
        let (start, tail) = (offset(of: index), count)
        unsafe bytes.withUnsafeMutableBytes { bytes in
            let hole = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[start...])
            unsafe UnsafeMutableRawBufferPointer(rebasing: hole[text.count...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: hole[..<(tail - start)]))
            unsafe hole.copyMemory(from: text)
        }
        count += text.count
        return unsafe text.reduce(0) { $0 + (Self.isContinuation($1) ? 0 : 1) }
    }

    /// Removes the characters of a range, as far as they exist.
    public mutating func remove(_ range: Range<Int>) {
        let (start, end, tail) = (offset(of: range.lowerBound), offset(of: range.upperBound), count)
        unsafe bytes.withUnsafeMutableBytes { bytes in
            unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[start...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[end..<tail]))
            for index in (tail - (end - start))..<tail { unsafe bytes[index] = 0 }
        }
        count -= end - start
    }

    /// Lends each character in turn, as UTF-8 in the locked memory.
    public borrowing func forEachCharacter(_ body: (UnsafeRawBufferPointer) -> Void) {
        let count = count
        unsafe bytes.withUnsafeBytes { bytes in
            var start = 0
            while start < count {
                var end = start + 1
                while end < count, unsafe Self.isContinuation(bytes[end]) { end += 1 }
                unsafe body(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                start = end
            }
        }
    }

    public mutating func removeAll() { remove(0..<count) }

    /// The typed bytes, as a secret of exactly that size; nothing stays here.
    public mutating func take() -> SecretBytes {
        var taken = SecretBytes(zeroed: count)
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe taken.withUnsafeMutableBytes {
                unsafe $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<$0.count]))
            }
        }
        removeAll()
        return taken
    }

    /// Where the bytes of a character begin; the end if there are fewer characters.
    private borrowing func offset(of index: Int) -> Int {
        let count = count
        return unsafe bytes.withUnsafeBytes { bytes in
            var left = max(0, index)
            for position in 0..<count where unsafe !Self.isContinuation(bytes[position]) {
                if left == 0 { return position }
                left -= 1
            }
            return count
        }
    }

    /// RFC 3629 section 3: a byte that does not begin a character.
    private static func isContinuation(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }
}
