import ArgumentParser
import Foundation
import SecretMemory

/// Where the bytes of a result go: `--output FILE`, or with `--json` into an object.
struct ResultOutput: ParsableArguments {
    @OptionGroup var output: OutputOption
    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard !json.isGiven || output.output != "-" else {
            throw ValidationError("--json writes to standard output; leave --output out, or name a file.")
        }
    }

    /// Checks the place before anybody is asked for a factor; see ``OutputOption/usable(for:apartFrom:)``.
    func usable(for content: OutputFile.Content, apartFrom inputs: [InputFile] = []) throws -> ResultDestination {
        guard json.isGiven else { return .bytes(try output.usable(for: content, apartFrom: inputs)) }
        return output.output == nil
            ? .object : .fileAndObject(try output.usable(for: content, apartFrom: inputs))
    }
}

/// A checked place for the bytes of a result.
enum ResultDestination {
    /// The bytes alone.
    case bytes(OutputFile)
    /// An object on standard output with the bytes in base64.
    case object
    /// A file with the bytes, and an object that names it.
    case fileAndObject(OutputFile)

    /// - Parameter key: of the bytes in the object.
    func write(_ data: Data, as content: OutputFile.Content, key: String) throws {
        switch self {
        case .bytes(let file): try file.write(data, as: content)
        case .object: try JSONOutput.print([key: data])
        case .fileAndObject(let file):
            try file.write(data, as: content)
            try announce(file)
        }
    }

    /// The same for a secret, which stays in wiped memory in the object too.
    func write(_ secret: borrowing SecretBytes, key: String) throws {
        switch self {
        case .bytes(let file): try file.write(secret)
        case .object:
            let object = SecretObject.bytes(key: key, secret)
            try unsafe object.withUnsafeBytes { (bytes) throws in try unsafe StandardOutput.write(bytes) }
        case .fileAndObject(let file):
            try file.write(secret)
            try announce(file)
        }
    }

    private func announce(_ file: OutputFile) throws { try JSONOutput.print(["output": file.path ?? "-"]) }
}

/// A JSON object with a secret in base64 (RFC 4648 section 4). The encoders of Foundation leave copies.
enum SecretObject {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")

    /// `{"key":"…"}` and a line end.
    ///
    /// - Parameter key: a word that JSON need not escape.
    static func bytes(key: String, _ secret: borrowing SecretBytes) -> SecretBytes {
        let (head, tail) = (Array("{\"\(key)\":\"".utf8), Array("\"}\n".utf8))
        let encodedCount = (secret.count + 2) / 3 * 4
        var object = SecretBytes(zeroed: head.count + encodedCount + tail.count)
        unsafe object.withUnsafeMutableBytes { object in
            unsafe object.copyBytes(from: head)
            unsafe secret.withUnsafeBytes { secret in
                for group in 0..<encodedCount / 4 {
                    let count = min(3, secret.count - 3 * group)
                    let bits = (0..<3).reduce(0) { bits, index in
                        unsafe bits << 8 | (index < count ? Int(secret[3 * group + index]) : 0)
                    }
                    for index in 0..<4 {
                        unsafe object[head.count + 4 * group + index] =
                            index <= count ? alphabet[bits >> (18 - 6 * index) & 63] : padding
                    }
                }
            }
            unsafe UnsafeMutableRawBufferPointer(rebasing: object[(head.count + encodedCount)...]).copyBytes(from: tail)
        }
        return object
    }
}
