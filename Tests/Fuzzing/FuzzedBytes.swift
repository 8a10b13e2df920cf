import Glibc

/// The function that libFuzzer calls. The name of the started program selects the reader of the bytes; see script/fuzz.
///
/// SAFETY: written once, before libFuzzer calls anything else.
nonisolated(unsafe) private var reader: @Sendable ([UInt8]) -> Void = { _ in }

@_cdecl("LLVMFuzzerInitialize")
func initialize(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>>>
) -> CInt {
    let path = String(cString: arguments.pointee.pointee)
    let name = path.split(separator: "/").last.map(String.init) ?? ""
    guard let known = readers[name] else {
        let refusal = "\(name) is none of \(readers.keys.sorted().joined(separator: ", "))\n"
        _ = Array(refusal.utf8).withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        exit(64)
    }
    reader = known
    return 0
}

/// Refusals are fine; a trap, a wrong answer, much time or much memory is not.
@_cdecl("LLVMFuzzerTestOneInput")
func test(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    reader([UInt8](UnsafeBufferPointer(start: start, count: count)))
    return 0
}
