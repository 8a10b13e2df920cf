import Foundation
import Glibc
public import SecretMemory

/// Looks for secrets in the memory of a process: of this one, or of any other one as root.
public enum MemorySearch {
    /// A secret in the test's hand. It is kept inverted, so that the search does not find the test itself.
    public struct Needle: Sendable {
        public let name: String
        fileprivate let inverted: [UInt8]

        /// - Parameter inverted: the secret with all its bits turned over.
        public init(_ name: String, inverted: [UInt8]) {
            precondition((8...overlap).contains(inverted.count), "shorter bytes may lie anywhere by chance")
            (self.name, self.inverted) = (name, inverted)
        }

        public init(_ name: String, of secret: borrowing SecretBytes) {
            self.init(name, inverted: secret.withUnsafeBytes { bytes in bytes.map { ~$0 } })
        }
    }

    private static let pieceByteCount = 1 << 20
    /// Bytes that are read twice, so that no needle hides between two pieces.
    private static let overlap = 64

    /// The names of the needles that stay in this process's memory. It is searched until none is left, for two minutes: the thread of
    /// a request ends a moment after its answer.
    public static func left(_ needles: [Needle]) throws -> Set<String> {
        let deadline = ContinuousClock.now.advanced(by: .seconds(120))
        while true {
            let found = try found(needles)
            if found.isEmpty || ContinuousClock.now >= deadline { return found }
            usleep(100_000)
        }
    }

    /// The names of the needles that lie in memory which the process can write to.
    ///
    /// - Parameter other: the process; nil for this one.
    public static func found(_ needles: [Needle], in other: Int32? = nil) throws -> Set<String> {
        let processID = other ?? getpid()
        let lines = try mappings(of: processID).split(separator: "\n")
        let memory = open("/proc/\(processID)/mem", O_RDONLY | O_CLOEXEC)
        guard memory >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        defer { close(memory) }
        let desk = Desk(pieceByteCount + overlap)
        var found: Set<String> = []
        for line in lines {
            let words = line.split(separator: " ")
            guard words.count > 1, words[1].hasPrefix("rw"), words.last != "[vvar]" else { continue }
            let ends = words[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            guard ends.count == 2 else { continue }
            // What the test reads into is part of its own memory.
            for range in other == nil ? desk.outside(ends[0]..<ends[1]) : [ends[0]..<ends[1]] {
                for start in stride(from: range.lowerBound, to: range.upperBound, by: pieceByteCount) {
                    let count = desk.read(memory, start..<min(range.upperBound, start + UInt64(desk.pieceByteCount)))
                    for needle in needles where desk.holds(needle.inverted, in: count) { found.insert(needle.name) }
                }
            }
        }
        return found
    }

    /// The kernel gives the list in parts. A reader that takes a short part for the end, as Foundation's may, misses the rest.
    private static func mappings(of processID: Int32) throws -> String {
        let file = open("/proc/\(processID)/maps", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        defer { close(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = Glibc.read(file, &part, part.count)
            guard count >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += part.prefix(count)
        }
    }

    /// Pages of their own for what is read, and for the needle while it is looked for.
    private final class Desk {
        let pieceByteCount: Int
        private let base: UnsafeMutableRawPointer
        private let byteCount: Int

        init(_ pieceByteCount: Int) {
            self.pieceByteCount = pieceByteCount
            byteCount = pieceByteCount + MemorySearch.overlap
            base = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            precondition(base != MAP_FAILED)
        }

        deinit { munmap(base, byteCount) }

        func outside(_ range: Range<UInt64>) -> [Range<UInt64>] {
            let page = UInt64(getpagesize())
            let start = UInt64(UInt(bitPattern: base))
            let end = (start + UInt64(byteCount) + page - 1) / page * page
            return [
                range.lowerBound..<max(range.lowerBound, min(range.upperBound, start)),
                min(range.upperBound, max(range.lowerBound, end))..<range.upperBound,
            ].filter { !$0.isEmpty }
        }

        /// How many bytes of the range could be read; the kernel's own pages cannot.
        func read(_ memory: CInt, _ range: Range<UInt64>) -> Int {
            max(0, pread(memory, base, Int(range.upperBound - range.lowerBound), off_t(range.lowerBound)))
        }

        func holds(_ inverted: [UInt8], in count: Int) -> Bool {
            let needle = base + pieceByteCount
            for (index, byte) in inverted.enumerated() {
                needle.storeBytes(of: ~byte, toByteOffset: index, as: UInt8.self)
            }
            defer { memset(needle, 0, inverted.count) }
            // Most of the memory is zeros, so a byte that is none is looked for first.
            guard let anchor = inverted.firstIndex(where: { ~$0 != 0 }) else { return false }
            let end = base + max(0, count - inverted.count + 1 + anchor)
            var place = base + anchor
            while place < end, let hit = memchr(place, CInt(~inverted[anchor]), end - place) {
                if memcmp(hit - anchor, needle, inverted.count) == 0 { return true }
                place = hit + 1
            }
            return false
        }
    }
}
